//! Discussions of merge requests, which follow their line through the versions and can be resolved.

use std::collections::{HashMap, HashSet};

use holdfast_domain::Violations;
use holdfast_domain::ids::{DiscussionId, MergeRequestId, MergeRequestVersionId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::violations::INVALID;
use holdfast_git::diff::FileLine;
use holdfast_git::{ObjectId, TreePath};
use holdfast_store::Connection;
use holdfast_store::accounts::user;
use holdfast_store::merge_requests::{discussion, version};
use holdfast_store::planning::note as notes;
use holdfast_store::worker::merge_requests;

pub use holdfast_store::merge_requests::discussion::{DiscussedLine, Discussion, Position};

use super::merge_request::{self, MergeRequest};
use super::version::{Version, find_base, load_newest, open};
use crate::accounts::user::UserSummary;
use crate::planning::note::{self, NewNote, Note, NoteTarget};
use crate::projects::project::{Project, ProjectRef};
use crate::repository::browse::{blob, compare};
use crate::repository::open_repository::OpenRepository;
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of versions and sides of their diffs whose lines are followed for one list. The next list continues. Arbitrary.
const MAX_FOLLOWED_VERSIONS: usize = 20;

/// A discussion with its notes, and where its line is now.
#[derive(Debug)]
pub struct DiscussionWithNotes {
    pub discussion: Discussion,
    /// None if nobody resolved it, or if that user was deleted.
    pub resolved_by: Option<UserSummary>,
    /// The head of the version that the discussion was started on.
    pub head: Option<ObjectId>,
    pub current: CurrentLine,
    /// The line as the newest version has it, or else as it was when the discussion was started.
    pub shown_line: Option<VersionedLine>,
    /// The notes of the discussion, in the order in which they were written.
    pub notes: Vec<Note>,
}

/// A line of a version.
#[derive(Clone, Debug)]
pub struct VersionedLine {
    pub version: Version,
    pub line: DiscussedLine,
    pub is_in_base: bool,
}

/// Where the line of a discussion is in the newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurrentLine {
    /// The discussion is not about a line, or the line was not searched yet.
    Unknown,
    /// The line was changed or removed.
    Gone,
    Found(MergeRequestVersionId, DiscussedLine),
}

/// Lists the discussions of a merge request, oldest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    page: PageRequest,
) -> Result<Page<DiscussionWithNotes>> {
    merge_request::show(app, actor, project, request).await?;
    let page = discussion::list(&mut *app.database.connection().await?, request, page).await?;
    let items = load(app, actor, project, request, page.items).await?;
    Ok(Page { items, request: page.request, total: page.total, has_next: page.has_next })
}

#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    id: DiscussionId,
) -> Result<DiscussionWithNotes> {
    merge_request::show(app, actor, project, request).await?;
    let found = find(&mut *app.database.connection().await?, request, id).await?;
    load_one(app, actor, project, request, found).await
}

pub(super) async fn find(connection: &mut Connection, request: MergeRequestId, id: DiscussionId) -> Result<Discussion> {
    discussion::find(connection, request, id).await?.ok_or(Error::NotFound(Resource::Record))
}

async fn load_one(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    discussion: Discussion,
) -> Result<DiscussionWithNotes> {
    let loaded = load(app, actor, project, request, vec![discussion]).await?;
    loaded.into_iter().next().ok_or(Error::NotFound(Resource::Record))
}

/// Loads notes and users, and finds the lines in the newest version.
pub(super) async fn load(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    discussions: Vec<Discussion>,
) -> Result<Vec<DiscussionWithNotes>> {
    if discussions.is_empty() {
        return Ok(Vec::new());
    }
    let versions = version::list(&mut *app.database.connection().await?, request).await?;
    load_with_versions(app, actor, project, &versions, discussions).await
}

/// Like [`load`], for a merge request with these versions, newest first.
pub(super) async fn load_with_versions(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    versions: &[Version],
    discussions: Vec<Discussion>,
) -> Result<Vec<DiscussionWithNotes>> {
    let Some(newest) = versions.first() else { return Ok(Vec::new()) };
    let ids: Vec<DiscussionId> = discussions.iter().map(|it| it.id).collect();
    let mut connection = app.database.connection().await?;
    let notes = notes::list_for_discussions(&mut connection, NoteTarget::MergeRequest(newest.request), &ids).await?;
    drop(connection);
    let mut notes_by_discussion = HashMap::<DiscussionId, Vec<Note>>::new();
    for note in notes {
        if let Some(id) = note.discussion() {
            notes_by_discussion.entry(id).or_default().push(note);
        }
    }
    let mut loaded = load_without_notes_with_versions(app, actor, project, versions, discussions).await?;
    for discussion in &mut loaded {
        discussion.notes = notes_by_discussion.remove(&discussion.discussion.id).unwrap_or_default();
    }
    Ok(loaded)
}

/// Loads users, and finds the lines in the newest version.
pub(super) async fn load_without_notes(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    discussions: Vec<Discussion>,
) -> Result<Vec<DiscussionWithNotes>> {
    if discussions.is_empty() {
        return Ok(Vec::new());
    }
    let versions = version::list(&mut *app.database.connection().await?, request).await?;
    load_without_notes_with_versions(app, actor, project, &versions, discussions).await
}

async fn load_without_notes_with_versions(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    versions: &[Version],
    discussions: Vec<Discussion>,
) -> Result<Vec<DiscussionWithNotes>> {
    let resolvers = discussions.iter().filter_map(|it| it.resolved().map(|(_, user)| user.get()));
    let resolvers: Vec<i64> = resolvers.collect::<HashSet<_>>().into_iter().collect();
    let resolvers = match resolvers.is_empty() {
        true => Vec::new(),
        false => user::find_summaries(&mut *app.database.connection().await?, &resolvers).await?,
    };
    // The discussions are also shown if git cannot compare the versions.
    let mut followed = follow(app, actor, project, versions, &discussions).await.unwrap_or_else(|error| {
        let request = versions.first().map(|version| version.request.get());
        tracing::warn!(%error, merge_request = request, "lines of discussions not found in the newest version");
        HashMap::new()
    });
    let find_version = |id: MergeRequestVersionId| versions.iter().find(|version| version.id == id).copied();
    let load_one = |discussion: Discussion| {
        let current = followed.remove(&discussion.id).unwrap_or(CurrentLine::Unknown);
        let position = discussion.position();
        let shown_line = position.clone().and_then(|position| {
            let (version, line) = match &current {
                CurrentLine::Found(version, line) => (*version, line.clone()),
                CurrentLine::Gone | CurrentLine::Unknown => (position.version, position.line),
            };
            Some(VersionedLine { version: find_version(version)?, line, is_in_base: position.is_in_base })
        });
        DiscussionWithNotes {
            resolved_by: discussion.resolved().and_then(|(_, id)| resolvers.iter().find(|it| it.id == id).cloned()),
            head: position.and_then(|it| find_version(it.version)).map(|it| it.head),
            current,
            shown_line,
            notes: Vec::new(),
            discussion,
        }
    };
    Ok(discussions.into_iter().map(load_one).collect())
}

/// Finds where the lines of discussions are in the newest version. What is computed is stored.
async fn follow(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    versions: &[Version],
    discussions: &[Discussion],
) -> Result<HashMap<DiscussionId, CurrentLine>> {
    let mut found = HashMap::new();
    let Some(newest) = versions.first() else { return Ok(found) };
    // The discussions whose line is not known, by the version that they were started on and the side of its diff.
    let mut unknown = HashMap::<(MergeRequestVersionId, bool), Vec<(DiscussionId, DiscussedLine)>>::new();
    for discussion in discussions {
        let Some(position) = discussion.position() else { continue };
        match discussion.followed().filter(|(version, _)| *version == newest.id) {
            Some((_, line)) => drop(found.insert(discussion.id, CurrentLine::new(newest.id, line))),
            None if position.version == newest.id => {
                found.insert(discussion.id, CurrentLine::Found(newest.id, position.line));
            }
            None => {
                let key = (position.version, position.is_in_base);
                unknown.entry(key).or_default().push((discussion.id, position.line));
            }
        }
    }
    if unknown.is_empty() {
        return Ok(found);
    }
    let repository = open(app, actor, project).await?;
    for ((id, is_in_base), lines) in unknown.into_iter().take(MAX_FOLLOWED_VERSIONS) {
        let Some(version) = versions.iter().find(|version| version.id == id) else { continue };
        let lines = match follow_from(app, &repository, *version, *newest, is_in_base, lines).await {
            // The line is searched again with the next list.
            Err(Error::TemporarilyUnavailable(_)) => continue,
            lines => lines?,
        };
        discussion::set_followed(&mut *app.database.connection().await?, newest.id, &lines).await?;
        found.extend(lines.into_iter().map(|(id, line)| (id, CurrentLine::new(newest.id, line))));
    }
    Ok(found)
}

impl CurrentLine {
    fn new(version: MergeRequestVersionId, line: Option<DiscussedLine>) -> Self {
        line.map_or(Self::Gone, |line| Self::Found(version, line))
    }
}

/// Finds lines of one version in another version, on the same side of the diff.
async fn follow_from(
    app: &App,
    repository: &OpenRepository,
    old: Version,
    new: Version,
    is_in_base: bool,
    lines: Vec<(DiscussionId, DiscussedLine)>,
) -> Result<Vec<(DiscussionId, Option<DiscussedLine>)>> {
    let (old, new) = match is_in_base {
        true => (find_base(app, repository, &old).await?, find_base(app, repository, &new).await?),
        false => (Some(old.head), Some(new.head)),
    };
    let (Some(old), Some(new)) = (old, new) else {
        return Ok(lines.into_iter().map(|(id, _)| (id, None)).collect());
    };
    if old == new {
        return Ok(lines.into_iter().map(|(id, line)| (id, Some(line))).collect());
    }
    // A stored path was valid when the discussion was started.
    let file_line = |line: &DiscussedLine| {
        Some(FileLine { path: TreePath::new(&line.path)?, number: u64::try_from(line.number).ok()? })
    };
    let (ids, wanted): (Vec<DiscussionId>, Vec<FileLine>) =
        lines.iter().filter_map(|(id, line)| Some((*id, file_line(line)?))).unzip();
    let followed = compare::follow_lines(app, repository, old, new, &wanted).await?;
    let discussed = |line: FileLine| DiscussedLine {
        path: line.path.as_str().to_owned(),
        number: i64::try_from(line.number).unwrap_or(i64::MAX),
    };
    Ok(ids.into_iter().zip(followed.into_iter().map(|line| line.map(discussed))).collect())
}

/// A line as a client names it.
#[derive(Clone, Debug)]
pub struct NewPosition {
    pub version: VersionRef,
    pub line: DiscussedLine,
    pub is_in_base: bool,
}

/// A version as a client names it.
#[derive(Clone, Debug)]
pub enum VersionRef {
    Newest,
    /// Its number among the versions of the merge request.
    Number(i32),
    Id(MergeRequestVersionId),
    /// The ids of its commits, in hexadecimal digits. Among versions with the same head, the one with the same start is
    /// meant, or else the newest.
    Commits {
        head: String,
        start: Option<String>,
    },
}

/// Starts a discussion with its first note, about a line or about the whole merge request.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    body: &str,
    position: Option<NewPosition>,
) -> Result<DiscussionWithNotes> {
    access::read_project(app, actor, project, ProjectAction::CommentOnMergeRequests).await?;
    let position = match position {
        Some(position) => Some(check_position(app, actor, project, request, position).await?),
        None => None,
    };
    let target = NoteTarget::MergeRequest(request);
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::CommentOnMergeRequests;
    let loaded = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    let noteable = note::lock_noteable(&mut transaction, actor, &loaded, target).await?;
    let now = app.clock.now();
    let id = discussion::insert(&mut transaction, request, position.as_ref(), now).await?;
    let new = NewNote { body, created_at: now, discussion: Some(id) };
    note::add(app, &mut transaction, actor, &loaded, &noteable, new).await?;
    let created = find(&mut transaction, request, id).await?;
    holdfast_store::commit(transaction).await?;
    load_one(app, actor, project, request, created).await
}

/// Checks that a version of the merge request has this line.
pub(super) async fn check_position(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    position: NewPosition,
) -> Result<Position> {
    let (repository, _, newest) = load_newest(app, actor, project, request).await?;
    let version = match position.version {
        VersionRef::Newest => newest,
        VersionRef::Id(id) => version::find(&mut *app.database.connection().await?, request, id)
            .await?
            .ok_or_else(|| invalid("version_id"))?,
        VersionRef::Number(number) => {
            let versions = version::list(&mut *app.database.connection().await?, request).await?;
            versions.into_iter().find(|it| it.number == number).ok_or_else(|| invalid("version"))?
        }
        VersionRef::Commits { head, start } => {
            let mut versions = version::list(&mut *app.database.connection().await?, request).await?;
            let head = ObjectId::from_hex(head.as_bytes()).map_err(|_| invalid("head_sha"))?;
            versions.retain(|version| version.head == head);
            let has_start = |version: &&Version| version.start.map(|id| id.to_string()) == start;
            let version = versions.iter().find(has_start).or(versions.first()).copied();
            version.ok_or_else(|| invalid("head_sha"))?
        }
    };
    let commit = if position.is_in_base { find_base(app, &repository, &version).await? } else { Some(version.head) };
    let path = TreePath::new(&position.line.path).ok_or_else(|| invalid("path"))?;
    let commit = commit.ok_or_else(|| invalid("path"))?;
    let lines = blob::count_lines(app, &repository, commit, &path).await?.ok_or_else(|| invalid("path"))?;
    if !u64::try_from(position.line.number).is_ok_and(|number| (1..=lines).contains(&number)) {
        return Err(invalid("line"));
    }
    Ok(Position { version: version.id, line: position.line, is_in_base: position.is_in_base })
}

fn invalid(parameter: &'static str) -> Error {
    let mut violations = Violations::default();
    violations.add(parameter, INVALID);
    violations.into()
}

/// Adds a note to a discussion.
#[crate::boxed]
pub async fn reply(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    id: DiscussionId,
    body: &str,
) -> Result<Note> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::CommentOnMergeRequests;
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    let noteable = note::lock_noteable(&mut transaction, actor, &project, NoteTarget::MergeRequest(request)).await?;
    find(&mut transaction, request, id).await?;
    let new = NewNote { body, created_at: app.clock.now(), discussion: Some(id) };
    let note = note::add(app, &mut transaction, actor, &project, &noteable, new).await?;
    holdfast_store::commit(transaction).await?;
    Ok(note)
}

/// Returns whether the actor may resolve discussions: developers, and the author of the merge request.
pub fn can_resolve(actor: &Actor, project: &Project, request: &MergeRequest) -> bool {
    let is_author = actor.user_id() == Some(request.author.id);
    is_author || access::can(actor, project, ProjectAction::ManageMergeRequests)
}

/// Resolves a discussion, or opens it again. The user who resolved it first stays.
#[crate::boxed]
pub async fn set_resolved(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    request: MergeRequestId,
    id: DiscussionId,
    is_resolved: bool,
) -> Result<DiscussionWithNotes> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::CommentOnMergeRequests;
    let authorized = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    let locked = merge_request::lock(&mut transaction, actor, &authorized, request).await?;
    let before = find(&mut transaction, request, id).await?;
    if !can_resolve(actor, &authorized, &locked) {
        return Err(Error::Forbidden(None));
    }
    if before.resolved().is_some() != is_resolved {
        let user: Option<UserId> = is_resolved.then_some(actor.current_user()?.account.id());
        discussion::set_resolved(&mut transaction, id, user, app.clock.now()).await?;
        merge_requests::enqueue_if_waiting(&mut transaction, &locked).await?;
    }
    let after = find(&mut transaction, request, id).await?;
    holdfast_store::commit(transaction).await?;
    load_one(app, actor, project, request, after).await
}
