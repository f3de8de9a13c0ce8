//! Resolves short names of refs, and finds branches that contain a commit.

use holdfast_git::ObjectId;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::repository::snapshot::RefKind;

use crate::repository::objects;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Result};

/// Resolves the name of a branch or a tag. Returns its short name, and whether it is a tag.
pub(crate) fn resolve_short_name(repository: &OpenRepository, name: &str) -> Option<(String, bool)> {
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    if repository.refs.find(&format!("refs/heads/{name}")).is_some() {
        return Some((name.to_owned(), false));
    }
    repository.refs.find(&format!("refs/tags/{name}")).map(|_| (name.to_owned(), true))
}

/// Maximum number of branches whose histories are searched.
const MAX_BRANCHES: usize = 100;

/// Returns a branch that contains a commit. The default branch is searched first.
pub(crate) async fn first_branch_containing(
    app: &App,
    repository: &OpenRepository,
    id: ObjectId,
) -> Result<Option<String>> {
    let head = repository.refs.head().strip_prefix("refs/heads/").map(str::to_owned);
    let default = head.and_then(|name| Some((name, repository.refs.head_target()?)));
    let listed = repository.refs.list(RefKind::Branches, 0..MAX_BRANCHES);
    let others = listed.into_iter().map(|(name, target)| (name.to_owned(), target.id));
    let branches: Vec<(String, ObjectId)> = default.into_iter().chain(others).collect();
    objects::read(app, repository, move |reader| {
        for (name, tip) in branches {
            if tip == id || reader.is_ancestor(id, tip)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    })
    .await
}
