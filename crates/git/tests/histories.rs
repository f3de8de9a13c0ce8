//! Tests walks through histories with wrong commit dates. Only the parents determine the ancestry.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use holdfast_git::reader::Reader;
use holdfast_git::{BareRepository, Git, ObjectId, merge_base};
use proptest::prelude::*;

/// The commits of a history: the time of each, and the indexes of its parents.
type History = Vec<(u32, Vec<usize>)>;

fn create_repository(history: &History) -> (tempfile::TempDir, BareRepository, Vec<ObjectId>) {
    let directory = tempfile::tempdir().unwrap();
    let bare = BareRepository::create_or_open(directory.path().to_owned()).unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(directory.path()).args(arguments);
        command
    };
    let mut stream = String::new();
    for (number, (time, parents)) in history.iter().enumerate() {
        let mark = number + 1;
        write!(stream, "reset refs/heads/none\ncommit refs/heads/none\nmark :{mark}\ncommitter A <a> {time} +0000\n")
            .unwrap();
        write!(stream, "data <<E\n{number}\nE\n").unwrap();
        for (index, parent) in parents.iter().enumerate() {
            writeln!(stream, "{} :{}", if index == 0 { "from" } else { "merge" }, parent + 1).unwrap();
        }
    }
    let mut child =
        git(&["fast-import", "--quiet", "--force", "--export-marks=marks"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let marks = std::fs::read_to_string(directory.path().join("marks")).unwrap();
    let mut ids: Vec<(usize, ObjectId)> = marks
        .lines()
        .map(|line| line[1..].split_once(' ').unwrap())
        .map(|(mark, id)| (mark.parse().unwrap(), ObjectId::from_hex(id.as_bytes()).unwrap()))
        .collect();
    ids.sort_unstable();
    (directory, bare, ids.into_iter().map(|(_, id)| id).collect())
}

fn ancestors_of(history: &History, number: usize) -> BTreeSet<usize> {
    let mut ancestors = BTreeSet::from([number]);
    for parent in &history[number].1 {
        ancestors.extend(ancestors_of(history, *parent));
    }
    ancestors
}

fn check(history: &History) {
    let (_directory, bare, ids) = create_repository(history);
    let reader = Reader::open(&bare).unwrap();
    for one in 0..ids.len() {
        for other in 0..ids.len() {
            let (of_one, of_other) = (ancestors_of(history, one), ancestors_of(history, other));
            assert_eq!(reader.is_ancestor(ids[one], ids[other]).unwrap(), of_other.contains(&one), "{one} {other}");
            let expected: BTreeSet<ObjectId> = of_other.difference(&of_one).map(|number| ids[*number]).collect();
            let found = reader.commits_excluding(&[ids[one]], ids[other]).unwrap();
            assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), expected, "{one}..{other}");
            assert_eq!(found.len(), expected.len(), "each of them once");
        }
    }
}

fn histories() -> impl Strategy<Value = History> {
    let commit = (0..40_u32, prop::collection::vec(any::<prop::sample::Index>(), 0..4));
    prop::collection::vec(commit, 1..10).prop_map(|commits| {
        let parents = |number: usize, picked: Vec<prop::sample::Index>| -> Vec<usize> {
            if number == 0 {
                return Vec::new();
            }
            let parents: BTreeSet<usize> = picked.iter().map(|pick| pick.index(number)).collect();
            parents.into_iter().rev().collect()
        };
        commits.into_iter().enumerate().map(|(number, (time, picked))| (time, parents(number, picked))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn ancestry_does_not_depend_on_timestamps(history in histories()) {
        check(&history);
    }
}

/// Regression test for histories in which a walk that ended too early took a fast-forward for a forced update, and an
/// existing commit for a new one.
#[test]
fn ancestry_is_correct_with_decreasing_timestamps() {
    let goes_on = vec![(20, vec![]), (1, vec![]), (100, vec![1, 0]), (200, vec![2]), (5, vec![3]), (30, vec![4, 0])];
    let known = vec![(1000, vec![]), (10, vec![0]), (2000, vec![1]), (3000, vec![2, 0])];
    let mut long = vec![(1000, vec![])];
    long.extend((0..7).map(|n| (11 + n, vec![n as usize])));
    long.push((2000, vec![7, 0]));
    for history in [goes_on, known, long] {
        check(&history);
    }
}

/// Behind six hundred commits with the same date, the fast walk is wrong and the exact one is not.
#[test]
fn ancestry_is_exact_behind_many_equal_timestamps() {
    let mut history: History = vec![(1000, vec![])];
    history.extend((0..600).map(|n| (10, vec![n])));
    history.push((1500, vec![600]));
    history.push((2000, vec![0]));
    let (_directory, bare, ids) = create_repository(&history);
    let reader = Reader::open(&bare).unwrap();
    let (old, new) = (ids[601], ids[602]);
    assert_eq!(reader.commits_excluding_exact(&[old], new).unwrap(), [new]);
    assert_eq!(reader.commits_excluding(&[old], new).unwrap(), [new, ids[0]]);
}

#[tokio::test]
async fn merge_base_is_found() {
    let (_directory, bare, ids) =
        create_repository(&vec![(1, vec![]), (2, vec![0]), (3, vec![0]), (4, vec![]), (5, vec![1])]);
    let git = Git::new(Path::new("git"), 1 << 30);
    let base = async |one: usize, other: usize| merge_base::find(&git, &bare, ids[one], ids[other]).await;
    assert_eq!(base(1, 2).await.unwrap(), Some(ids[0]));
    assert_eq!(base(1, 4).await.unwrap(), Some(ids[1]));
    assert_eq!(base(1, 3).await.unwrap(), None, "nothing in common");
    let missing = ObjectId::from_hex(&[b'1'; 40]).unwrap();
    assert!(merge_base::find(&git, &bare, ids[0], missing).await.is_err());
}
