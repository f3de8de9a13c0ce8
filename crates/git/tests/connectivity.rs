//! Compares the check of a push in this process with the definition of connectivity: every object that the new tip
//! needs was received, or is reachable from a known tip.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use holdfast_git::index_pack::IndexedPack;
use holdfast_git::reader::Reader;
use holdfast_git::{BareRepository, ObjectId, Quarantine};
use proptest::prelude::*;

const PATHS: [&str; 5] = ["a", "b", "d/a", "d/e/a", "d/e/b"];

/// A commit: its parents, and the files that it writes with a number as their content. The remainder of a number selects
/// one of the earlier commits, or one of the paths.
type NewCommit = (Vec<usize>, Vec<(usize, u8)>);

struct Repository {
    directory: tempfile::TempDir,
    bare: BareRepository,
    commits: Vec<ObjectId>,
}

fn git(directory: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    let command = command.arg("-C").arg(directory).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Repository {
    fn new(history: &[NewCommit]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bare = BareRepository::create_or_open(directory.path().to_owned()).unwrap();
        let mut stream = String::new();
        for (number, (parents, files)) in history.iter().enumerate() {
            let mark = number + 1;
            writeln!(stream, "reset refs/heads/none\ncommit refs/heads/none\nmark :{mark}").unwrap();
            writeln!(stream, "committer A <a> {number} +0000\ndata <<E\n{number}\nE").unwrap();
            let parents: BTreeSet<usize> = match number {
                0 => BTreeSet::new(),
                _ => parents.iter().map(|parent| parent % number + 1).collect(),
            };
            for (index, parent) in parents.iter().rev().enumerate() {
                writeln!(stream, "{} :{parent}", if index == 0 { "from" } else { "merge" }).unwrap();
            }
            for (path, content) in files {
                writeln!(stream, "M 100644 inline {}\ndata <<E\n{content}\nE", PATHS[path % PATHS.len()]).unwrap();
            }
        }
        git(directory.path(), &["fast-import", "--quiet", "--force", "--export-marks=marks"], &stream);
        let marks = std::fs::read_to_string(directory.path().join("marks")).unwrap();
        let mut commits: Vec<(usize, ObjectId)> = marks
            .lines()
            .map(|line| line[1..].split_once(' ').unwrap())
            .map(|(mark, id)| (mark.parse().unwrap(), ObjectId::from_hex(id.as_bytes()).unwrap()))
            .collect();
        commits.sort_unstable();
        Self { directory, bare, commits: commits.into_iter().map(|(_, id)| id).collect() }
    }

    fn reachable(&self, tip: ObjectId) -> BTreeSet<ObjectId> {
        let arguments = ["rev-list", "--objects", "--no-object-names", &tip.to_string()];
        let listed = git(self.directory.path(), &arguments, "");
        listed.lines().map(|line| ObjectId::from_hex(line.as_bytes()).unwrap()).collect()
    }

    /// Runs the check for a push of `new` with these objects. The repository has all objects, also unreachable ones.
    fn is_evidently_connected(&self, new: ObjectId, known: &[ObjectId], received: &BTreeSet<ObjectId>) -> bool {
        let quarantine = Quarantine::new(self.directory.path(), Some(&self.bare)).unwrap();
        let list: String = received.iter().map(|id| format!("{id}\n")).collect();
        let stem = quarantine.repository().pack_dir().join("pack");
        let arguments = ["pack-objects", "-q", stem.to_str().unwrap()];
        let checksum = git(self.directory.path(), &arguments, &list).trim().to_owned();
        let stem = quarantine.repository().pack_dir().join(format!("pack-{checksum}"));
        let received = IndexedPack::new(stem, checksum).received_objects().unwrap();
        let reader = Reader::open(quarantine.repository()).unwrap();
        reader.is_evidently_connected(&[new], known, &received).unwrap_or(false)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_evident_is_true(
        history in prop::collection::vec(
            (
                prop::collection::vec(0..100_usize, 0..3),
                prop::collection::vec((0..100_usize, 0..3_u8), 0..4),
            ),
            2..8,
        ),
        known in 0..100_usize,
        omitted in prop::collection::vec(0..100_usize, 0..3),
    ) {
        let repository = Repository::new(&history);
        let new = *repository.commits.last().unwrap();
        let known = repository.commits[known % (repository.commits.len() - 1)];
        let (needed, old) = (repository.reachable(new), repository.reachable(known));
        let missing: Vec<ObjectId> = needed.difference(&old).copied().collect();
        let omitted: BTreeSet<ObjectId> = omitted.iter().map(|number| missing[number % missing.len()]).collect();
        let received: BTreeSet<ObjectId> = missing.into_iter().filter(|id| !omitted.contains(id)).collect();
        let is_evident = repository.is_evidently_connected(new, &[known], &received);
        prop_assert!(!is_evident || omitted.is_empty(), "objects are neither received nor reachable: {omitted:?}");
    }
}

/// The usual pushes are recognized, so that git need not check them.
#[test]
fn usual_pushes_are_evident() {
    let history =
        [(vec![], vec![(0, 0), (2, 0), (3, 0), (4, 1)]), (vec![0], vec![(3, 1)]), (vec![1], vec![(0, 2), (1, 2)])];
    let repository = Repository::new(&history);
    let [first, second, third] = repository.commits[..] else { unreachable!() };
    for (new, known) in [(first, None), (second, Some(first)), (third, Some(second)), (third, Some(first))] {
        let old = known.map(|known| repository.reachable(known)).unwrap_or_default();
        let received: BTreeSet<ObjectId> = repository.reachable(new).difference(&old).copied().collect();
        let known: Vec<ObjectId> = known.into_iter().collect();
        assert!(repository.is_evidently_connected(new, &known, &received), "{new} after {known:?}");
        for left_out in &received {
            let rest: BTreeSet<ObjectId> = received.iter().filter(|id| *id != left_out).copied().collect();
            assert!(!repository.is_evidently_connected(new, &known, &rest), "{new} without {left_out}");
        }
    }
}
