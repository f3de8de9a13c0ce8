//! Releases of tags: their notes, and their links to files elsewhere.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use holdfast_domain::Violations;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_domain::violations::{BLANK, INVALID, TAKEN};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::Transaction;
use holdfast_store::commit;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::release::{NewRelease, ReleaseChanges};
use holdfast_store::repository::{ref_update, release, repository};
use url::Url;

pub use holdfast_store::repository::release::{LinkAttributes, LinkType, Release, ReleaseLink, ReleaseOrder};

use super::tag::{self, CreateTag};
use super::tag_permissions;
use crate::error::OnConstraint;
use crate::repository::browse::commit::Commit;
use crate::repository::check_message_size;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result, access};

/// Creates the release of a tag that has none yet.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    check_message_size("description", description)?;
    insert(app, &repository, tag, NewRelease::with_notes(description, actor.current_user()?.account.id())).await
}

async fn insert(app: &App, repository: &OpenRepository, tag: &str, new: NewRelease<'_>) -> Result<()> {
    let mut transaction = lock_repository_with_tag(app, repository, tag).await?;
    if !release::insert(&mut transaction, repository.project.id, tag, new, app.clock.now()).await? {
        return Err(Error::Conflict("Release already exists".into()));
    }
    Ok(commit(transaction).await?)
}

#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    check_message_size("description", description)?;
    let mut transaction = lock_repository_with_tag(app, &repository, tag).await?;
    if !release::update(&mut transaction, repository.project.id, tag, description, app.clock.now()).await? {
        return Err(Error::NotFound(Resource::Literal("Release does not exist")));
    }
    Ok(commit(transaction).await?)
}

/// Creates the release of a tag, or updates the one that it has.
#[crate::boxed]
pub async fn save(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    if description.trim().is_empty() {
        return Err(Violations::single("description", "can't be blank").into());
    }
    check_message_size("description", description)?;
    let (id, now) = (repository.project.id, app.clock.now());
    let mut transaction = lock_repository_with_tag(app, &repository, tag).await?;
    if !release::update(&mut transaction, id, tag, description, now).await? {
        let new = NewRelease::with_notes(description, actor.current_user()?.account.id());
        release::insert(&mut transaction, id, tag, new, now).await?;
    }
    Ok(commit(transaction).await?)
}

/// Locks the repository and checks that the tag exists. While the lock is held, the tag and its release cannot be
/// deleted.
async fn lock_repository_with_tag(app: &App, repository: &OpenRepository, tag: &str) -> Result<Transaction> {
    let id = repository.project.repository.id;
    let mut transaction = lock_repository(app, repository, tag).await?;
    let found = ref_update::find_current(&mut transaction, id, &[&format!("refs/tags/{tag}")]).await?;
    if found.is_empty() { Err(Error::NotFound(Resource::Literal("Tag does not exist"))) } else { Ok(transaction) }
}

/// A release with what is shown of it.
#[derive(Clone, Debug)]
pub struct ReleaseDetails {
    pub release: Release,
    /// The commit of the tag, shortened as in a list. None if the tag points at another kind of object.
    pub commit: Option<Commit>,
    /// Whether the date of the release is in the future.
    pub is_upcoming: bool,
}

/// A page of releases, with the project whose address their URLs contain.
pub struct ProjectReleases {
    pub project: Project,
    pub releases: Page<ReleaseDetails>,
}

/// A release, with the project whose address its URLs contain.
pub struct ProjectRelease {
    pub project: Project,
    pub release: ReleaseDetails,
}

const NOT_FOUND: Error = Error::NotFound(Resource::Literal("404 Not Found"));

#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    order: ReleaseOrder,
    page: PageRequest,
) -> Result<ProjectReleases> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let mut connection = app.database.connection().await?;
    let found = release::list(&mut connection, repository.project.id, order, page).await?;
    drop(connection);
    let Page { items, request, total, has_next } = found;
    let items = load_details(app, &repository, items).await?;
    Ok(ProjectReleases { project: repository.project, releases: Page { items, request, total, has_next } })
}

/// Returns the release of a tag.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, tag: &str) -> Result<ProjectRelease> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let found = release::find_one(&mut *app.database.connection().await?, repository.project.id, tag).await?;
    with_details(app, repository, found.ok_or(NOT_FOUND)?).await
}

/// Returns the release with the latest date.
#[crate::boxed]
pub async fn show_latest(app: &App, actor: &Actor, project: &ProjectRef) -> Result<ProjectRelease> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let (order, page) = (ReleaseOrder::NewestReleased, PageRequest::new(None, Some(1)));
    let found = release::list(&mut *app.database.connection().await?, repository.project.id, order, page).await?;
    with_details(app, repository, found.items.into_iter().next().ok_or(NOT_FOUND)?).await
}

async fn with_details(app: &App, repository: OpenRepository, release: Release) -> Result<ProjectRelease> {
    let release = load_details(app, &repository, vec![release]).await?.remove(0);
    Ok(ProjectRelease { project: repository.project, release })
}

async fn load_details(app: &App, repository: &OpenRepository, releases: Vec<Release>) -> Result<Vec<ReleaseDetails>> {
    let targets: Vec<_> =
        releases.iter().map(|release| repository.refs.find(&format!("refs/tags/{}", release.tag))).collect();
    let mut commits = match targets.iter().any(Option::is_some) {
        true => tag::load_commits(app, repository, targets.iter().flatten().copied().collect()).await?.into_iter(),
        false => Vec::new().into_iter(),
    };
    let now = app.clock.now();
    let details = releases.into_iter().zip(targets).map(|(release, target)| ReleaseDetails {
        commit: target.and_then(|_| commits.next().flatten()),
        is_upcoming: release.released_at > now,
        release,
    });
    Ok(details.collect())
}

/// A release that a client wants to create.
#[derive(Clone, Debug)]
pub struct CreateRelease {
    pub tag: String,
    pub name: Option<String>,
    pub description: String,
    /// Where the tag is created if it does not exist.
    pub target: Option<String>,
    /// The message of that tag. Without one it is lightweight.
    pub tag_message: Option<String>,
    pub released_at: Option<DateTime<Utc>>,
    pub links: Vec<LinkAttributes>,
}

/// Creates the release of a tag, and the tag if it does not exist.
#[crate::boxed]
pub async fn create_with_tag(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: CreateRelease,
) -> Result<ProjectRelease> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    check_attributes(input.name.as_deref(), Some(&input.description))?;
    check_links(&input.links)?;
    let new = NewRelease {
        name: input.name.as_deref().map(str::trim).filter(|name| !name.is_empty()),
        description: &input.description,
        author: actor.current_user()?.account.id(),
        released_at: input.released_at,
        links: &input.links,
    };
    let commit = match repository.refs.find(&format!("refs/tags/{}", input.tag)) {
        Some(target) => {
            insert(app, &repository, &input.tag, new).await?;
            tag::load_commits(app, &repository, vec![target]).await?.remove(0)
        }
        None => {
            let target = input.target.clone().filter(|target| !target.is_empty());
            let tag = CreateTag {
                name: input.tag.clone(),
                target: target.ok_or(Error::Unprocessable("Ref is not specified"))?,
                message: input.tag_message.clone(),
                release_description: None,
            };
            tag::create_opened(app, actor, &repository, tag, Some(new)).await?.commit
        }
    };
    let mut connection = app.database.connection().await?;
    let release = release::find_one(&mut connection, repository.project.id, &input.tag).await?.ok_or(NOT_FOUND)?;
    let is_upcoming = release.released_at > app.clock.now();
    let release = ReleaseDetails { release, commit, is_upcoming };
    Ok(ProjectRelease { project: repository.project, release })
}

/// The changes of a release that a client sends. None leaves an attribute as it is.
#[derive(Clone, Debug, Default)]
pub struct UpdateRelease {
    /// An empty name removes the name.
    pub name: Option<String>,
    pub description: Option<String>,
    pub released_at: Option<DateTime<Utc>>,
}

/// Changes the release of a tag.
#[crate::boxed]
pub async fn change(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    tag: &str,
    input: UpdateRelease,
) -> Result<ProjectRelease> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    check_attributes(input.name.as_deref(), input.description.as_deref())?;
    let changes = ReleaseChanges {
        name: input.name.as_deref().map(str::trim),
        description: input.description.as_deref(),
        released_at: input.released_at,
    };
    let mut transaction = lock_repository(app, &repository, tag).await?;
    let id = repository.project.id;
    let is_changed = release::change(&mut transaction, id, tag, changes, app.clock.now()).await?;
    let found = if is_changed { release::find_one(&mut transaction, id, tag).await? } else { None };
    let release = found.ok_or(NOT_FOUND)?;
    commit(transaction).await?;
    with_details(app, repository, release).await
}

/// Deletes the release of a tag, and returns it. The tag stays.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, tag: &str) -> Result<ProjectRelease> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let mut transaction = lock_repository(app, &repository, tag).await?;
    let release = release::find_one(&mut transaction, repository.project.id, tag).await?.ok_or(NOT_FOUND)?;
    release::delete(&mut transaction, repository.project.id, &[tag]).await?;
    commit(transaction).await?;
    with_details(app, repository, release).await
}

/// Returns the links of a release, in the order of their creation. There are at most [`MAX_LINKS`].
#[crate::boxed]
pub async fn list_links(app: &App, actor: &Actor, project: &ProjectRef, tag: &str) -> Result<Vec<ReleaseLink>> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadCode).await?;
    Ok(release::find_one(&mut connection, project.id, tag).await?.ok_or(NOT_FOUND)?.links)
}

#[crate::boxed]
pub async fn show_link(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, id: i64) -> Result<ReleaseLink> {
    let links = self::list_links(app, actor, project, tag).await?;
    links.into_iter().find(|link| link.id == id).ok_or(NOT_FOUND)
}

/// Adds a link to a release.
#[crate::boxed]
pub async fn create_link(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    tag: &str,
    link: LinkAttributes,
) -> Result<ReleaseLink> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let mut transaction = lock_repository(app, &repository, tag).await?;
    let release = release::find_one(&mut transaction, repository.project.id, tag).await?.ok_or(NOT_FOUND)?;
    check_link(&link)?;
    if release.links.len() >= MAX_LINKS {
        return Err(too_many_links());
    }
    let created = release::insert_link(&mut transaction, repository.project.id, tag, &link, app.clock.now()).await;
    let created = explain_taken(created)?;
    commit(transaction).await?;
    Ok(created)
}

/// The changes of a link that a client sends. None leaves an attribute as it is.
#[derive(Clone, Debug, Default)]
pub struct UpdateLink {
    pub name: Option<String>,
    pub url: Option<String>,
    pub link_type: Option<LinkType>,
}

/// Changes a link of a release.
#[crate::boxed]
pub async fn update_link(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    tag: &str,
    id: i64,
    input: UpdateLink,
) -> Result<ReleaseLink> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let mut transaction = lock_repository(app, &repository, tag).await?;
    let release = release::find_one(&mut transaction, repository.project.id, tag).await?.ok_or(NOT_FOUND)?;
    let link = release.links.into_iter().find(|link| link.id == id).ok_or(NOT_FOUND)?;
    let attributes = LinkAttributes {
        name: input.name.unwrap_or(link.name),
        url: input.url.unwrap_or(link.url),
        link_type: input.link_type.unwrap_or(link.link_type),
    };
    check_link(&attributes)?;
    let updated = release::update_link(&mut transaction, repository.project.id, tag, id, &attributes).await;
    let updated = explain_taken(updated)?.ok_or(NOT_FOUND)?;
    commit(transaction).await?;
    Ok(updated)
}

/// Deletes a link of a release, and returns it.
#[crate::boxed]
pub async fn delete_link(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, id: i64) -> Result<ReleaseLink> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let mut transaction = lock_repository(app, &repository, tag).await?;
    let deleted = release::delete_link(&mut transaction, repository.project.id, tag, id).await?.ok_or(NOT_FOUND)?;
    commit(transaction).await?;
    Ok(deleted)
}

/// Locks the repository for a change of the release of a tag. While the lock is held, no tag and no release is created,
/// changed or deleted.
async fn lock_repository(app: &App, repository: &OpenRepository, tag: &str) -> Result<Transaction> {
    let mut transaction = app.database.begin().await?;
    let locked = repository::lock(&mut transaction, repository.project.repository.id).await?;
    locked.ok_or(Error::NotFound(Resource::Project))?;
    tag_permissions::check_release(&mut transaction, repository, tag).await?;
    Ok(transaction)
}

/// Maximum number of links of a release. A list of releases contains all links.
const MAX_LINKS: usize = 100;
/// Maximum size of the URL of a link. It keeps lists of releases within a few megabytes.
const MAX_URL_BYTES: usize = 1024;

fn check_attributes(name: Option<&str>, description: Option<&str>) -> Result<()> {
    let mut violations = Violations::default();
    violations.check_single_line("name", name.unwrap_or_default());
    violations.check_size("description", description.unwrap_or_default(), MAX_TEXT_BYTES);
    Ok(violations.into_result()?)
}

/// Returns whether a release can have these links.
pub(crate) fn are_valid_links(links: &[LinkAttributes]) -> bool {
    check_links(links).is_ok()
}

fn check_links(links: &[LinkAttributes]) -> Result<()> {
    if links.len() > MAX_LINKS {
        return Err(too_many_links());
    }
    links.iter().try_for_each(check_link)?;
    let count_distinct = |text: fn(&LinkAttributes) -> &str| links.iter().map(text).collect::<HashSet<_>>().len();
    if count_distinct(|link| &link.name) < links.len() {
        return Err(Violations::single("name", TAKEN).into());
    }
    if count_distinct(|link| &link.url) < links.len() {
        return Err(Violations::single("url", TAKEN).into());
    }
    Ok(())
}

/// Checks a link. Browsers open it, so that other protocols than those of downloads are not accepted.
fn check_link(link: &LinkAttributes) -> Result<()> {
    let mut violations = Violations::default();
    if link.name.trim().is_empty() {
        violations.add("name", BLANK);
    }
    violations.check_single_line("name", &link.name);
    let is_plain = link.url.bytes().all(|byte| byte > b' ' && byte != 127);
    let url = Url::parse(&link.url).ok().filter(|url| is_plain && matches!(url.scheme(), "http" | "https" | "ftp"));
    if url.is_none() {
        violations.add("url", INVALID);
    }
    violations.check_size("url", &link.url, MAX_URL_BYTES);
    Ok(violations.into_result()?)
}

fn too_many_links() -> Error {
    Error::Rejected(format!("A release has at most {MAX_LINKS} links"))
}

fn explain_taken<T>(saved: holdfast_store::Result<T>) -> Result<T> {
    saved
        .on_constraint("release_links_name_key", || Violations::single("name", TAKEN).into())
        .on_constraint("release_links_url_key", || Violations::single("url", TAKEN).into())
}
