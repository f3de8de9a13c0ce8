//! Compares the last commits of entries with those that `git log` finds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_git::reader::{LastCommits, Reader};
use holdfast_git::{BareRepository, ObjectId};
use proptest::prelude::*;

const FILES: [&str; 4] = ["top", "d/a", "d/b", "d/e/c"];

/// A commit: its time, the indexes of its parents, and a change of each file, to a content or to nothing.
type History = Vec<(u32, Vec<usize>, Vec<Option<u8>>)>;

fn git(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments);
    command
}

fn create_repository(history: &History) -> (tempfile::TempDir, BareRepository) {
    let directory = tempfile::tempdir().unwrap();
    let bare = BareRepository::create_or_open(directory.path().to_owned()).unwrap();
    let mut stream = String::new();
    for (number, (time, parents, contents)) in history.iter().enumerate() {
        write!(stream, "reset refs/heads/main\ncommit refs/heads/main\nmark :{}\n", number + 1).unwrap();
        write!(stream, "committer A <a> {time} +0000\ndata <<E\n{number}\nE\n").unwrap();
        for (index, parent) in parents.iter().enumerate() {
            writeln!(stream, "{} :{}", if index == 0 { "from" } else { "merge" }, parent + 1).unwrap();
        }
        stream.push_str("deleteall\n");
        for (file, content) in FILES.iter().zip(contents) {
            if let Some(content) = content {
                write!(stream, "M 100644 inline {file}\ndata <<E\n{content}\nE\n").unwrap();
            }
        }
    }
    let mut child =
        git(directory.path(), &["fast-import", "--quiet", "--force"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    (directory, bare)
}

fn run(directory: &Path, arguments: &[&str]) -> String {
    let output = git(directory, arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn check(history: &History) {
    let (directory, bare) = create_repository(history);
    let reader = Reader::open(&bare).unwrap();
    let head = ObjectId::from_hex(run(directory.path(), &["rev-parse", "main"]).as_bytes()).unwrap();
    for path in ["", "d", "d/e"] {
        let last = reader.last_commits(head, path.as_bytes(), None, Instant::now() + Duration::from_secs(60)).unwrap();
        assert!(last.is_complete);
        let tree = if path.is_empty() { "main:".to_owned() } else { format!("main:{path}") };
        let exists =
            git(directory.path(), &["cat-file", "-e", &tree]).stderr(Stdio::null()).status().unwrap().success();
        let listed = if exists { run(directory.path(), &["ls-tree", "--name-only", &tree]) } else { String::new() };
        let expected: BTreeSet<(String, String)> = listed
            .lines()
            .map(|name| {
                let entry = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
                (name.to_owned(), run(directory.path(), &["log", "-1", "--format=%H", "main", "--", &entry]))
            })
            .collect();
        let found: BTreeSet<(String, String)> =
            last.found.iter().map(|(name, id)| (String::from_utf8(name.clone()).unwrap(), id.to_string())).collect();
        assert_eq!(found, expected, "{path:?}");
        for (name, id) in &found {
            let only = Some(name.as_bytes());
            let one =
                reader.last_commits(head, path.as_bytes(), only, Instant::now() + Duration::from_secs(60)).unwrap();
            assert_eq!(one.found.iter().map(|(_, id)| id.to_string()).collect::<Vec<_>>(), std::slice::from_ref(id));
        }
    }
}

fn histories() -> impl Strategy<Value = History> {
    let parents = prop::collection::vec(any::<prop::sample::Index>(), 1..3);
    let contents = prop::collection::vec(prop::option::weighted(0.8, 0..3_u8), FILES.len());
    prop::collection::vec((0..40_u32, parents, contents), 1..9).prop_map(|commits| {
        let parents = |number: usize, picked: Vec<prop::sample::Index>| -> Vec<usize> {
            if number == 0 {
                return Vec::new();
            }
            let parents: BTreeSet<usize> = picked.iter().map(|pick| pick.index(number)).collect();
            parents.into_iter().rev().collect()
        };
        let numbered = commits.into_iter().enumerate();
        numbered.map(|(number, (time, picked, contents))| (time, parents(number, picked), contents)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn last_commits_are_those_of_git_log(history in histories()) {
        check(&history);
    }
}

#[test]
fn a_search_ends_when_its_time_is_over() {
    let (directory, bare) = create_repository(&vec![(1, Vec::new(), vec![Some(1); FILES.len()])]);
    let head = ObjectId::from_hex(run(directory.path(), &["rev-parse", "main"]).as_bytes()).unwrap();
    let last = Reader::open(&bare).unwrap().last_commits(head, b"", None, Instant::now()).unwrap();
    assert_eq!(last, LastCommits { found: Vec::new(), is_complete: false });
}
