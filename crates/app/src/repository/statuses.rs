//! Where a commit is.

use holdfast_git::ObjectId;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_store::repository::snapshot::Listed;

use super::fetch::Opened;
use super::objects;
use crate::{App, Result};

/// As it is called without its directory, and whether it is a tag.
pub(crate) fn is_ref(opened: &Opened, name: &str) -> Option<(String, bool)> {
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    if opened.refs.find(&format!("refs/heads/{name}")).is_some() {
        return Some((name.to_owned(), false));
    }
    opened.refs.find(&format!("refs/tags/{name}")).map(|_| (name.to_owned(), true))
}

/// Of more branches than this nobody looks through all histories.
const BRANCHES: usize = 100;

/// The default branch before others.
pub(crate) async fn first_branch_with(app: &App, opened: &Opened, id: ObjectId) -> Result<Option<String>> {
    let head = opened.refs.head().strip_prefix("refs/heads/").map(str::to_owned);
    let default = head.and_then(|name| Some((name, opened.refs.head_target()?)));
    let listed = opened.refs.listed(Listed::Branches, 0..BRANCHES);
    let others = listed.into_iter().map(|(name, target)| (name.to_owned(), target.id));
    let branches: Vec<(String, ObjectId)> = default.into_iter().chain(others).collect();
    objects::read(app, opened, move |reader| {
        for (name, tip) in branches {
            if tip == id || reader.is_ancestor(id, tip)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    })
    .await
}
