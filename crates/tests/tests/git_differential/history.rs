//! A random history of commits, branches and tags, written as a `git fast-import` stream.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use holdfast_tests::SeededRng;

use crate::files::{Entry, Files};
use crate::generators;
use crate::stream::{Mark, Stream};

/// The minimum commit time. git does not print times that are before 1970 in some time zone.
const MIN_TIME: i64 = 100_000;

struct Commit {
    mark: Mark,
    parents: Vec<usize>,
    files: Files,
    time: i64,
}

/// A generated history. Branches and tags contain indexes into `commits`.
pub struct History {
    commits: Vec<Commit>,
    pub branches: BTreeMap<String, usize>,
    pub tags: BTreeMap<String, usize>,
    /// Annotated tags, which other tags can point at.
    tag_marks: Vec<(Mark, usize)>,
    blobs: HashMap<Arc<[u8]>, Mark>,
    last_mark: Mark,
    stream: Stream,
}

impl History {
    pub fn empty() -> Self {
        Self {
            commits: Vec::new(),
            branches: BTreeMap::new(),
            tags: BTreeMap::new(),
            tag_marks: Vec::new(),
            blobs: HashMap::new(),
            last_mark: 0,
            stream: Stream::default(),
        }
    }

    pub fn random(rng: &mut SeededRng) -> Self {
        let mut history = Self::empty();
        let files = Files::random(rng);
        let first = history.commit(rng, &[], files);
        let name = if rng.one_in(3) { generators::ref_name(rng) } else { "main".into() };
        history.set_branch(name, first);
        let steps = rng.next_between(3, 25);
        history.grow(rng, steps);
        history
    }

    /// Returns a history that only tags reach.
    pub fn without_branches(rng: &mut SeededRng) -> Self {
        let mut history = Self::random(rng);
        history.tag(rng);
        for name in std::mem::take(&mut history.branches).into_keys() {
            history.stream.delete(&format!("refs/heads/{name}"));
        }
        history
    }

    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Returns the part of the stream that was generated since the last call.
    pub fn take_stream(&mut self) -> Vec<u8> {
        self.stream.take()
    }

    pub fn mark(&self, commit: usize) -> Mark {
        self.commits[commit].mark
    }

    pub fn files(&self, commit: usize) -> &Files {
        &self.commits[commit].files
    }

    pub fn parents(&self, commit: usize) -> &[usize] {
        &self.commits[commit].parents
    }

    /// Returns the commits that are reachable from branches and tags.
    pub fn visible(&self) -> Vec<usize> {
        let mut seen = BTreeSet::new();
        let mut next: Vec<usize> = self.branches.values().chain(self.tags.values()).copied().collect();
        while let Some(commit) = next.pop() {
            if seen.insert(commit) {
                next.extend(&self.commits[commit].parents);
            }
        }
        seen.into_iter().collect()
    }

    pub fn grow(&mut self, rng: &mut SeededRng, steps: usize) {
        for _ in 0..steps {
            match rng.next_below(20) {
                0..=10 => {
                    let name = self.pick_branch(rng);
                    self.extend_branch(rng, name);
                }
                11..=13 => self.merge(rng),
                14 => {
                    let files = Files::random(rng);
                    let root = self.commit(rng, &[], files);
                    self.add_branch(rng, root);
                }
                15 | 16 => {
                    let at = rng.next_below(self.commits.len());
                    if self.visible().contains(&at) {
                        self.add_branch(rng, at);
                    }
                }
                _ => self.tag(rng),
            }
        }
    }

    fn pick_branch(&self, rng: &mut SeededRng) -> String {
        let names: Vec<&String> = self.branches.keys().collect();
        (*rng.pick(&names)).clone()
    }

    pub fn extend_branch(&mut self, rng: &mut SeededRng, name: String) {
        let parent = self.branches[&name];
        let tip = self.add_child(rng, &[parent]);
        self.set_branch(name, tip);
    }

    /// Resets a branch to an earlier commit or to a new root, as a force push does.
    pub fn rewrite_branch(&mut self, rng: &mut SeededRng, name: String) {
        let mut at = vec![self.branches[&name]];
        for _ in 0..rng.next_between(1, 4) {
            at = self
                .commits
                .get(*at.first().unwrap_or(&usize::MAX))
                .map_or(Vec::new(), |commit| commit.parents.clone());
        }
        at.truncate(1);
        let tip = self.add_child(rng, &at);
        self.set_branch(name, tip);
    }

    fn merge(&mut self, rng: &mut SeededRng) {
        let name = self.pick_branch(rng);
        let visible = self.visible();
        let mut parents = vec![self.branches[&name]];
        let others = if rng.one_in(4) { rng.next_between(2, 4) } else { 1 };
        for _ in 0..others {
            let tips: Vec<usize> = self.branches.values().copied().collect();
            let other = if rng.one_in(4) { *rng.pick(&visible) } else { *rng.pick(&tips) };
            if !parents.contains(&other) {
                parents.push(other);
            }
        }
        let tip = self.add_child(rng, &parents);
        self.set_branch(name, tip);
    }

    fn add_child(&mut self, rng: &mut SeededRng, parents: &[usize]) -> usize {
        let mut files = parents.first().map_or_else(Files::default, |first| self.commits[*first].files.clone());
        for other in parents.iter().skip(1) {
            files.mix(rng, &self.commits[*other].files);
        }
        // Without a change this is an empty commit, or a merge without changes of its own.
        for _ in 0..rng.next_below(6) {
            files.change(rng);
        }
        self.commit(rng, parents, files)
    }

    fn commit(&mut self, rng: &mut SeededRng, parents: &[usize], files: Files) -> usize {
        let newest = parents.iter().map(|parent| self.commits[*parent].time).max().unwrap_or(1_600_000_000);
        let time = match rng.next_below(12) {
            0..=3 => newest,
            // Commit dates can be wrong.
            4 | 5 => newest - rng.next_between(1, 1_000_000) as i64,
            6 if rng.one_in(6) => 4_000_000_000,
            7 if rng.one_in(6) => MIN_TIME,
            _ => newest + rng.next_between(1, 100_000) as i64,
        };
        let time = time.max(MIN_TIME);
        let written = if rng.one_in(2) { time } else { (time - rng.next_below(100_000) as i64).max(MIN_TIME) };
        let mark = self.next_mark();
        let objects: Vec<_> = files.iter().map(|(path, entry)| (path.to_vec(), self.object(entry))).collect();
        let author = signature(rng, written);
        let committer = signature(rng, time);
        let marks: Vec<Mark> = parents.iter().map(|parent| self.commits[*parent].mark).collect();
        self.stream.commit(mark, &author, &committer, &generators::message(rng), &marks);
        for (path, (mode, object)) in objects {
            self.stream.file(mode, &object, &path);
        }
        self.commits.push(Commit { mark, parents: parents.to_vec(), files, time });
        self.commits.len() - 1
    }

    /// Returns the mode of an entry, and its mark or id.
    fn object(&mut self, entry: &Entry) -> (&'static str, String) {
        let (mode, content) = match entry {
            Entry::File { content, executable } => (if *executable { "100755" } else { "100644" }, content),
            Entry::Link { target } => ("120000", target),
            Entry::Module { id } => return ("160000", id.clone()),
        };
        if let Some(mark) = self.blobs.get(content) {
            return (mode, format!(":{mark}"));
        }
        let mark = self.next_mark();
        self.stream.blob(mark, content);
        self.blobs.insert(content.clone(), mark);
        (mode, format!(":{mark}"))
    }

    fn next_mark(&mut self) -> Mark {
        self.last_mark += 1;
        self.last_mark
    }

    fn set_branch(&mut self, name: String, commit: usize) {
        self.stream.reset(&format!("refs/heads/{name}"), Some(self.commits[commit].mark));
        self.branches.insert(name, commit);
    }

    fn add_branch(&mut self, rng: &mut SeededRng, commit: usize) {
        let name = generators::ref_name(rng);
        if is_free(&self.branches, &name) {
            self.set_branch(name, commit);
        } else {
            // Keep the commit reachable under a name that is free.
            let tip = self.add_child(rng, &[commit]);
            let name = format!("more-{tip}");
            self.set_branch(name, tip);
        }
    }

    fn tag(&mut self, rng: &mut SeededRng) {
        // A tag and a branch may have the same name.
        let name = generators::ref_name(rng);
        if !is_free(&self.tags, &name) {
            return;
        }
        let commit = *rng.pick(&self.visible());
        let (of, commit) = match rng.next_below(4) {
            0 if !self.tag_marks.is_empty() => *rng.pick(&self.tag_marks),
            1 => {
                self.stream.reset(&format!("refs/tags/{name}"), Some(self.commits[commit].mark));
                self.tags.insert(name, commit);
                return;
            }
            _ => (self.commits[commit].mark, commit),
        };
        let mark = self.next_mark();
        let tagger = signature(rng, 1_650_000_000);
        self.stream.tag(mark, &name, of, &tagger, &generators::message(rng));
        self.tag_marks.push((mark, commit));
        self.tags.insert(name, commit);
    }
}

/// Returns whether a ref name neither exists nor is a directory of an existing one.
fn is_free(names: &BTreeMap<String, usize>, name: &str) -> bool {
    let below =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    !names.keys().any(|other| below(name, other) || below(other, name))
}

fn signature(rng: &mut SeededRng, time: i64) -> Vec<u8> {
    [&generators::person(rng)[..], format!(" {time} {}", generators::zone(rng)).as_bytes()].concat()
}
