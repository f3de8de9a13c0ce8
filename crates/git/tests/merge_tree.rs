//! Merges at which git itself fails, with each git program of this machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use holdfast_git::merge_tree::{Merge, merge_commits};
use holdfast_git::{BareRepository, Error, Git, ObjectId, Quarantine};

/// Two commits that each add a file to their parent, and a commit without a parent.
const HISTORY: &str = "commit refs/heads/base
mark :1
committer A <a> 1 +0000
data 0
M 100644 inline base
data 0
commit refs/heads/ours
mark :2
committer A <a> 2 +0000
data 0
from :1
M 100644 inline ours
data 0
commit refs/heads/theirs
mark :3
committer A <a> 3 +0000
data 0
from :1
M 100644 inline theirs
data 0
commit refs/heads/unrelated
mark :4
committer A <a> 4 +0000
data 0
M 100644 inline unrelated
data 0
";

fn git(directory: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    let command = command.arg("-C").arg(directory).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits of submodules that were moved such that an assertion of git fails: one out of a directory, the other one with
/// the directory.
const MOVED_SUBMODULES: &str = "commit refs/heads/base
mark :1
committer A <a> 1 +0000
data 0
M 160000 1111111111111111111111111111111111111111 old/directory/submodule
commit refs/heads/ours
mark :2
committer A <a> 2 +0000
data 0
from :1
D old
M 160000 1111111111111111111111111111111111111111 old/directory
commit refs/heads/theirs
mark :3
committer A <a> 3 +0000
data 0
from :1
D old
M 160000 1111111111111111111111111111111111111111 new/directory/submodule
";

/// Commits of which one adds a file where the other one adds a directory.
const FILE_AND_DIRECTORY: &str = "commit refs/heads/base
mark :1
committer A <a> 1 +0000
data 0
M 100644 inline base
data 0
commit refs/heads/ours
mark :2
committer A <a> 2 +0000
data 0
from :1
M 100644 inline name
data 0
commit refs/heads/theirs
mark :3
committer A <a> 3 +0000
data 0
from :1
M 100644 inline name/file
data 0
";

/// Returns the git programs of this machine.
fn programs() -> impl Iterator<Item = &'static Path> {
    ["/usr/bin/git", "/usr/local/bin/git"].map(Path::new).into_iter().filter(|path| path.exists())
}

/// A cache whose files are deleted while git runs is a repository that lacks an object.
#[tokio::test]
async fn a_merge_that_cannot_read_an_object_fails() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.git");
    let repository = BareRepository::create_or_open(path.clone()).unwrap();
    git(&path, &["fast-import", "--quiet"], HISTORY);
    let id = |revision: &str| git(&path, &["rev-parse", revision], "");
    let commit = |branch: &str| id(branch).parse::<ObjectId>().unwrap();
    let (ours, theirs, unrelated) = (commit("ours"), commit("theirs"), commit("unrelated"));
    let objects = ["base", "base^{tree}", "ours^{tree}", "theirs", "theirs^{tree}"].map(|name| (name, id(name)));

    for program in programs() {
        let merge = async |theirs| {
            let quarantine = Quarantine::new(directory.path(), Some(&repository)).unwrap();
            merge_commits(&Git::new(program, 1 << 30), &quarantine, ours, theirs).await
        };
        assert!(matches!(merge(theirs).await, Ok(Merge::Tree(_))), "{}", program.display());
        assert_eq!(merge(unrelated).await.unwrap(), Merge::Conflicts(Vec::new()));
        for (name, id) in &objects {
            let (fan_out, rest) = id.split_at(2);
            let (object, kept) = (path.join("objects").join(fan_out).join(rest), directory.path().join("kept"));
            std::fs::rename(&object, &kept).unwrap();
            let merged = merge(theirs).await;
            std::fs::rename(&kept, &object).unwrap();
            assert!(
                matches!(merged, Err(Error::CommandFailed { .. })),
                "{} without {name}: {merged:?}",
                program.display()
            );
        }
    }
}

/// Merges `theirs` into `ours` with each git program, and returns the conflicting paths of each.
async fn merge_history(history: &str) -> Vec<Vec<Vec<u8>>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.git");
    let repository = BareRepository::create_or_open(path.clone()).unwrap();
    git(&path, &["fast-import", "--quiet"], history);
    let commit = |branch: &str| git(&path, &["rev-parse", branch], "").parse::<ObjectId>().unwrap();
    let (ours, theirs) = (commit("ours"), commit("theirs"));
    let mut conflicts = Vec::new();
    for program in programs() {
        let quarantine = Quarantine::new(directory.path(), Some(&repository)).unwrap();
        let merged = merge_commits(&Git::new(program, 1 << 30), &quarantine, ours, theirs).await;
        let Ok(Merge::Conflicts(paths)) = merged else { panic!("{}: {merged:?}", program.display()) };
        conflicts.push(paths);
    }
    assert!(!conflicts.is_empty(), "no git program was found");
    conflicts
}

#[tokio::test]
async fn commits_at_which_an_assertion_of_git_fails_conflict() {
    merge_history(MOVED_SUBMODULES).await;
}

#[tokio::test]
async fn a_conflict_with_a_directory_has_the_path_of_the_file() {
    for paths in merge_history(FILE_AND_DIRECTORY).await {
        assert_eq!(paths, [b"name".to_vec()]);
    }
}
