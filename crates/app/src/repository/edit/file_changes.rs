//! Creates a commit with changes of files.

use std::sync::Arc;

use holdfast_git::commits::{self, CommitQuery};
use holdfast_git::diff::{self, ChangedLines};
use holdfast_git::new_commit::NewCommit;
use holdfast_git::reader::Signature;
use holdfast_git::tree_edit::{self, EditConflict, EditedTree, TreeEdit};
use holdfast_git::{ObjectId, SHA1, TreePath};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::open_branch::{
    MAX_ATTEMPTS, OpenBranch, acquire_push_permit, acquire_test_permit, explain, too_many_updates,
};
use crate::actor::CurrentUser;
use crate::repository::browse::changes::{self, Changes, FileSelection};
use crate::repository::browse::commit::Commit;
use crate::repository::check_message_size;
use crate::repository::refs::new_objects::signature;
use crate::{Actor, App, Error, Result};

/// A change of one file, as a client describes it.
#[derive(Clone, Debug)]
pub enum FileChange {
    Create {
        path: String,
        content: Vec<u8>,
    },
    Update {
        path: String,
        content: Vec<u8>,
        /// The id of the commit that last changed the file, if the client knows it. The change is rejected if there is a
        /// later one.
        last_commit_id: Option<String>,
    },
    Delete {
        path: String,
        /// Like that of an update.
        last_commit_id: Option<String>,
    },
    Move {
        from: String,
        to: String,
        content: Option<Vec<u8>>,
    },
}

/// Changes of files that become one commit.
#[derive(Clone, Debug)]
pub struct CommitChanges {
    pub branch: String,
    /// The branch at whose last commit a new branch is created. The branch must exist if None.
    pub start_branch: Option<String>,
    pub message: String,
    /// The name and the address of the author. The current user if None.
    pub author: Option<(String, String)>,
    pub changes: Vec<FileChange>,
    /// The ids of the existing files that the changes replace, in their order, if the client knows them. The commit is
    /// rejected if a file has another one.
    pub known_ids: Option<Vec<Option<ObjectId>>>,
    /// Whether the number of changed lines is wanted.
    pub counts_lines: bool,
}

/// A commit that was created.
#[derive(Clone, Debug)]
pub struct CreatedCommit {
    pub project: Project,
    pub commit: Commit,
    /// The number of lines that it changes. Zero if it was not wanted or took too long.
    pub lines: ChangedLines,
}

const NO_BRANCH: &str = "You can only create or edit files when you are on a branch";
const BLANK_MESSAGE: &str = "The commit message is empty";
const INVALID_PATH: &str = "The path of a file is not valid";
pub(super) const FILE_CHANGED: &str = "The file has been changed since you began to edit it";
pub(super) const FILE_EXISTS: &str =
    "Your changes could not be committed because a file with the same name already exists";

/// Creates a commit on a branch, or on a new branch. If one of the changes is not possible, there is no commit. The
/// first commit of a repository creates the branch.
#[crate::boxed]
pub async fn commit(app: &App, actor: &Actor, project: &ProjectRef, input: CommitChanges) -> Result<CreatedCommit> {
    let permit = acquire_push_permit(app, actor, project).await?;
    let mut replaced = input.known_ids.clone();
    for _ in 0..MAX_ATTEMPTS {
        let start = input.start_branch.as_deref();
        let branch = OpenBranch::open_or_create(app, actor, project, &input.branch, start, &permit).await?;
        let branch = branch.ok_or_else(|| Error::Rejected(NO_BRANCH.into()))?;
        let tree = edit_tree(app, &branch, &input).await?;
        // The branch was updated since the client read it, or since the first attempt. What others have changed meanwhile
        // is not overwritten.
        if replaced.as_ref().is_some_and(|replaced| *replaced != tree.replaced) {
            return Err(Error::Rejected(FILE_CHANGED.into()));
        }
        let lines = if input.counts_lines { count_lines(app, &branch, tree.id).await } else { ChangedLines::default() };
        let new = new_commit(app, actor.current_user()?, &branch, tree.id, &input);
        if let Some(commit) = branch.add(app, actor.current_user()?, new).await? {
            return Ok(CreatedCommit { project: branch.repository.project.clone(), commit, lines });
        }
        replaced = Some(tree.replaced);
    }
    Err(too_many_updates())
}

/// Compares the branch with a commit that is not added to it. Shows the file with this path after the change, or before
/// it if it is deleted.
pub(super) async fn compare(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: &CommitChanges,
    path: &str,
) -> Result<Changes> {
    let permit = acquire_test_permit(app, actor).await;
    let start = input.start_branch.as_deref();
    let branch = OpenBranch::open_or_create(app, actor, project, &input.branch, start, &permit).await?;
    let branch = Arc::new(branch.ok_or_else(|| Error::Rejected(NO_BRANCH.into()))?);
    let tree = edit_tree(app, &branch, input).await?;
    let old = branch.base.unwrap_or(ObjectId::empty_tree(SHA1));
    let selection = FileSelection::Only(path.as_bytes().to_vec());
    let held = branch.clone();
    changes::start_in(app, branch.quarantine().repository(), held, (old, tree.id), selection).await
}

/// Writes the tree with the changes, on the commit that the new one follows.
async fn edit_tree(app: &App, branch: &OpenBranch, input: &CommitChanges) -> Result<EditedTree> {
    check_message_size("commit_message", &input.message)?;
    if input.message.trim().is_empty() {
        return Err(Error::Rejected(BLANK_MESSAGE.into()));
    }
    let edits = input.changes.iter().cloned().map(to_edit).collect::<Option<Vec<TreeEdit>>>();
    let edits = edits.ok_or_else(|| Error::Rejected(INVALID_PATH.into()))?;
    check_versions(app, branch, &known_versions(&input.changes)).await?;
    let base = branch.base;
    let tree = branch.read(move |reader| {
        let old = base.map_or(Ok(ObjectId::empty_tree(SHA1)), |base| reader.commit_tree_id(base))?;
        Ok(tree_edit::apply(reader, old, &edits)?)
    });
    tree.await?.map_err(conflict_error)
}

/// Counts the lines before the commit is added: afterwards, an error would hide that the commit exists.
async fn count_lines(app: &App, branch: &OpenBranch, tree: ObjectId) -> ChangedLines {
    let old = branch.base.unwrap_or(ObjectId::empty_tree(SHA1));
    let counted = diff::summarize(&app.git_runtime.git, branch.quarantine().repository(), old, tree).await;
    counted.map(|summary| summary.lines).unwrap_or_else(|error| {
        tracing::info!(%error, "counting the lines of a new commit failed");
        ChangedLines::default()
    })
}

fn new_commit(
    app: &App,
    current_user: &CurrentUser,
    branch: &OpenBranch,
    tree: ObjectId,
    input: &CommitChanges,
) -> NewCommit {
    let committer = signature(app, current_user);
    let author = match &input.author {
        Some((name, email)) => Signature { name: name.clone(), email: email.clone(), ..committer.clone() },
        None => committer.clone(),
    };
    let parents = branch.base.into_iter().collect();
    NewCommit { tree, parents, author, committer, message: input.message.clone() }
}

/// A file and the commit by which a client knows it.
struct KnownVersion {
    path: TreePath,
    last_commit_id: ObjectId,
}

fn known_versions(changes: &[FileChange]) -> Vec<KnownVersion> {
    let known = changes.iter().filter_map(|change| match change {
        FileChange::Update { path, last_commit_id: Some(id), .. }
        | FileChange::Delete { path, last_commit_id: Some(id) } => {
            let path = TreePath::new(path.trim_start_matches('/'))?;
            let last_commit_id = ObjectId::from_hex(id.as_bytes()).unwrap_or(ObjectId::null(SHA1));
            Some(KnownVersion { path, last_commit_id })
        }
        _ => None,
    });
    known.collect()
}

/// Checks that nobody has changed the files since the client read them.
async fn check_versions(app: &App, branch: &OpenBranch, known: &[KnownVersion]) -> Result<()> {
    let Some(base) = branch.base else { return Ok(()) };
    for version in known {
        // Without a permit for fetches: a push that waits for one would keep other pushes from their permits.
        let query = CommitQuery { path: Some(&version.path), ..CommitQuery::new(base) };
        let (git, bare) = (&app.git_runtime.git, &branch.cached_repository.bare);
        let last_commit = commits::list(git, bare, query, 1).await.map_err(explain)?;
        if last_commit.first() != Some(&version.last_commit_id) {
            return Err(Error::Rejected(FILE_CHANGED.into()));
        }
    }
    Ok(())
}

fn to_edit(change: FileChange) -> Option<TreeEdit> {
    let path = |text: &str| TreePath::new(text.trim_start_matches('/'));
    let new_path = |text: &str| TreePath::for_new_file(text.trim_start_matches('/'));
    Some(match change {
        FileChange::Create { path, content } => TreeEdit::Create { path: new_path(&path)?, content },
        FileChange::Update { path: name, content, .. } => TreeEdit::Update { path: path(&name)?, content },
        FileChange::Delete { path: name, .. } => TreeEdit::Delete { path: path(&name)? },
        FileChange::Move { from, to, content } => TreeEdit::Move { from: path(&from)?, to: new_path(&to)?, content },
    })
}

fn conflict_error(conflict: EditConflict) -> Error {
    Error::Rejected(match conflict {
        EditConflict::Exists(_) | EditConflict::BelowFile(_) => FILE_EXISTS.into(),
        EditConflict::Missing(path) => format!("There is no file {} on the branch", path.as_str()),
        EditConflict::DirectoryTooLarge(path) => {
            format!("A directory of {} is too large to be changed here; push the change instead", path.as_str())
        }
    })
}
