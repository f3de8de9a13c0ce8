//! Releases of tags: their notes, and their links to files elsewhere.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::user::{self, UserSummary};
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Result};

/// The release of a tag.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Release {
    #[sqlx(rename = "tag_name")]
    pub tag: String,
    /// None if the release has no name of its own.
    pub name: Option<String>,
    pub description: String,
    pub created_at: DateTime<Utc>,
    /// The date that was chosen for the release, or else that of its creation.
    pub released_at: DateTime<Utc>,
    author_id: Option<i64>,
    /// None if the author was deleted, or was not recorded. Loaded afterwards, like the links, with one statement for
    /// all releases of a page.
    #[sqlx(skip)]
    pub author: Option<UserSummary>,
    /// The links in the order of their creation.
    #[sqlx(skip)]
    pub links: Vec<ReleaseLink>,
}

/// A link of a release.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ReleaseLink {
    pub id: i64,
    pub name: String,
    pub url: String,
    #[sqlx(try_from = "String")]
    pub link_type: LinkType,
}

/// What a link of a release leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkType {
    #[default]
    Other,
    Runbook,
    Image,
    Package,
}

impl LinkType {
    pub const ALL: [Self; 4] = [Self::Other, Self::Runbook, Self::Image, Self::Package];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Runbook => "runbook",
            Self::Image => "image",
            Self::Package => "package",
        }
    }
}

/// The error for a text that is no type of a link.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a type of a link (valid: other, runbook, image, package)")]
pub struct UnknownLinkType(String);

impl TryFrom<String> for LinkType {
    type Error = UnknownLinkType;

    fn try_from(text: String) -> std::result::Result<Self, UnknownLinkType> {
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or(UnknownLinkType(text))
    }
}

/// The attributes of a link that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkAttributes {
    pub name: String,
    pub url: String,
    pub link_type: LinkType,
}

/// A release to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewRelease<'a> {
    pub name: Option<&'a str>,
    pub description: &'a str,
    pub author: UserId,
    /// The date of the release, if it is not that of its creation.
    pub released_at: Option<DateTime<Utc>>,
    pub links: &'a [LinkAttributes],
}

impl<'a> NewRelease<'a> {
    /// Creates a release that has notes and nothing else.
    pub const fn with_notes(description: &'a str, author: UserId) -> Self {
        Self { name: None, description, author, released_at: None, links: &[] }
    }
}

/// Returns the release notes of these tags, each cut to `max_characters`. Tags without a release are left out.
pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    tags: &[&str],
    max_characters: i32,
) -> Result<HashMap<String, String>> {
    let rows = sqlx::query!(
        r#"select tag_name, left(description, $3) as "description!" from releases
           where project_id = $1 and tag_name = any($2)"#,
        project.get(),
        tags as &[&str],
        max_characters,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.tag_name, row.description)).collect())
}

/// Finds the release of a tag.
pub async fn find_one(connection: &mut Connection, project: ProjectId, tag: &str) -> Result<Option<Release>> {
    const QUERY: &str = "select r.tag_name, r.name, r.description, r.created_at, r.author_id,
           coalesce(r.released_at, r.created_at) as released_at
         from releases r where r.project_id = $1 and r.tag_name = $2";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(tag);
    let Some(mut release) = query.fetch_optional(&mut *connection).await? else { return Ok(None) };
    load_associations(connection, project, std::slice::from_mut(&mut release)).await?;
    Ok(Some(release))
}

/// The order of a list of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOrder {
    NewestReleased,
    OldestReleased,
    NewestCreated,
    OldestCreated,
}

impl ReleaseOrder {
    /// Returns the columns of the releases `r`. There is an index for each pair of opposite orders.
    const fn columns(self) -> &'static str {
        match self {
            Self::NewestReleased => "coalesce(r.released_at, r.created_at) desc, r.tag_name desc",
            Self::OldestReleased => "coalesce(r.released_at, r.created_at), r.tag_name",
            Self::NewestCreated => "r.created_at desc, r.tag_name desc",
            Self::OldestCreated => "r.created_at, r.tag_name",
        }
    }
}

/// Lists the releases of a project. Notes that were stored before there was a limit are truncated.
pub async fn list(
    connection: &mut Connection,
    project: ProjectId,
    order: ReleaseOrder,
    page: PageRequest,
) -> Result<Page<Release>> {
    let list = PagedQuery {
        columns: "r.tag_name, r.name, left(r.description, 65536) as description, r.created_at, r.author_id, \
                  coalesce(r.released_at, r.created_at) as released_at",
        rows: "r.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from releases r where r.project_id = ").push_bind(project.get());
        },
        order: order.columns(),
        page: table_alias("r"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    let mut page: Page<Release> = list.fetch(&mut *connection, page).await?;
    load_associations(connection, project, &mut page.items).await?;
    Ok(page)
}

#[derive(sqlx::FromRow)]
struct LinkRow {
    tag_name: String,
    #[sqlx(flatten)]
    link: ReleaseLink,
}

/// Loads authors and links: one statement each for all releases, and none if there is nothing to load.
async fn load_associations(connection: &mut Connection, project: ProjectId, releases: &mut [Release]) -> Result<()> {
    if releases.is_empty() {
        return Ok(());
    }
    let authors: Vec<i64> = releases.iter().filter_map(|it| it.author_id).collect();
    if !authors.is_empty() {
        let authors = user::find_summaries(&mut *connection, &authors).await?;
        for release in &mut *releases {
            release.author = authors.iter().find(|it| Some(it.id.get()) == release.author_id).cloned();
        }
    }
    const QUERY: &str = "select tag_name, id, name, url, link_type from release_links
         where project_id = $1 and tag_name = any($2) order by id";
    let tags: Vec<&str> = releases.iter().map(|it| it.tag.as_str()).collect();
    let rows: Vec<LinkRow> = sqlx::query_as(QUERY).bind(project.get()).bind(tags).fetch_all(connection).await?;
    for row in rows {
        if let Some(release) = releases.iter_mut().find(|it| it.tag == row.tag_name) {
            release.links.push(row.link);
        }
    }
    Ok(())
}

/// Inserts a release with its links. Returns false if the tag already has one.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    new: NewRelease<'_>,
    now: DateTime<Utc>,
) -> Result<bool> {
    const QUERY: &str = "insert into releases
           (project_id, tag_name, name, description, author_id, released_at, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $7)
         on conflict (project_id, tag_name) do nothing";
    let query = sqlx::query(QUERY).bind(project.get()).bind(tag).bind(new.name).bind(new.description);
    let done = query.bind(new.author.get()).bind(new.released_at).bind(now).execute(&mut *connection).await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    if !new.links.is_empty() {
        insert_links(connection, project, tag, new.links, now).await?;
    }
    Ok(true)
}

async fn insert_links(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    links: &[LinkAttributes],
    now: DateTime<Utc>,
) -> Result<()> {
    const QUERY: &str = "insert into release_links (project_id, tag_name, name, url, link_type, created_at)
         select $1, $2, link.name, link.url, link.link_type, $6
         from unnest($3::text[], $4::text[], $5::text[]) as link (name, url, link_type)";
    let names: Vec<&str> = links.iter().map(|it| it.name.as_str()).collect();
    let urls: Vec<&str> = links.iter().map(|it| it.url.as_str()).collect();
    let types: Vec<&str> = links.iter().map(|it| it.link_type.as_str()).collect();
    let query = sqlx::query(QUERY).bind(project.get()).bind(tag).bind(names).bind(urls).bind(types).bind(now);
    query.execute(connection).await?;
    Ok(())
}

/// Updates the release notes of a tag. Returns false if the tag has no release.
pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    description: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update releases set description = $3, updated_at = $4 where project_id = $1 and tag_name = $2",
        project.get(),
        tag,
        description,
        now,
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The changes of a release. None leaves an attribute as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReleaseChanges<'a> {
    /// An empty name removes the name.
    pub name: Option<&'a str>,
    pub description: Option<&'a str>,
    pub released_at: Option<DateTime<Utc>>,
}

/// Changes a release. Returns false if the tag has none.
pub async fn change(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    changes: ReleaseChanges<'_>,
    now: DateTime<Utc>,
) -> Result<bool> {
    const QUERY: &str = "update releases set name = nullif(coalesce($3, name), ''),
           description = coalesce($4, description), released_at = coalesce($5, released_at), updated_at = $6
         where project_id = $1 and tag_name = $2";
    let query = sqlx::query(QUERY).bind(project.get()).bind(tag).bind(changes.name).bind(changes.description);
    let done = query.bind(changes.released_at).bind(now).execute(connection).await?;
    Ok(done.rows_affected() > 0)
}

pub async fn delete(connection: &mut Connection, project: ProjectId, tags: &[&str]) -> Result<()> {
    sqlx::query!("delete from releases where project_id = $1 and tag_name = any($2)", project.get(), tags as &[&str],)
        .execute(connection)
        .await?;
    Ok(())
}

/// Inserts a link of an existing release. Fails if the release has another link with the same name or URL.
pub async fn insert_link(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    link: &LinkAttributes,
    now: DateTime<Utc>,
) -> Result<ReleaseLink> {
    const QUERY: &str = "insert into release_links (project_id, tag_name, name, url, link_type, created_at)
         values ($1, $2, $3, $4, $5, $6) returning id, name, url, link_type";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(tag).bind(&link.name).bind(&link.url);
    Ok(query.bind(link.link_type.as_str()).bind(now).fetch_one(connection).await?)
}

/// Changes a link of a release. Fails if the release has another link with the same name or URL.
pub async fn update_link(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    id: i64,
    link: &LinkAttributes,
) -> Result<Option<ReleaseLink>> {
    const QUERY: &str = "update release_links set name = $4, url = $5, link_type = $6
         where project_id = $1 and tag_name = $2 and id = $3 returning id, name, url, link_type";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(tag).bind(id).bind(&link.name).bind(&link.url);
    Ok(query.bind(link.link_type.as_str()).fetch_optional(connection).await?)
}

/// Deletes a link of a release, and returns it.
pub async fn delete_link(
    connection: &mut Connection,
    project: ProjectId,
    tag: &str,
    id: i64,
) -> Result<Option<ReleaseLink>> {
    const QUERY: &str = "delete from release_links where project_id = $1 and tag_name = $2 and id = $3
         returning id, name, url, link_type";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(tag).bind(id);
    Ok(query.fetch_optional(connection).await?)
}
