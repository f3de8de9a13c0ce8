//! Presents comparisons of two versions of a series of commits.

use holdfast_app::merge_requests::version::VersionRangeDiff;
use holdfast_app::repository::browse::range_diff::{CommitPair, RangePairs};
use serde::Serialize;
use utoipa::ToSchema;

/// The commits of two versions of a merge request, in pairs.
#[derive(Serialize, ToSchema)]
pub struct RangeDiffBody {
    pub from_version_id: i64,
    pub to_version_id: i64,
    /// Whether one of the versions has too many commits to be compared. There are no pairs then.
    pub too_many_commits: bool,
    pub pairs: Vec<CommitPairBody>,
}

/// A commit of one version and the similar one of the other.
#[derive(Serialize, ToSchema)]
pub struct CommitPairBody {
    /// `unchanged`, `changed`, `added` or `removed`.
    pub status: &'static str,
    /// Null if the commit was added.
    pub old_commit_sha: Option<String>,
    /// Null if the commit was removed.
    pub new_commit_sha: Option<String>,
    pub title: String,
    /// Difference between the diffs of both commits, as `git range-diff` writes it. Empty unless both exist and differ.
    pub diff: String,
    /// Whether `diff` is cut.
    pub too_large: bool,
}

pub fn present_range_diff(found: VersionRangeDiff) -> RangeDiffBody {
    let (too_many_commits, pairs) = match found.pairs {
        RangePairs::Found(pairs) => (false, pairs),
        RangePairs::TooMany => (true, Vec::new()),
    };
    RangeDiffBody {
        from_version_id: found.old.id.get(),
        to_version_id: found.new.id.get(),
        too_many_commits,
        pairs: pairs.into_iter().map(present_pair).collect(),
    }
}

fn present_pair(pair: CommitPair) -> CommitPairBody {
    let status = match (pair.old, pair.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ if pair.is_same => "unchanged",
        _ => "changed",
    };
    let kept = pair.text.iter().filter(|byte| **byte == b'\n').count() as u64;
    CommitPairBody {
        status,
        old_commit_sha: pair.old.map(|id| id.to_string()),
        new_commit_sha: pair.new.map(|id| id.to_string()),
        title: pair.title,
        diff: String::from_utf8_lossy(&pair.text).into_owned(),
        too_large: kept < pair.lines,
    }
}
