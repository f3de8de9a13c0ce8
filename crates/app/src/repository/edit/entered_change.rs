//! Commits or compares a change of one file that a user has entered in a form.

use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES as MAX_MESSAGE_BYTES;
use holdfast_domain::violations::BLANK;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::{ObjectId, RefName, SHA1, TreePath};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::protection;

use super::file_changes::{self, CommitChanges, FILE_CHANGED, FILE_EXISTS, FileChange};
use super::file_form::{FileContent, FormFile, Location, MAX_TEXT_BYTES, can_push};
use super::line_breaks::restore_line_breaks;
use crate::repository::browse::changes::Changes;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::ref_address::branch_address;
use crate::repository::refs::ref_update_policy::RefUpdatePolicy;
use crate::{Actor, App, Error, Result};

/// A change of one file, as it was entered.
#[derive(Clone, Debug)]
pub struct EnteredChange {
    pub edit: FileEdit,
    /// The branch that gets the commit. If it is not the one that the address names, it is created.
    pub branch: String,
    /// An empty message of a new file is replaced by a default.
    pub message: String,
}

/// What a change does with the file that the address of the form names. `known_id` is the id of the content that the user
/// has seen.
#[derive(Clone, Debug)]
pub enum FileEdit {
    /// Creates a text file at a path that has none.
    Create {
        path: String,
        text: String,
    },
    /// Changes the text and, if `path` is another one, moves the file.
    Update {
        path: String,
        text: String,
        known_id: String,
    },
    /// Replaces the content of the file with an uploaded one.
    Replace {
        upload: Option<UploadedContent>,
        known_id: String,
    },
    /// Creates another file. A path that ends with a slash is that of its directory.
    Upload {
        path: String,
        upload: Option<UploadedContent>,
    },
    Delete {
        known_id: String,
    },
}

/// A file that a form has sent, with its name and content.
#[derive(Clone, Debug)]
pub struct UploadedContent {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A change that was committed.
#[derive(Clone, Debug)]
pub struct CommittedChange {
    pub project: Project,
    pub branch: String,
    /// The text that names the branch in addresses.
    pub address: String,
    /// The branch at which the new branch was created. None if the branch existed.
    pub start: Option<String>,
    /// The path of the file after the change. None if it was deleted.
    pub path: Option<String>,
}

const INVALID_PATH: &str = "is not a path that git accepts for a file";
const NOT_TEXT: &str = "Only a text in UTF-8 can be edited here; upload another content instead";

/// Commits a change. Fails with a conflict if the file is not the one that the user has seen.
#[crate::boxed]
pub async fn commit(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: &str,
    entered: EnteredChange,
) -> Result<CommittedChange> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let Plan { changes, path, start } = plan(app, actor, &repository, address, entered).await?;
    let is_deletion = matches!(changes.changes[..], [FileChange::Delete { .. }]);
    let branch = changes.branch.clone();
    let created = file_changes::commit(app, actor, &ProjectRef::Id(repository.project.id), changes).await;
    let created = created.map_err(|error| match error {
        Error::Rejected(text) if text == FILE_CHANGED => Error::Conflict(text),
        Error::Rejected(text) if text == FILE_EXISTS => taken_path().into(),
        other => other,
    })?;
    let address = branch_address(&*repository.refs, &branch);
    Ok(CommittedChange { project: created.project, branch, address, start, path: (!is_deletion).then_some(path) })
}

fn taken_path() -> Violations {
    Violations::single("path", "is taken by another file or directory")
}

/// Compares the branch with a change that is not committed. Fails for the same reasons as [`commit`].
#[crate::boxed]
pub async fn preview(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: &str,
    entered: EnteredChange,
) -> Result<Changes> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let Plan { changes, path, .. } = plan(app, actor, &repository, address, entered).await?;
    let compared = file_changes::compare(app, actor, &ProjectRef::Id(repository.project.id), &changes, &path).await;
    compared.map_err(|error| match error {
        Error::Rejected(text) if text == FILE_EXISTS => taken_path().into(),
        other => other,
    })
}

/// The commit that a change becomes.
struct Plan {
    changes: CommitChanges,
    /// The path of the changed file: the new one if it is moved.
    path: String,
    start: Option<String>,
}

/// Checks what was entered, and whether the file is the one that the user has seen.
async fn plan(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    address: &str,
    entered: EnteredChange,
) -> Result<Plan> {
    let location = Location::find(repository, address)?;
    let EnteredChange { edit, branch, message } = entered;
    let mut violations = Violations::default();
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    check_branch(&mut violations, &RefUpdatePolicy::new(actor, repository, rules), repository, &location, &branch);
    let (change, known_id, path) = plan_edit(app, repository, &location, edit, &mut violations).await?;
    let message = match (message.trim().is_empty(), &change) {
        (true, FileChange::Create { .. }) => format!("Add {path}"),
        _ => message.replace("\r\n", "\n"),
    };
    if message.trim().is_empty() {
        violations.add("commit_message", BLANK);
    }
    violations.check_size("commit_message", &message, MAX_MESSAGE_BYTES);
    violations.into_result()?;
    if let Some(known) = known_id
        && location.find_file(app, repository).await?.is_none_or(|file| file.id != known)
    {
        return Err(Error::Conflict(FILE_CHANGED.into()));
    }
    let start = (branch != location.branch && location.tip.is_some()).then_some(location.branch);
    let changes = CommitChanges {
        branch,
        start_branch: start.clone(),
        message,
        author: None,
        changes: vec![change],
        known_ids: known_id.map(|id| vec![Some(id)]),
        counts_lines: false,
    };
    Ok(Plan { changes, path, start })
}

fn check_branch(
    violations: &mut Violations,
    policy: &RefUpdatePolicy,
    repository: &OpenRepository,
    location: &Location,
    branch: &str,
) {
    let is_other = branch != location.branch;
    let exists = repository.refs.find(&format!("refs/heads/{branch}")).is_some();
    match () {
        () if branch.is_empty() => violations.add("branch", BLANK),
        () if RefName::branch(branch).is_err() => violations.add("branch", "is not a valid name of a branch"),
        () if is_other && exists => violations.add("branch", "exists already. Enter another name"),
        () if !can_push(policy, branch, location.tip.filter(|_| !is_other)) => {
            violations.add("branch", "is protected, and you may not push to it. Enter the name of a new branch");
        }
        () => {}
    }
}

/// Returns the change of the commit, the id that the changed file must have, and the path of the file after the change.
async fn plan_edit(
    app: &App,
    repository: &OpenRepository,
    location: &Location,
    edit: FileEdit,
    violations: &mut Violations,
) -> Result<(FileChange, Option<ObjectId>, String)> {
    // No file has the null id, so that an invalid id is a conflict.
    let parse_id = |id: &str| ObjectId::from_hex(id.as_bytes()).unwrap_or(ObjectId::null(SHA1));
    let own_path = location.path.clone();
    Ok(match edit {
        FileEdit::Create { path, text } => {
            let path = check_path(violations, &path);
            check_text(violations, &text);
            let content = restore_line_breaks("", &text).into_bytes();
            (FileChange::Create { path: path.clone(), content }, None, path)
        }
        FileEdit::Upload { path, upload } => {
            let upload = check_upload(violations, upload);
            let name = upload.name.rsplit(['/', '\\']).next().unwrap_or_default();
            let path = path.trim();
            let is_directory = path.is_empty() || path.ends_with('/');
            let path = if is_directory { format!("{path}{name}") } else { path.to_owned() };
            // A form without a file has the message about the file alone.
            let path = if name.is_empty() { path } else { check_path(violations, &path) };
            (FileChange::Create { path: path.clone(), content: upload.bytes }, None, path)
        }
        FileEdit::Replace { upload, known_id } => {
            let content = check_upload(violations, upload).bytes;
            let change = FileChange::Update { path: own_path.clone(), content, last_commit_id: None };
            (change, Some(parse_id(&known_id)), own_path)
        }
        FileEdit::Delete { known_id } => {
            let change = FileChange::Delete { path: own_path.clone(), last_commit_id: None };
            (change, Some(parse_id(&known_id)), own_path)
        }
        FileEdit::Update { path, text, known_id } => {
            let path = if path == own_path { path } else { check_path(violations, &path) };
            check_text(violations, &text);
            let known_id = parse_id(&known_id);
            let content = match location.find_file(app, repository).await? {
                Some(FormFile { id, content: FileContent::Text(original) }) if id == known_id => {
                    let text = restore_line_breaks(&original, &text);
                    if text == original && path == own_path {
                        violations.add("content", "has no changes");
                    }
                    text.into_bytes()
                }
                Some(FormFile { id, .. }) if id == known_id => return Err(Error::Rejected(NOT_TEXT.into())),
                // The caller finds the conflict.
                _ => Vec::new(),
            };
            let change = match path == own_path {
                true => FileChange::Update { path: path.clone(), content, last_commit_id: None },
                false => FileChange::Move { from: own_path, to: path.clone(), content: Some(content) },
            };
            (change, Some(known_id), path)
        }
    })
}

/// Returns the path of a new file without slashes before it.
fn check_path(violations: &mut Violations, path: &str) -> String {
    let path = path.trim().trim_start_matches('/');
    if path.is_empty() {
        violations.add("path", BLANK);
    } else if TreePath::for_new_file(path).is_none() {
        violations.add("path", INVALID_PATH);
    }
    path.to_owned()
}

fn check_text(violations: &mut Violations, text: &str) {
    violations.check_size("content", &text.replace("\r\n", "\n"), MAX_TEXT_BYTES as usize);
}

/// Returns the uploaded file, or an empty one. Browsers send a file without a name if none was chosen.
fn check_upload(violations: &mut Violations, upload: Option<UploadedContent>) -> UploadedContent {
    upload.filter(|upload| !upload.name.is_empty()).unwrap_or_else(|| {
        violations.add("file", "has to be chosen");
        UploadedContent { name: String::new(), bytes: Vec::new() }
    })
}
