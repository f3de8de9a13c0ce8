//! Merges trees with `git merge-tree`, without a work tree, in a quarantine.

use std::collections::BTreeSet;
use std::time::Duration;

use gix::ObjectId;

use crate::new_commit::NewCommit;
use crate::process::MERGE_SOURCE_FILE;
use crate::reader::{Reader, Signature};
use crate::{Error, Git, Quarantine, Result};

/// Maximum time of a merge. Renames in very large trees take the longest.
const MERGE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of the list of conflicting paths.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The id of the merged tree, whose objects are in the quarantine.
    Tree(ObjectId),
    /// The paths that git cannot merge, in the order of their bytes. Empty if the commits have no common ancestor, if a
    /// conflict is about no path of the index, or if git stops with a failed assertion. The latter two happen for some
    /// renames, whichever the version of git.
    Conflicts(Vec<Vec<u8>>),
}

/// Merges two commits, as `git merge` does.
pub async fn merge_commits(git: &Git, quarantine: &Quarantine, ours: ObjectId, theirs: ObjectId) -> Result<Merge> {
    let objects = quarantine.repository().directory().join("objects");
    let command = git
        .command(quarantine.repository(), "merge-tree")
        .allow_write(&objects)
        .args(["--write-tree", "-z", "--name-only", "--no-messages"])
        .arg_oid(ours)
        .arg_oid(theirs);
    let merged = command.run_with_status(b"", MAX_OUTPUT_BYTES, MERGE_TIMEOUT).await;
    let (is_clean, output) = match merged {
        // Commits without a common ancestor are not merged.
        Err(Error::CommandFailed { detail, .. }) if detail.contains("unrelated histories") => {
            return Ok(Merge::Conflicts(Vec::new()));
        }
        Err(Error::CommandFailed { detail, .. }) if detail.contains(MERGE_SOURCE_FILE) => {
            tracing::warn!(%ours, %theirs, detail, "git cannot merge two commits, so they conflict");
            return Ok(Merge::Conflicts(Vec::new()));
        }
        merged => merged?,
    };
    let mut parts = output.split(|byte| *byte == 0);
    let tree = ObjectId::from_hex(parts.next().unwrap_or_default());
    let tree = tree.map_err(|_| Error::unexpected_output("merge-tree", "it did not print the id of a tree"))?;
    if is_clean {
        return Ok(Merge::Tree(tree));
    }
    let paths = parts.filter(|path| !path.is_empty()).map(|path| original_path(path, &[ours, theirs]));
    let paths: BTreeSet<&[u8]> = paths.collect();
    Ok(Merge::Conflicts(paths.into_iter().map(<[u8]>::to_vec).collect()))
}

/// Returns the path that a conflicting file has in the commits. If it is a directory on the other side, git adds `~`, the
/// id of the commit that has the file and, if there is such a file as well, `_` and a number.
fn original_path<'a>(path: &'a [u8], commits: &[ObjectId; 2]) -> &'a [u8] {
    let Some(tilde) = path.iter().rposition(|byte| *byte == b'~') else { return path };
    let suffix = &path[tilde + 1..];
    let is_added = commits.iter().any(|id| match suffix.strip_prefix(id.to_string().as_bytes()) {
        Some([]) => true,
        Some([b'_', number @ ..]) => number.iter().all(u8::is_ascii_digit),
        _ => false,
    });
    if is_added { &path[..tilde] } else { path }
}

/// Applies the changes between two trees to a third one, as `git cherry-pick` does.
pub async fn apply_changes(
    git: &Git,
    quarantine: &Quarantine,
    from: ObjectId,
    to: ObjectId,
    target: ObjectId,
) -> Result<Merge> {
    // git before 2.40 has no option for the base of a merge. These commits have it as their only common ancestor.
    let repository = quarantine.repository().clone();
    let write = move || {
        let reader = Reader::open(&repository)?;
        let base = anonymous_commit(from, Vec::new()).write(&reader)?;
        let [ours, theirs] = [target, to].map(|tree| anonymous_commit(tree, vec![base]).write(&reader));
        Ok::<_, Error>((ours?, theirs?))
    };
    let written = tokio::task::spawn_blocking(write).await;
    let (ours, theirs) = written.map_err(|panicked| Error::protocol(panicked.to_string()))??;
    merge_commits(git, quarantine, ours, theirs).await
}

/// Returns a commit that no ref will reach.
fn anonymous_commit(tree: ObjectId, parents: Vec<ObjectId>) -> NewCommit {
    let nobody = Signature { name: String::new(), email: String::new(), seconds: 0, offset_seconds: 0 };
    NewCommit { tree, parents, author: nobody.clone(), committer: nobody, message: String::new() }
}
