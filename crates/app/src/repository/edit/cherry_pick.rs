//! Applies the changes of a commit to another branch.

use holdfast_domain::policy::ProjectAction;
use holdfast_git::merge_tree::{self, Merge};
use holdfast_git::new_commit::NewCommit;
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::projects::project::ProjectRef;

use super::open_branch::{MAX_ATTEMPTS, OpenBranch, acquire_push_permit, explain, too_many_updates};
use crate::repository::browse::commit::ProjectCommit;
use crate::repository::browse::revision;
use crate::repository::check_message_size;
use crate::repository::open_repository::open_repository;
use crate::repository::refs::new_objects::signature;
use crate::{Actor, App, Error, Resource, Result};

const NO_CHANGE: &str = "The branch has the changes of this commit already";

/// Creates a commit on a branch with the changes of another commit since its first parent. The author stays, as does the
/// message unless there is a new one, and the current user is the committer.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    branch: &str,
    message: Option<&str>,
) -> Result<ProjectCommit> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let picked = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    check_message_size("message", message.unwrap_or_default())?;
    let current_user = actor.current_user()?;
    let permit = acquire_push_permit(app, actor, project).await?;
    for _ in 0..MAX_ATTEMPTS {
        let branch = OpenBranch::open(app, actor, project, branch, &permit).await?;
        let branch = branch.ok_or(Error::NotFound(Resource::Branch))?;
        let tip = branch.tip.ok_or(Error::NotFound(Resource::Branch))?;
        let read = branch.read(move |reader| {
            let commit = reader.commit(picked)?;
            let parent = commit.parents.first();
            let from = parent.map_or(Ok(ObjectId::empty_tree(SHA1)), |parent| reader.commit_tree_id(*parent))?;
            Ok((commit, from, reader.commit_tree_id(picked)?, reader.commit_tree_id(tip)?))
        });
        let (commit, from, to, target) = read.await?;
        let git = &app.git_runtime.git;
        let merge = merge_tree::apply_changes(git, branch.quarantine(), from, to, target).await.map_err(explain)?;
        let tree = match merge {
            Merge::Tree(tree) if tree == target => return Err(Error::Rejected(NO_CHANGE.into())),
            Merge::Tree(tree) => tree,
            Merge::Conflicts(paths) => return Err(conflict_error(&paths)),
        };
        let new = NewCommit {
            tree,
            parents: vec![tip],
            author: commit.author,
            committer: signature(app, current_user),
            message: message.map_or(commit.message, str::to_owned),
        };
        if let Some(commit) = branch.add(app, current_user, new).await? {
            return Ok(ProjectCommit { project: repository.project, commit });
        }
    }
    Err(too_many_updates())
}

/// Maximum number of conflicting paths that an error names. Arbitrary.
const MAX_NAMED_PATHS: usize = 10;

fn conflict_error(paths: &[Vec<u8>]) -> Error {
    if paths.is_empty() {
        return Error::Rejected("The commit conflicts with the branch: git cannot combine their renames".into());
    }
    let named: Vec<_> = paths.iter().take(MAX_NAMED_PATHS).map(|path| String::from_utf8_lossy(path)).collect();
    let more = if paths.len() > named.len() { " and others" } else { "" };
    Error::Rejected(format!("The commit conflicts with the branch in {}{more}", named.join(", ")))
}
