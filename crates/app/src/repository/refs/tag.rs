//! Lists, creates and deletes tags.

use chrono::{DateTime, FixedOffset};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{TagProtection, TagRule};
use holdfast_domain::text::{MAX_TEXT_BYTES, shorten};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::reader::Kind;
use holdfast_git::tag::NewAnnotatedTag;
use holdfast_git::{ObjectId, RefName, RefTarget, tag};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::release::{self, NewRelease};
use holdfast_store::repository::snapshot::RefKind;
use holdfast_store::repository::tag_protection;

pub use super::ref_list::{ListRefs, RefOrder};

use super::new_objects::{self, NewObjects, signature};
use super::planned_update::PlannedUpdate;
use super::ref_address::RefAddresses;
use super::ref_list::{self, RefPage};
use super::ref_update::{self, RefUpdate};
use super::ref_update_policy::{RefUpdatePolicy, TAG_CHANGED};
use crate::actor::CurrentUser;
use crate::repository::browse::commit::{self, Commit, MAX_LISTED_MESSAGE_BYTES};
use crate::repository::browse::revision;
use crate::repository::check_message_size;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

#[derive(Clone, Debug)]
pub struct Tag {
    pub name: String,
    /// The object that the tag points at. Of an annotated tag, it is the tag object.
    pub target: ObjectId,
    /// The message of an annotated tag.
    pub message: Option<String>,
    /// When an annotated tag was created, if that is known.
    pub created_at: Option<DateTime<FixedOffset>>,
    /// `None` if the tag points at another kind of object.
    pub commit: Option<Commit>,
    /// The notes of the release that belongs to the tag, if there is one.
    pub release: Option<String>,
    /// Whether a rule of protected tags matches the name.
    pub is_protected: bool,
}

#[derive(Clone, Debug)]
pub struct CreateTag {
    pub name: String,
    pub target: String,
    pub message: Option<String>,
    pub release_description: Option<String>,
}

/// Lists the tags of a project, sorted by name in descending order.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Tag>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    list_opened(app, &repository, page).await
}

/// The tags of a project, with what their page shows.
pub struct ProjectTags {
    pub project: Project,
    pub tags: Page<Tag>,
    pub refs: RefAddresses,
}

/// Like [`list`], but also returns the project and the addresses of the tags.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectTags> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let tags = list_opened(app, &repository, page).await?;
    Ok(ProjectTags { tags, refs: RefAddresses::new(repository.refs), project: repository.project })
}

async fn list_opened(app: &App, repository: &OpenRepository, page: PageRequest) -> Result<Page<Tag>> {
    let input = ListRefs { search: None, order: RefOrder::Name, descending: true };
    search_opened(app, repository, &input, page).await
}

/// Lists the tags that a client asks for.
#[crate::boxed]
pub async fn search(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: &ListRefs,
    page: PageRequest,
) -> Result<ProjectTags> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let tags = search_opened(app, &repository, input, page).await?;
    Ok(ProjectTags { tags, refs: RefAddresses::new(repository.refs), project: repository.project })
}

async fn search_opened(
    app: &App,
    repository: &OpenRepository,
    input: &ListRefs,
    page: PageRequest,
) -> Result<Page<Tag>> {
    let RefPage { total, refs } = ref_list::list(app, repository, RefKind::Tags, input, page).await?;
    let (names, targets): (Vec<String>, Vec<RefTarget>) = refs.into_iter().unzip();
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut connection = app.database.connection().await?;
    let project = repository.project.id;
    let mut releases = release::find(&mut connection, project, &listed, MAX_TEXT_BYTES as i32).await?;
    let rules = tag_protection::list_all(&mut connection, project).await?;
    drop(connection);
    let contents = read_tags(app, repository, targets, DetailLevel::Listed).await?;
    let tags = names.into_iter().zip(contents).map(|(name, content)| {
        let release = releases.remove(&name);
        content.into_tag(name, release, &rules)
    });
    Ok(Page::with_total(tags.collect(), page, total))
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Tag> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    show_opened(app, &repository, name).await
}

/// A tag, with what its page shows.
pub struct ProjectTag {
    pub project: Project,
    pub tag: Tag,
    pub refs: RefAddresses,
}

/// Like [`show`], but also returns the project and the address of the tag.
#[crate::boxed]
pub async fn show_with_project(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<ProjectTag> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let tag = show_opened(app, &repository, name).await?;
    Ok(ProjectTag { tag, refs: RefAddresses::new(repository.refs), project: repository.project })
}

async fn show_opened(app: &App, repository: &OpenRepository, name: &str) -> Result<Tag> {
    let target = repository.refs.find(&format!("refs/tags/{name}")).ok_or(Error::NotFound(Resource::Tag))?;
    let content = read_tags(app, repository, vec![target], DetailLevel::Full).await?.remove(0);
    let mut connection = app.database.connection().await?;
    let mut releases = release::find(&mut connection, repository.project.id, &[name], i32::MAX).await?;
    let rules = tag_protection::list_all(&mut connection, repository.project.id).await?;
    Ok(content.into_tag(name.to_owned(), releases.remove(name), &rules))
}

/// Whether tags are shown in full, or shortened for a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DetailLevel {
    Full,
    Listed,
}

/// What the repository has of a tag.
struct TagContent {
    target: ObjectId,
    message: Option<String>,
    created_at: Option<DateTime<FixedOffset>>,
    commit: Option<Commit>,
}

impl TagContent {
    fn into_tag(self, name: String, release: Option<String>, rules: &[TagRule]) -> Tag {
        let Self { target, message, created_at, commit } = self;
        let is_protected = TagProtection::for_tag(rules, &name).is_protected;
        Tag { name, target, message, created_at, commit, release, is_protected }
    }
}

/// Returns the commits of tags as a list shows them. None for a tag that does not point at a commit.
pub(super) async fn load_commits(
    app: &App,
    repository: &OpenRepository,
    targets: Vec<RefTarget>,
) -> Result<Vec<Option<Commit>>> {
    let contents = read_tags(app, repository, targets, DetailLevel::Listed).await?;
    Ok(contents.into_iter().map(|content| content.commit).collect())
}

/// Returns the message, the date and the commit of each tag.
async fn read_tags(
    app: &App,
    repository: &OpenRepository,
    targets: Vec<RefTarget>,
    detail_level: DetailLevel,
) -> Result<Vec<TagContent>> {
    objects::read(app, repository, move |reader| {
        let read_tag = |target: RefTarget| {
            let mut message = if target.peeled.is_some() { reader.tag_message(target.id)? } else { None };
            let is_commit = reader.kind(target.peeled_or_self())? == Some(Kind::Commit);
            let mut commit = if is_commit { Some(Commit::from(reader.commit(target.peeled_or_self())?)) } else { None };
            if detail_level == DetailLevel::Listed {
                message.iter_mut().for_each(|message| shorten(message, MAX_LISTED_MESSAGE_BYTES));
                commit.iter_mut().for_each(Commit::abridge);
            }
            let created_at = ref_list::read_tag_date(reader, target)?;
            Ok(TagContent { target: target.id, message, created_at, commit })
        };
        targets.into_iter().map(read_tag).collect()
    })
    .await
}

/// Deletes a tag with its release and returns its name, which the API echoes. As in a push, developers create tags, and
/// only masters change existing ones.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<String> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let full = format!("refs/tags/{name}");
    let found = repository.refs.find(&full).ok_or(Error::NotFound(Resource::Literal("No such tag")))?;
    let command = PushCommand { name: full.as_str().into(), old: Some(found.id), new: None };
    // The rules of protected branches and tags say nothing about the deletion of a tag.
    if RefUpdatePolicy::new(actor, &repository, Vec::new()).check_name(&command).is_err() {
        return Err(Error::Forbidden(Some(TAG_CHANGED)));
    }
    let update = RefUpdate { name: RefName::from_trusted(&full), old: Some(found.id), new: None };
    match super::branch::update_single_ref(app, actor.current_user()?, &repository, update, None).await? {
        None => Ok(name.to_owned()),
        Some(_) => Err(Error::Rejected("Failed to remove tag".into())),
    }
}

/// Creates a tag at a branch, another tag or a commit. The tag is annotated if it has a message.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, input: CreateTag) -> Result<Tag> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    create_noted(app, actor, &repository, input).await
}

/// Like [`create`], but also returns the project and the address of the tag.
#[crate::boxed]
pub async fn create_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: CreateTag,
) -> Result<ProjectTag> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let tag = create_noted(app, actor, &repository, input).await?;
    Ok(ProjectTag { tag, refs: RefAddresses::new(repository.refs), project: repository.project })
}

/// Creates a tag and, if it has notes, its release.
async fn create_noted(app: &App, actor: &Actor, repository: &OpenRepository, mut input: CreateTag) -> Result<Tag> {
    let notes = input.release_description.take().filter(|notes| !notes.is_empty());
    let author = actor.current_user()?.account.id();
    let release = notes.as_deref().map(|notes| NewRelease::with_notes(notes, author));
    let tag = create_opened(app, actor, repository, input, release).await?;
    Ok(Tag { release: notes, ..tag })
}

/// Creates a tag and its release, in one transaction.
pub(super) async fn create_opened(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    input: CreateTag,
    release: Option<NewRelease<'_>>,
) -> Result<Tag> {
    let current_user = actor.current_user()?;
    let rejected = |text: String| Error::Rejected(text);
    let name = RefName::tag(&input.name).map_err(|_| rejected("Tag name invalid".into()))?;
    let already_exists = || rejected(format!("Tag {} already exists", input.name));
    if repository.refs.find(name.as_str()).is_some() {
        return Err(already_exists());
    }
    let id = revision::resolve(app, repository, &input.target).await?;
    let id = id.ok_or_else(|| rejected(format!("Target {} is invalid", input.target)))?;
    let message = input.message.map(|message| message.trim().to_owned()).filter(|message| !message.is_empty());
    check_message_size("message", message.as_deref().unwrap_or_default())?;
    check_message_size("release_description", release.map_or("", |release| release.description))?;
    let tagger = signature(app, current_user);
    let created_at = message.as_ref().and_then(|_| commit::signature_time(&tagger));
    let (target, rejection) = match &message {
        None => {
            let update = RefUpdate { name, old: None, new: Some(RefTarget { id, peeled: None }) };
            (id, super::branch::update_single_ref(app, current_user, repository, update, release).await?)
        }
        Some(message) => {
            let annotated_tag =
                NewAnnotatedTag { target: id, name: input.name.clone(), tagger, message: message.clone() };
            write_annotated_tag(app, current_user, repository, name, annotated_tag, release).await?
        }
    };
    match rejection {
        None => {}
        Some(ref_update::STALE_OLD_VALUE) => return Err(already_exists()),
        Some(text) => return Err(rejected(text.into())),
    }
    let rules = tag_protection::list_all(&mut *app.database.connection().await?, repository.project.id).await?;
    let commit = Some(commit::load(app, repository, id).await?);
    Ok(TagContent { target, message, created_at, commit }.into_tag(input.name, None, &rules))
}

/// Writes a tag object, stores its pack and creates its ref, as a push does. Returns the id of the object, and the
/// reason if the update is rejected.
async fn write_annotated_tag(
    app: &App,
    current_user: &CurrentUser,
    repository: &OpenRepository,
    name: RefName,
    annotated_tag: NewAnnotatedTag,
    release: Option<NewRelease<'_>>,
) -> Result<(ObjectId, Option<&'static str>)> {
    let cached_repository = app.cached_repository(repository.project.repository.id, repository.refs.generation).await?;
    let quarantine = app.git_runtime.cache()?.quarantine(Some(&cached_repository.bare))?;
    let target = annotated_tag.target;
    let (id, pack) = tag::write(&app.git_runtime.git, &quarantine, annotated_tag).await?;
    let update = RefUpdate { name, old: None, new: Some(RefTarget { id, peeled: Some(target) }) };
    let new = NewObjects {
        repository,
        cached_repository: &cached_repository,
        pack: &pack,
        updates: vec![PlannedUpdate { may_get_pipeline: true, ..PlannedUpdate::from(update) }],
        release,
    };
    Ok((id, new_objects::apply(app, current_user, new).await?))
}
