//! A work tree of the local repository, in which git makes the commits that the server makes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holdfast_tests::git_program;
use tokio::process::Command;

use crate::local::run;
use crate::pair::{Pair, lossy};

/// The file of git whose assertions fail for some merges.
const MERGE_SOURCE_FILE: &str = "merge-ort.c:";

/// A work tree of the local repository.
pub struct WorkTree {
    bare: PathBuf,
    pub directory: tempfile::TempDir,
}

impl WorkTree {
    pub async fn new(pair: &Pair, commit: &str) -> Self {
        let bare = PathBuf::from(lossy(&pair.local.git(["rev-parse", "--absolute-git-dir"]).await).trim_end());
        let tree = Self { bare, directory: tempfile::tempdir().unwrap() };
        // A file that was committed with other line ends than its attributes say is always modified, and git would not merge.
        std::fs::create_dir_all(tree.bare.join("info")).unwrap();
        std::fs::write(tree.bare.join("info/attributes"), "* -text\n").unwrap();
        tree.git(&["worktree", "add", "-q", "-f", "--detach", &tree.path().to_string_lossy(), commit]).await.unwrap();
        tree
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    pub fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(git_program());
        command
            .current_dir(directory)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.directory.path())
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "c")
            .env("GIT_COMMITTER_EMAIL", "c@example.com")
            .args(arguments);
        command
    }

    /// Runs git in the repository.
    pub async fn git(&self, arguments: &[&str]) -> Result<String, String> {
        run(self.command(&self.bare, arguments), Vec::new()).await.map(|output| lossy(&output).trim_end().to_owned())
    }

    /// Runs git in the work tree.
    pub async fn in_tree(&self, arguments: &[&str]) -> Result<String, String> {
        run(self.command(&self.path(), arguments), Vec::new()).await.map(|output| lossy(&output).trim_end().to_owned())
    }

    /// Checks out a commit.
    async fn reset(&self, commit: &str) {
        // An assertion of git leaves the lock behind.
        let lock = self.in_tree(&["rev-parse", "--path-format=absolute", "--git-path", "index.lock"]).await.unwrap();
        let _ = std::fs::remove_file(lock);
        self.in_tree(&["reset", "-q", "--hard", commit]).await.unwrap();
        self.in_tree(&["clean", "-qfdx"]).await.unwrap();
    }

    /// Returns the tree that `git cherry-pick` makes, or `None` if it makes no commit.
    pub async fn cherry_pick(&self, tip: &str, picked: &str, is_merge: bool) -> Option<String> {
        self.reset(tip).await;
        let mainline: &[&str] = if is_merge { &["-m", "1"] } else { &[] };
        let done = self.in_tree(&[&["cherry-pick"], mainline, &[picked]].concat()).await;
        if done.is_err() {
            self.in_tree(&["cherry-pick", "--quit"]).await.unwrap();
            return None;
        }
        Some(self.in_tree(&["rev-parse", "HEAD^{tree}"]).await.unwrap())
    }

    /// Merges a commit into another one as `git merge --no-ff` does.
    pub async fn merge(&self, tip: &str, merged: &str) -> GitMerge {
        self.reset(tip).await;
        let done = self.in_tree(&["merge", "--no-ff", "-q", "-m", "Merge", merged]).await;
        if let Err(error) = done {
            if error.contains(MERGE_SOURCE_FILE) {
                return GitMerge::Conflict(self.find_conflicts_without_checkout(tip, merged).await);
            }
            let is_unrelated = error.contains("refusing to merge unrelated histories");
            let unmerged = self.in_tree(&["ls-files", "-u", "-z"]).await.unwrap();
            // Some conflicts between renames of directories are about no path of the index.
            let is_conflict = !unmerged.is_empty() || error.ends_with("exit status: 1: ");
            assert!(is_unrelated || is_conflict, "git merge failed without a conflict: {error}");
            self.in_tree(&["merge", "--quit"]).await.unwrap();
            let paths = unmerged.split('\0').filter_map(|entry| entry.split_once('\t'));
            return GitMerge::Conflict(paths.map(|(_, path)| plain_path(path)).collect());
        }
        let head = self.in_tree(&["rev-parse", "HEAD"]).await.unwrap();
        if head == tip {
            return GitMerge::UpToDate;
        }
        GitMerge::Commit(self.read_facts(&head).await)
    }

    /// Returns the conflicting paths of a merge that git could not check out: for some conflicts between files and
    /// directories `git merge` stops with an assertion of its own (2.47), while `git merge-tree` lists them. For others it
    /// stops with an assertion as well.
    async fn find_conflicts_without_checkout(&self, tip: &str, merged: &str) -> BTreeSet<String> {
        let arguments = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, merged];
        let output = self.command(&self.bare, &arguments).output().await.unwrap();
        if lossy(&output.stderr).contains(MERGE_SOURCE_FILE) {
            return BTreeSet::new();
        }
        assert_eq!(output.status.code(), Some(1), "{}", lossy(&output.stderr));
        let listed = lossy(&output.stdout);
        listed.split('\0').skip(1).filter(|path| !path.is_empty()).map(plain_path).collect()
    }

    /// Returns the tree and the parents of a commit.
    pub async fn read_facts(&self, commit: &str) -> CommitFacts {
        let shown = self.git(&["show", "-s", "--format=%T %P", commit]).await.unwrap();
        let mut ids = shown.split(' ').map(str::to_owned);
        CommitFacts { tree: ids.next().unwrap(), parents: ids.collect() }
    }
}

/// Returns the path of a conflict. Git appends the name of a branch to the path of a file that is a directory on the other
/// side, and in a work tree this name is another one.
pub fn plain_path(path: &str) -> String {
    path.split_once('~').map_or(path, |(plain, _)| plain).to_owned()
}

/// What `git merge --no-ff` does.
pub enum GitMerge {
    Commit(CommitFacts),
    /// The conflicting paths.
    Conflict(BTreeSet<String>),
    /// The commit is already an ancestor.
    UpToDate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFacts {
    pub tree: String,
    pub parents: Vec<String>,
}
