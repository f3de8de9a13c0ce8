//! Comments on commits, and on lines that commits change.

use holdfast_domain::activity::{Action, Audience};
use holdfast_domain::hooks::EventKind;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::check_note;
use holdfast_git::diff::{self, LineKind, LinePosition};
use holdfast_git::{ObjectId, SHA1, TreePath};
use holdfast_store::activity::event::{self, NewEvent, OutboxEvent, Subject};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::commit_comment::{self, NewComment};
use serde_json::json;

pub use holdfast_store::repository::commit_comment::{CommitComment, DiffLine};

use super::browse::changes::{TIMED_OUT, explain_timeout};
use super::browse::commit::{self, Commit};
use super::browse::revision;
use super::fetch_slot::FetchSlot;
use super::open_repository::{OpenRepository, open_repository};
use crate::accounts::user::{UserSummary, lock_author};
use crate::events::{format_time, project_json, user_json};
use crate::{Actor, App, Error, Resource, Result};

/// Lists the comments on a commit, oldest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    page: PageRequest,
) -> Result<Page<CommitComment>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    Ok(commit_comment::list(&app.database, repository.project.id, &id.to_string(), page).await?)
}

/// The comment that a client sends.
#[derive(Clone, Debug)]
pub struct CreateComment {
    pub body: String,
    pub path: Option<String>,
    pub line: Option<DiffLine>,
}

/// Creates a comment on a commit. If the commit does not change the given line, the comment is on no line.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    input: CreateComment,
) -> Result<CommitComment> {
    let repository = open_repository(app, actor, project, ProjectAction::CommentOnCommits).await?;
    let id = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    check_note(&input.body)?;
    let commit = commit::load(app, &repository, id).await?;
    let path = input.path.as_deref().and_then(TreePath::new);
    let position = match path.as_ref().zip(input.line) {
        Some((path, line)) => find_line(app, &repository, &commit, path, line).await?,
        None => None,
    };
    let line = input.line.filter(|_| position.is_some());
    let sha = id.to_string();
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let author = lock_author(&mut transaction, actor).await?;
    let new = NewComment {
        project: repository.project.id,
        commit: &sha,
        author,
        body: &input.body,
        path: path.as_ref().map(TreePath::as_str),
        line,
    };
    let comment = commit_comment::insert(&mut transaction, new, now).await?;
    let comment = commit_comment::find(&mut transaction, repository.project.id, comment).await?;
    let event = NewEvent {
        project: repository.project.id,
        author,
        action: Action::Commented,
        subject: Subject::CommitComment(comment.id),
        audience: Audience::CodeReaders,
    };
    let outbox_event = outbox_event(&repository.project, &comment.author, &commit, &comment, position);
    event::record(&mut transaction, event, Some(&outbox_event), now).await?;
    holdfast_store::commit(transaction).await?;
    Ok(comment)
}

/// Finds a line that a commit adds or removes, compared with its first parent.
async fn find_line(
    app: &App,
    repository: &OpenRepository,
    commit: &Commit,
    path: &TreePath,
    line: DiffLine,
) -> Result<Option<LinePosition>> {
    let kind = if line.is_removed { LineKind::Removed } else { LineKind::Added };
    let Ok(number) = u64::try_from(line.number) else { return Ok(None) };
    let parent = commit.parents.first().copied().unwrap_or(ObjectId::empty_tree(SHA1));
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let found = diff::find_line(git, bare, parent, commit.id, path, kind, number).await;
    found.map_err(|error| explain_timeout(error, TIMED_OUT))
}

fn outbox_event(
    project: &Project,
    user: &UserSummary,
    commit: &Commit,
    comment: &CommitComment,
    position: Option<LinePosition>,
) -> OutboxEvent {
    let line_code = comment.path.as_deref().zip(position).map(|(path, position)| position.line_code(path));
    let payload = json!({
        "user": user_json(user),
        "project": project_json(project),
        "commit": {
            "id": commit.id.to_string(),
            "message": commit::clean_text(&commit.message, MAX_MESSAGE_BYTES),
            "timestamp": commit.committer.date.to_rfc3339(),
            "author": {
                "name": commit::clean_name(&commit.author.name),
                "email": commit::clean_name(&commit.author.email),
            },
        },
        "note": {
            "id": comment.id,
            "body": comment.body,
            "author_id": comment.author.id,
            "created_at": format_time(comment.created_at),
            "updated_at": format_time(comment.created_at),
            "line_code": line_code,
        },
    });
    OutboxEvent { kind: EventKind::Note, payload }
}

/// Maximum size of the message of a commit in the event of a comment. Git has no limit.
const MAX_MESSAGE_BYTES: usize = 32 << 10;
