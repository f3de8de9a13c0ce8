//! Compares the changed files of generated commits with the output of git.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use holdfast_git::reader::{ChangedPaths, Reader};
use holdfast_git::{BareRepository, ObjectId};
use proptest::prelude::*;

/// Paths that conflict with each other: a file in place of a directory, and the other way round.
const PATHS: [&str; 10] = ["a", "a/b", "a/b/c", "a.x", "a-", "b", "é/ü", "d/e/f/g", "d/e/h", "d.e"];
const MODES: [&str; 4] = ["100644", "100755", "120000", "160000"];

/// The index of a path, and the new mode and content of the file, or None to delete it.
type Change = (usize, Option<(usize, u8)>);

fn git(directory: &std::path::Path, arguments: &[&str], input: &str) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    assert!(output.status.success());
    output.stdout
}

/// Returns a stream for `git fast-import`. Every third commit is a merge with the one before the last.
fn history(commits: &[Vec<Change>]) -> String {
    let mut stream = String::new();
    for (number, changes) in commits.iter().enumerate() {
        let mark = number + 1;
        write!(stream, "commit refs/heads/main\nmark :{mark}\ncommitter A <a> 1 +0000\ndata 0\n").unwrap();
        if number > 0 {
            writeln!(stream, "from :{number}").unwrap();
        }
        if number % 3 == 2 {
            writeln!(stream, "merge :{}", number - 1).unwrap();
        }
        for (path, content) in changes {
            let path = PATHS[*path];
            match content {
                None => writeln!(stream, "D {path}").unwrap(),
                Some((3, content)) => writeln!(stream, "M 160000 {content:040x} {path}").unwrap(),
                Some((mode, content)) => {
                    writeln!(stream, "M {} inline {path}\ndata 1\n{content}", MODES[*mode]).unwrap()
                }
            }
        }
        stream.push('\n');
    }
    stream
}

fn paths_by_git(directory: &std::path::Path, id: ObjectId) -> ChangedPaths {
    let arguments =
        ["diff-tree", "--stdin", "-r", "--root", "--no-renames", "--name-status", "-z", "--diff-merges=first-parent"];
    let output = git(directory, &arguments, &format!("{id}\n"));
    let output = String::from_utf8(output).unwrap();
    let mut words = output.split_terminator('\0').skip(1);
    let mut found = ChangedPaths::default();
    while let (Some(letter), Some(path)) = (words.next(), words.next()) {
        let list = match letter {
            "A" => &mut found.added,
            "D" => &mut found.removed,
            _ => &mut found.modified,
        };
        list.push(path.to_owned());
    }
    for paths in [&mut found.added, &mut found.modified, &mut found.removed] {
        paths.sort_unstable();
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn changed_files_match_git(
        commits in prop::collection::vec(
            prop::collection::vec((0..PATHS.len(), prop::option::weighted(0.8, (0..MODES.len(), 1..9_u8))), 0..6),
            1..12,
        )
    ) {
        let directory = tempfile::tempdir().unwrap();
        let bare = BareRepository::create_or_open(directory.path().to_owned()).unwrap();
        git(directory.path(), &["fast-import", "--quiet"], &history(&commits));
        let ids = String::from_utf8(git(directory.path(), &["rev-list", "main"], "")).unwrap();
        let reader = Reader::open(&bare).unwrap();
        for id in ids.lines().map(|id| ObjectId::from_hex(id.as_bytes()).unwrap()) {
            prop_assert_eq!(reader.changed_paths(id, 1000).unwrap(), paths_by_git(directory.path(), id));
            let some = reader.changed_paths(id, 2).unwrap();
            prop_assert!(some.added.len() + some.modified.len() + some.removed.len() <= 2);
        }
    }
}

fn stdout_text(output: Vec<u8>) -> String {
    String::from_utf8(output).unwrap().trim().to_owned()
}

fn create_commit(directory: &std::path::Path, tree: &str) -> ObjectId {
    let who = ["-c", "user.name=A", "-c", "user.email=a"];
    let id = stdout_text(git(directory, &[&who[..], &["commit-tree", tree, "-m", "m"]].concat(), ""));
    ObjectId::from_hex(id.as_bytes()).unwrap()
}

/// An attacker pushes small trees that expand to more entries or longer paths than fit into memory.
#[test]
fn tree_bombs_are_bounded_in_time_and_memory() {
    let directory = tempfile::tempdir().unwrap();
    let bare = BareRepository::create_or_open(directory.path().to_owned()).unwrap();
    let tree = |entries: String| stdout_text(git(directory.path(), &["mktree"], &entries));
    let blob = stdout_text(git(directory.path(), &["hash-object", "-w", "--stdin"], ""));
    let reader = || Reader::open(&bare).unwrap();

    let mut bomb = tree(String::new());
    for _ in 0..12 {
        bomb = tree((0..10).map(|n| format!("040000 tree {bomb}\t{n}\n")).collect());
    }
    let id = create_commit(directory.path(), &bomb);
    assert_eq!(reader().changed_paths(id, 1000).unwrap(), ChangedPaths::default());

    let mut deep = tree((0..1000).map(|n| format!("100644 blob {blob}\t{n}\n")).collect());
    for _ in 0..300 {
        deep = tree(format!("040000 tree {deep}\t{}\n", "d".repeat(4000)));
    }
    let top = tree(format!("100644 blob {blob}\ta\n040000 tree {deep}\tdeep\n100644 blob {blob}\tz\n"));
    let id = create_commit(directory.path(), &top);
    let found = reader().changed_paths(id, 1000).unwrap();
    assert_eq!(found.added, ["a", "z"], "paths that are too long are left out");

    let long = "x".repeat(200);
    let wide = tree((0..5000).map(|n| format!("100644 blob {blob}\t{long}{n:04}\n")).collect());
    let found = reader().changed_paths(create_commit(directory.path(), &wide), 1000).unwrap();
    let bytes: usize = found.added.iter().map(String::len).sum();
    assert!((60_000..=65_536).contains(&bytes), "{bytes}");
}
