//! A made-up repository: commits, branches and tags, told to `git fast-import`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use holdfast_tests::Dice;

use crate::files::{Entry, Files};
use crate::stream::{Mark, Stream};
use crate::words;

/// Git itself does not show what is before 1970 in some time zone.
const OLDEST: i64 = 100_000;

struct Commit {
    mark: Mark,
    parents: Vec<usize>,
    files: Files,
    time: i64,
}

/// What a tag or a branch leads to is a place in `commits`.
pub struct History {
    commits: Vec<Commit>,
    pub branches: BTreeMap<String, usize>,
    pub tags: BTreeMap<String, usize>,
    /// Annotated ones, for tags of tags.
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

    pub fn random(dice: &mut Dice) -> Self {
        let mut history = Self::empty();
        let files = Files::random(dice);
        let first = history.commit(dice, &[], files);
        let name = if dice.one_in(3) { words::ref_name(dice) } else { "main".into() };
        history.set_branch(name, first);
        let steps = dice.between(3, 25);
        history.grow(dice, steps);
        history
    }

    /// Only tags lead to it.
    pub fn without_branches(dice: &mut Dice) -> Self {
        let mut history = Self::random(dice);
        history.tag(dice);
        for name in std::mem::take(&mut history.branches).into_keys() {
            history.stream.delete(&format!("refs/heads/{name}"));
        }
        history
    }

    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// What to import since the last time.
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

    /// The commits that somebody who sees all branches and tags can see.
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

    pub fn grow(&mut self, dice: &mut Dice, steps: usize) {
        for _ in 0..steps {
            match dice.below(20) {
                0..=10 => {
                    let name = self.some_branch(dice);
                    self.extend_branch(dice, name);
                }
                11..=13 => self.merge(dice),
                14 => {
                    let files = Files::random(dice);
                    let root = self.commit(dice, &[], files);
                    self.add_branch(dice, root);
                }
                15 | 16 => {
                    let at = dice.below(self.commits.len());
                    if self.visible().contains(&at) {
                        self.add_branch(dice, at);
                    }
                }
                _ => self.tag(dice),
            }
        }
    }

    fn some_branch(&self, dice: &mut Dice) -> String {
        let names: Vec<&String> = self.branches.keys().collect();
        (*dice.pick(&names)).clone()
    }

    pub fn extend_branch(&mut self, dice: &mut Dice, name: String) {
        let parent = self.branches[&name];
        let tip = self.child(dice, &[parent]);
        self.set_branch(name, tip);
    }

    /// The branch goes on from an earlier commit, or begins anew.
    pub fn rewrite_branch(&mut self, dice: &mut Dice, name: String) {
        let mut at = vec![self.branches[&name]];
        for _ in 0..dice.between(1, 4) {
            at = self
                .commits
                .get(*at.first().unwrap_or(&usize::MAX))
                .map_or(Vec::new(), |commit| commit.parents.clone());
        }
        at.truncate(1);
        let tip = self.child(dice, &at);
        self.set_branch(name, tip);
    }

    fn merge(&mut self, dice: &mut Dice) {
        let name = self.some_branch(dice);
        let visible = self.visible();
        let mut parents = vec![self.branches[&name]];
        let others = if dice.one_in(4) { dice.between(2, 4) } else { 1 };
        for _ in 0..others {
            let tips: Vec<usize> = self.branches.values().copied().collect();
            let other = if dice.one_in(4) { *dice.pick(&visible) } else { *dice.pick(&tips) };
            if !parents.contains(&other) {
                parents.push(other);
            }
        }
        let tip = self.child(dice, &parents);
        self.set_branch(name, tip);
    }

    fn child(&mut self, dice: &mut Dice, parents: &[usize]) -> usize {
        let mut files = parents.first().map_or_else(Files::default, |first| self.commits[*first].files.clone());
        for other in parents.iter().skip(1) {
            files.mix(dice, &self.commits[*other].files);
        }
        // None at all is an empty commit, or a merge that only merges.
        for _ in 0..dice.below(6) {
            files.change(dice);
        }
        self.commit(dice, parents, files)
    }

    fn commit(&mut self, dice: &mut Dice, parents: &[usize], files: Files) -> usize {
        let newest = parents.iter().map(|parent| self.commits[*parent].time).max().unwrap_or(1_600_000_000);
        let time = match dice.below(12) {
            0..=3 => newest,
            // Somebody's clock is wrong.
            4 | 5 => newest - dice.between(1, 1_000_000) as i64,
            6 if dice.one_in(6) => 4_000_000_000,
            7 if dice.one_in(6) => OLDEST,
            _ => newest + dice.between(1, 100_000) as i64,
        };
        let time = time.max(OLDEST);
        let written = if dice.one_in(2) { time } else { (time - dice.below(100_000) as i64).max(OLDEST) };
        let mark = self.next_mark();
        let objects: Vec<_> = files.iter().map(|(path, entry)| (path.to_vec(), self.object(entry))).collect();
        let author = signature(dice, written);
        let committer = signature(dice, time);
        let marks: Vec<Mark> = parents.iter().map(|parent| self.commits[*parent].mark).collect();
        self.stream.commit(mark, &author, &committer, &words::message(dice), &marks);
        for (path, (mode, object)) in objects {
            self.stream.file(mode, &object, &path);
        }
        self.commits.push(Commit { mark, parents: parents.to_vec(), files, time });
        self.commits.len() - 1
    }

    /// Mode, and mark or id.
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

    fn add_branch(&mut self, dice: &mut Dice, commit: usize) {
        let name = words::ref_name(dice);
        if is_free(&self.branches, &name) {
            self.set_branch(name, commit);
        } else {
            // It stays visible.
            let tip = self.child(dice, &[commit]);
            let name = format!("more-{tip}");
            self.set_branch(name, tip);
        }
    }

    fn tag(&mut self, dice: &mut Dice) {
        // Tags and branches may share their names.
        let name = words::ref_name(dice);
        if !is_free(&self.tags, &name) {
            return;
        }
        let commit = *dice.pick(&self.visible());
        let (of, commit) = match dice.below(4) {
            0 if !self.tag_marks.is_empty() => *dice.pick(&self.tag_marks),
            1 => {
                self.stream.reset(&format!("refs/tags/{name}"), Some(self.commits[commit].mark));
                self.tags.insert(name, commit);
                return;
            }
            _ => (self.commits[commit].mark, commit),
        };
        let mark = self.next_mark();
        let tagger = signature(dice, 1_650_000_000);
        self.stream.tag(mark, &name, of, &tagger, &words::message(dice));
        self.tag_marks.push((mark, commit));
        self.tags.insert(name, commit);
    }
}

/// A name must be neither there nor the directory of another.
fn is_free(names: &BTreeMap<String, usize>, name: &str) -> bool {
    let below =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    !names.keys().any(|other| below(name, other) || below(other, name))
}

fn signature(dice: &mut Dice, time: i64) -> Vec<u8> {
    [&words::person(dice)[..], format!(" {time} {}", words::zone(dice)).as_bytes()].concat()
}
