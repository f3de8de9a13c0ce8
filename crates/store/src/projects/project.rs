use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, ProjectId, RepositoryId, UserId};
use holdfast_domain::{AccessLevel, Visibility};

use super::place::NullableOwner;
use super::share::{self, Share};
use crate::{Connection, Result};

pub use super::place::{Owner, Place};

/// A project with everything that is shown of it, and what its reader is to it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Project {
    #[sqlx(try_from = "i64")]
    pub id: ProjectId,
    #[sqlx(try_from = "i64")]
    pub creator_id: UserId,
    pub name: String,
    pub path: String,
    pub description: Option<String>,
    #[sqlx(try_from = "i16", rename = "visibility_level")]
    pub visibility: Visibility,
    pub archived: bool,
    #[sqlx(flatten)]
    pub features: Features,
    pub runners_token: String,
    pub star_count: i32,
    pub forks_count: i32,
    open_issues: i32,
    open_confidential_issues: i32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub last_activity_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub repository: RepositoryState,
    #[sqlx(flatten)]
    pub namespace: Place,
    #[sqlx(flatten)]
    owner: NullableOwner,
    #[sqlx(flatten)]
    memberships: Memberships,
    has_shares: bool,
    forked_from_id: Option<i64>,
    /// Loaded afterwards, for the few that have any.
    #[sqlx(skip)]
    shares: Vec<Share>,
    #[sqlx(skip)]
    source: Option<Box<Project>>,
}

/// Its repository at the moment the project was read.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct RepositoryState {
    #[sqlx(try_from = "i64", rename = "repository_id")]
    pub id: RepositoryId,
    pub generation: i64,
    pub prune_epoch: i64,
    /// The full name of the default branch, if there are any branches.
    pub head: Option<String>,
}

impl RepositoryState {
    pub fn default_branch(&self) -> Option<&str> {
        self.head.as_deref()?.strip_prefix("refs/heads/")
    }
}

/// What a project has, switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Features {
    pub issues_enabled: bool,
    pub merge_requests_enabled: bool,
    pub wiki_enabled: bool,
    pub builds_enabled: bool,
    pub snippets_enabled: bool,
    pub container_registry_enabled: bool,
    pub shared_runners_enabled: bool,
    pub public_builds: bool,
    pub lfs_enabled: bool,
    pub request_access_enabled: bool,
    pub only_allow_merge_if_build_succeeds: bool,
    pub only_allow_merge_if_all_discussions_are_resolved: bool,
}

#[derive(Clone, Copy, Debug, sqlx::FromRow)]
struct Memberships {
    reader_id: Option<i64>,
    project_level: Option<i16>,
    group_level: Option<i16>,
}

impl Project {
    pub fn full_path(&self) -> String {
        format!("{}/{}", self.namespace.path, self.path)
    }

    /// With those that not everybody sees, or without.
    pub fn open_issues(&self, confidential: bool) -> i32 {
        self.open_issues + if confidential { self.open_confidential_issues } else { 0 }
    }

    /// None in a group.
    pub fn owner_name(&self) -> Option<&str> {
        self.owner.owner_name.as_deref()
    }

    /// None in a group.
    pub fn owner(&self) -> Option<Owner> {
        self.owner.clone().into_owner(self.namespace.owner_id?.into())
    }

    /// The reader's own membership in the project.
    pub fn project_level(&self) -> Option<AccessLevel> {
        self.memberships.project_level?.try_into().ok()
    }

    /// The reader's membership in the group the project belongs to.
    pub fn group_level(&self) -> Option<AccessLevel> {
        self.memberships.group_level?.try_into().ok()
    }

    /// Groups it is shared with, whoever asks.
    pub fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// What it is a fork of, whoever asks.
    pub fn source(&self) -> Option<&Project> {
        self.source.as_deref()
    }

    /// What the reader may do, the highest over all ways in.
    pub fn level(&self) -> Option<AccessLevel> {
        let is_owner = self.memberships.reader_id.is_some() && self.memberships.reader_id == self.namespace.owner_id;
        let own = if is_owner { Some(AccessLevel::Owner) } else { None };
        let shared = self.shares().iter().filter_map(Share::level).max();
        [own, self.project_level(), self.group_level(), shared].into_iter().flatten().max()
    }
}

/// Of `p` and what [`joins`] adds to it.
macro_rules! project_columns {
    () => {
        "p.id, p.creator_id, p.name, p.path, p.description, p.visibility_level, p.archived, p.issues_enabled, \
         p.merge_requests_enabled, p.wiki_enabled, p.builds_enabled, p.snippets_enabled, \
         p.container_registry_enabled, p.shared_runners_enabled, p.public_builds, p.lfs_enabled, \
         p.request_access_enabled, p.only_allow_merge_if_build_succeeds, \
         p.only_allow_merge_if_all_discussions_are_resolved, p.runners_token, p.star_count, p.forks_count, \
         p.open_issues, p.open_confidential_issues, p.forked_from_id, r.id as repository_id, r.generation, r.prune_epoch, r.head, p.created_at, \
         p.updated_at, p.last_activity_at, n.id as namespace_id, n.kind as namespace_kind, n.name as namespace_name, \
         n.path as namespace_path, n.description as namespace_description, n.owner_id as namespace_owner_id, \
         n.visibility_level as namespace_visibility_level, \
         n.share_with_group_lock as namespace_share_with_group_lock, \
         n.created_at as namespace_created_at, n.updated_at as namespace_updated_at, \
         o.username as owner_username, o.name as owner_name, o.email as owner_email, o.state as owner_state, \
         o.created_at as owner_created_at, reader.id as reader_id, \
         (select m.access_level from project_members m where m.project_id = p.id and m.user_id = reader.id \
           and (m.expires_at is null or m.expires_at > reader.today)) as project_level, \
         (select m.access_level from group_members m where m.group_id = p.namespace_id and m.user_id = reader.id \
           and (m.expires_at is null or m.expires_at > reader.today)) as group_level, \
         exists (select from project_shares s where s.project_id = p.id) as has_shares"
    };
}
pub(crate) use project_columns;

/// What belongs to the projects `p`, as seen by `reader (id, today)`. A deleted project has no namespace.
macro_rules! project_joins {
    () => {
        " join namespaces n on n.id = p.namespace_id left join users o on o.id = n.owner_id \
         join repositories r on r.project_id = p.id "
    };
}
pub(crate) use project_joins;

/// How a caller names a project.
#[derive(Clone, Debug)]
pub enum ProjectRef {
    Id(ProjectId),
    Path { namespace: String, project: String },
}

macro_rules! query {
    ($condition:literal) => {
        concat!(
            "select ",
            project_columns!(),
            " from (values ($1::bigint, $2::date)) reader (id, today) cross join projects p",
            project_joins!(),
            "where ",
            $condition
        )
    };
}

/// As `reader` sees it. Where a project is now comes before where it once was.
pub async fn find(
    connection: &mut Connection,
    project: &ProjectRef,
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let found = match project {
        ProjectRef::Id(id) => find_by_id(connection, *id, reader, today).await?,
        ProjectRef::Path { namespace, project } => {
            let (namespace, path) = (namespace.to_ascii_lowercase(), project.to_ascii_lowercase());
            match find_by_path(connection, &namespace, &path, reader, today).await? {
                Some(found) => Some(found),
                None => match super::redirect::follow(connection, &namespace, &path).await? {
                    Some(id) => find_by_id(connection, id, reader, today).await?,
                    None => None,
                },
            }
        }
    };
    with_relatives(connection, found, reader, today).await
}

async fn find_by_id(
    connection: &mut Connection,
    id: ProjectId,
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let query = sqlx::query_as(query!("p.id = $3")).bind(reader.map(UserId::get)).bind(today);
    Ok(query.bind(id.get()).fetch_optional(connection).await?)
}

async fn find_by_path(
    connection: &mut Connection,
    namespace: &str,
    path: &str,
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    const QUERY: &str = query!(
        "lower(n.path) = $3 and regexp_replace(lower(p.path), '(\\.wiki)+$', '') = regexp_replace($4, '(\\.wiki)+$', '') \
         and lower(p.path) = $4"
    );
    let query = sqlx::query_as(QUERY).bind(reader.map(UserId::get)).bind(today);
    Ok(query.bind(namespace).bind(path).fetch_optional(connection).await?)
}

async fn with_relatives(
    connection: &mut Connection,
    found: Option<Project>,
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    let Some(mut project) = found else { return Ok(None) };
    load_relatives(connection, std::slice::from_mut(&mut project), reader, today).await?;
    Ok(Some(project))
}

/// Shares and what they are forks of: one statement each for all of them, and none where there are none.
pub(super) async fn load_relatives(
    connection: &mut Connection,
    projects: &mut [Project],
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<()> {
    let sources: Vec<i64> = projects.iter().filter_map(|it| it.forked_from_id).collect();
    if !sources.is_empty() {
        let query = sqlx::query_as(query!("p.id = any($3)")).bind(reader.map(UserId::get)).bind(today);
        let mut sources: Vec<Project> = query.bind(sources).fetch_all(&mut *connection).await?;
        load_shares(connection, &mut sources, reader, today).await?;
        for project in &mut *projects {
            let source = sources.iter().find(|it| Some(it.id.get()) == project.forked_from_id);
            project.source = source.cloned().map(Box::new);
        }
    }
    load_shares(connection, projects, reader, today).await
}

async fn load_shares(
    connection: &mut Connection,
    projects: &mut [Project],
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<()> {
    let shared: Vec<i64> = projects.iter().filter(|it| it.has_shares).map(|it| it.id.get()).collect();
    if shared.is_empty() {
        return Ok(());
    }
    for (id, share) in share::of_projects(connection, &shared, reader, today).await? {
        if let Some(project) = projects.iter_mut().find(|it| it.id == id) {
            project.shares.push(share);
        }
    }
    Ok(())
}

pub async fn set_archived(
    connection: &mut Connection,
    id: ProjectId,
    archived: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update projects set archived = $2, updated_at = $3 where id = $1 and archived <> $2",
        id.get(),
        archived,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Into another namespace, where it is at most so visible.
pub async fn set_namespace(
    connection: &mut Connection,
    id: ProjectId,
    namespace: NamespaceId,
    at_most: Visibility,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update projects set namespace_id = $2, visibility_level = least(visibility_level, $3), updated_at = $4
         where id = $1",
        id.get(),
        namespace.get(),
        at_most.level(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes the project's row until the end of the transaction.
pub async fn lock(connection: &mut Connection, id: ProjectId) -> Result<()> {
    sqlx::query_scalar!("select id from projects where id = $1 for no key update", id.get())
        .fetch_optional(connection)
        .await?;
    Ok(())
}

/// Finds and locks at once, if nobody else has it locked: what was waited for would have to be read again.
pub async fn find_unlocked(
    connection: &mut Connection,
    id: ProjectId,
    reader: Option<UserId>,
    today: NaiveDate,
) -> Result<Option<Project>> {
    const QUERY: &str = query!("p.id = $3 for no key update of p skip locked");
    let query = sqlx::query_as(QUERY).bind(reader.map(UserId::get)).bind(today).bind(id.get());
    let found = query.fetch_optional(&mut *connection).await?;
    with_relatives(connection, found, reader, today).await
}

/// How many are in a namespace, counted no further than to `at_most`.
pub async fn count_in(connection: &mut Connection, namespace: NamespaceId, at_most: i64) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select count(*) as "count!" from (select from projects where namespace_id = $1 limit $2) counted"#,
        namespace.get(),
        at_most,
    )
    .fetch_one(connection)
    .await?)
}

/// Whether a namespace holds a project that is more visible than that.
pub async fn exists_above(connection: &mut Connection, namespace: NamespaceId, level: Visibility) -> Result<bool> {
    Ok(sqlx::query_scalar!(
        r#"select exists (select from projects where namespace_id = $1 and visibility_level > $2) as "exists!""#,
        namespace.get(),
        level.level(),
    )
    .fetch_one(connection)
    .await?)
}
