//! Compares two versions of a series of commits, such as a branch before and after a forced push.

use holdfast_domain::policy::ProjectAction;
pub use holdfast_git::ObjectId;
use holdfast_git::commits::{self, CommitQuery};
pub use holdfast_git::range_diff::CommitPair;
use holdfast_git::range_diff::{self, CommitRange};
use holdfast_store::projects::project::{Project, ProjectRef};

use super::changes::{TIMED_OUT, explain_timeout};
use super::commit::{self, Commit};
use super::revision;
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

/// Two ranges of commits, as the address of a page names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedRanges {
    pub old: RangeText,
    pub new: RangeText,
}

/// The revisions of a range: the commits of `tip` that `base` does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeText {
    pub base: String,
    pub tip: String,
}

impl ComparedRanges {
    /// Splits the end of a page's address: `A..B...C..D`, or `B...D` for the commits that only one of both has. Returns
    /// None if it is neither.
    pub fn parse(address: &str) -> Option<Self> {
        let (old, new) = address.split_once("...")?;
        let range = |base: &str, tip: &str| RangeText { base: base.to_owned(), tip: tip.to_owned() };
        let is_valid = |text: &str| !text.is_empty() && !text.contains("..");
        match (old.split_once(".."), new.split_once("..")) {
            (Some((old_base, old)), Some((new_base, new)))
                if [old_base, old, new_base, new].into_iter().all(is_valid) =>
            {
                Some(Self { old: range(old_base, old), new: range(new_base, new) })
            }
            (None, None) if is_valid(old) && is_valid(new) => Some(Self { old: range(new, old), new: range(old, new) }),
            _ => None,
        }
    }
}

/// The pairs of commits of two versions.
#[derive(Clone, Debug)]
pub struct RangeDiff {
    pub project: Project,
    /// Whether refs reach the old and the new version, so that their commits have pages.
    pub is_old_reachable: bool,
    pub is_new_reachable: bool,
    pub pairs: RangePairs,
}

#[derive(Clone, Debug)]
pub enum RangePairs {
    Found(Vec<CommitPair>),
    /// One of the versions has more commits than are compared.
    TooMany,
}

/// Maximum number of commits of one version. The time that git takes grows with the square of this number.
pub const MAX_COMMITS: usize = 200;
/// Maximum number of lines of all diffs.
const MAX_LINES: u64 = 3_000;

/// Pairs the commits of two versions. `update` is the generation of a ref update whose values can be compared even if no
/// ref reaches them, by those who may read the ref log.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    ranges: Option<&ComparedRanges>,
    update: Option<i64>,
) -> Result<RangeDiff> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let ranges = ranges.ok_or(Error::NotFound(Resource::Commit))?;
    let resolve = async |text: &str| {
        let found = revision::resolve_or_retained(app, actor, &repository, text, update).await?;
        found.ok_or(Error::NotFound(Resource::Commit))
    };
    let (old_tip, new_tip) = (resolve(&ranges.old.tip).await?, resolve(&ranges.new.tip).await?);
    let old = CommitRange { base: resolve(&ranges.old.base).await?.id, tip: old_tip.id };
    let new = CommitRange { base: resolve(&ranges.new.base).await?.id, tip: new_tip.id };
    let found = |project, pairs| RangeDiff {
        project,
        is_old_reachable: old_tip.is_reachable,
        is_new_reachable: new_tip.is_reachable,
        pairs,
    };
    let pairs = pair_commits(app, &repository, old, new).await?;
    Ok(found(repository.project, pairs))
}

/// Pairs the commits of two ranges.
pub(crate) async fn pair_commits(
    app: &App,
    repository: &OpenRepository,
    old: CommitRange,
    new: CommitRange,
) -> Result<RangePairs> {
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let explain = |error| explain_timeout(error, TIMED_OUT);
    let list = async |range: CommitRange| {
        let query = CommitQuery { excluded: Some(range.base), ..CommitQuery::new(range.tip) };
        commits::list(git, bare, query, MAX_COMMITS + 1).await.map_err(explain)
    };
    let (old_ids, new_ids) = (list(old).await?, list(new).await?);
    if old_ids.len().max(new_ids.len()) > MAX_COMMITS {
        return Ok(RangePairs::TooMany);
    }
    let pairs = if old_ids.is_empty() || new_ids.is_empty() {
        list_unpaired(app, repository, &old_ids, &new_ids).await?
    } else {
        range_diff::range_diff(git, bare, old, new, MAX_LINES).await.map_err(explain)?
    };
    Ok(RangePairs::Found(pairs))
}

/// Lists the commits of two versions of which one has no commits, oldest first. Git accepts no range whose ends are the
/// same commit.
async fn list_unpaired(
    app: &App,
    repository: &OpenRepository,
    old: &[ObjectId],
    new: &[ObjectId],
) -> Result<Vec<CommitPair>> {
    let listed = commit::load_listed(app, repository, old.iter().chain(new).copied().collect()).await?;
    let pair = |commit: Commit| {
        let is_new = old.is_empty();
        CommitPair {
            old: (!is_new).then_some(commit.id),
            new: is_new.then_some(commit.id),
            is_same: false,
            title: commit.message.lines().next().unwrap_or_default().to_owned(),
            text: Vec::new(),
            lines: 0,
        }
    };
    Ok(listed.into_iter().rev().filter(|commit| commit.parents.len() < 2).map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_two_ranges() {
        let texts = |address| {
            ComparedRanges::parse(address).map(|found| [found.old.base, found.old.tip, found.new.base, found.new.tip])
        };
        assert_eq!(texts("a..b...c/d..e"), Some(["a", "b", "c/d", "e"].map(str::to_owned)));
        assert_eq!(texts("old...new"), Some(["new", "old", "old", "new"].map(str::to_owned)));
        for address in ["a..b", "a..b...c", "a...b..c", "..b...c..d", "a..b...c..d..e", "...b"] {
            assert_eq!(texts(address), None, "{address}");
        }
    }
}
