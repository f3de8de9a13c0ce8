//! Finds the merge commits by which a commit came into the default branch.

use std::collections::HashSet;

use holdfast_git::{ObjectId, commits};

use crate::repository::browse::changes::explain_timeout;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

/// Maximum number of merge commits that are searched, the oldest ones. The merge that brought a commit into the default
/// branch is one of the first after it.
const MAX_MERGES: usize = 300;

const HISTORY_TOO_LONG: &str = "The history is too long to be searched for merges";

/// Lists merge commits of the default branch that have a commit as an ancestor, oldest first.
pub(crate) async fn list(app: &App, repository: &OpenRepository, commit: ObjectId) -> Result<Vec<ObjectId>> {
    let Some(tip) = repository.refs.head_target().filter(|tip| *tip != commit) else { return Ok(Vec::new()) };
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let found = commits::list_merges_since(git, bare, commit, tip, MAX_MERGES).await;
    found.map_err(|error| explain_timeout(error, HISTORY_TOO_LONG))
}

/// Returns those of the merge commits of [`list`] that merged the commit into a branch which did not have it: their
/// first parent does not have it as an ancestor.
pub(crate) async fn find_introducing(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
    merges: Vec<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    let Some(tip) = repository.refs.head_target().filter(|_| !merges.is_empty()) else { return Ok(HashSet::new()) };
    let merges: Vec<(ObjectId, Option<ObjectId>)> = objects::read(app, repository, move |reader| {
        merges.into_iter().map(|merge| Ok((merge, reader.parents(merge)?.first().copied()))).collect()
    })
    .await?;
    let parents: HashSet<ObjectId> = merges.iter().filter_map(|(_, parent)| *parent).collect();
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let found = commits::find_descendants(git, bare, commit, tip, &parents).await;
    let containing = found.map_err(|error| explain_timeout(error, HISTORY_TOO_LONG))?;
    let has_commit = |parent: &ObjectId| *parent == commit || containing.contains(parent);
    let introducing = merges.into_iter().filter(|(_, parent)| !parent.as_ref().is_some_and(has_commit));
    Ok(introducing.map(|(merge, _)| merge).collect())
}
