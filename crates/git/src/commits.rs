//! Lists commits with `git rev-list`, where a list excludes commits, is limited to a path, or begins in its middle.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;

use crate::{BareRepository, Git, Result, TreePath, rev_list};

/// The commits of a list: a commit and its ancestors, newest first.
#[derive(Clone, Copy, Debug)]
pub struct CommitQuery<'a> {
    pub tip: ObjectId,
    /// A commit that is left out, with its ancestors.
    pub excluded: Option<ObjectId>,
    /// Only commits that changed this path are listed.
    pub path: Option<&'a TreePath>,
    /// Only commits that follow this one in the list are returned.
    pub after: Option<ObjectId>,
    /// The number of commits at the beginning of the list that are left out.
    pub skip: u64,
    /// Only commits since this time are listed, in seconds since 1970.
    pub since: Option<u64>,
    /// Only commits until this time are listed, in seconds since 1970.
    pub until: Option<u64>,
}

impl CommitQuery<'_> {
    /// Creates a query for a commit and all its ancestors.
    pub const fn new(tip: ObjectId) -> Self {
        Self { tip, excluded: None, path: None, after: None, skip: 0, since: None, until: None }
    }
}

/// Maximum time of a list. A path that never changed costs a walk over the whole history.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// Lists commits, at most `max_commits`. Returns none if the list does not contain the commit that it should follow.
pub async fn list(
    git: &Git,
    repository: &BareRepository,
    query: CommitQuery<'_>,
    max_commits: usize,
) -> Result<Vec<ObjectId>> {
    let mut command = git.command(repository, "rev-list");
    let limits = [("--max-age", query.since), ("--min-age", query.until), ("--skip", Some(query.skip))];
    for (name, value) in limits {
        if let Some(value) = value.filter(|value| *value > 0) {
            command = command.arg_number(name, value);
        }
    }
    let command = match query.excluded {
        Some(excluded) => command.arg_range(excluded, query.tip),
        None => command.arg_oid(query.tip),
    };
    let command = match query.path {
        Some(path) => command.arg_tree_path(path),
        None => command.arg("--"),
    };
    let mut found = Vec::new();
    let mut is_started = query.after.is_none();
    let visit = |id: ObjectId| {
        if is_started {
            found.push(id);
        }
        is_started = is_started || Some(id) == query.after;
        if found.len() < max_commits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    rev_list::for_each_oid(command, String::new(), LIST_TIMEOUT, visit).await?;
    Ok(found)
}

/// Lists the merge commits between a commit and a tip that have the commit as an ancestor, oldest first, at most
/// `max_commits`. There are none if the tip does not have it as an ancestor.
pub async fn list_merges_since(
    git: &Git,
    repository: &BareRepository,
    commit: ObjectId,
    tip: ObjectId,
    max_commits: usize,
) -> Result<Vec<ObjectId>> {
    let command = git.command(repository, "rev-list").args(["--ancestry-path", "--merges", "--reverse"]);
    let mut found = Vec::new();
    let visit = |id: ObjectId| {
        found.push(id);
        if found.len() < max_commits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let command = command.arg_range(commit, tip).arg("--");
    rev_list::for_each_oid(command, String::new(), LIST_TIMEOUT, visit).await?;
    Ok(found)
}

/// Returns those of `wanted` that have a commit as an ancestor. The tip must have all of `wanted` as ancestors.
pub async fn find_descendants(
    git: &Git,
    repository: &BareRepository,
    commit: ObjectId,
    tip: ObjectId,
    wanted: &HashSet<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    let command = git.command(repository, "rev-list").arg("--ancestry-path").arg_range(commit, tip).arg("--");
    let mut found = HashSet::new();
    let visit = |id: ObjectId| {
        if wanted.contains(&id) {
            found.insert(id);
        }
        if found.len() < wanted.len() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    rev_list::for_each_oid(command, String::new(), LIST_TIMEOUT, visit).await?;
    Ok(found)
}
