//! The files of one commit, and random changes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdfast_tests::SeededRng;

use crate::generators::{self, MAX_DIFF_BYTES};

#[derive(Clone, Debug)]
pub enum Entry {
    File {
        content: Arc<[u8]>,
        executable: bool,
    },
    Link {
        target: Arc<[u8]>,
    },
    /// A submodule: a commit of another repository.
    Module {
        id: String,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<Vec<u8>, Entry>);

const MAX_FILES: usize = 60;
const ATTRIBUTES: &[u8] = b".gitattributes";

impl Files {
    pub fn random(rng: &mut SeededRng) -> Self {
        let mut files = Self::default();
        for _ in 0..rng.next_between(0, 12) {
            files.add(rng);
        }
        files
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.0.iter().map(|(path, entry)| (&path[..], entry))
    }

    /// Inserts an entry. Entries that conflict with its path, as a file where a directory is needed or the reverse, are
    /// removed.
    fn insert(&mut self, path: Vec<u8>, entry: Entry) {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.0.remove(&path[..at]);
        }
        let below = [&path[..], b"/"].concat();
        self.0.retain(|other, _| !other.starts_with(&below));
        self.0.insert(path, entry);
    }

    /// Takes over each entry of another commit with a probability of one half.
    pub fn mix(&mut self, rng: &mut SeededRng, other: &Self) {
        for (path, entry) in &other.0 {
            if rng.one_in(2) {
                self.insert(path.clone(), entry.clone());
            }
        }
    }

    /// Returns the paths of all directories, each with a trailing slash.
    pub fn directories(&self) -> Vec<Vec<u8>> {
        let parents = |path: &Vec<u8>| {
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            ends.map(|(at, _)| path[..=at].to_vec()).collect::<Vec<_>>()
        };
        let all: BTreeSet<Vec<u8>> = self.0.keys().flat_map(parents).collect();
        all.into_iter().collect()
    }

    fn new_path(&self, rng: &mut SeededRng) -> Vec<u8> {
        let directories = self.directories();
        let mut path =
            if directories.is_empty() || rng.one_in(3) { Vec::new() } else { rng.pick(&directories).clone() };
        let deeper = if rng.one_in(25) { 9 } else { [0, 0, 0, 1, 2][rng.next_below(5)] };
        for _ in 0..deeper {
            path.extend(generators::name(rng));
            path.push(b'/');
        }
        path.extend(generators::name(rng));
        // Deeply nested paths are limited: a path that is too long for a URL could not be requested.
        if path.len() > 900 { generators::name(rng) } else { path }
    }

    fn pick(&self, rng: &mut SeededRng, wanted: impl Fn(&Entry) -> bool) -> Option<(Vec<u8>, Entry)> {
        // git rejects a `.gitattributes` that is not a regular file.
        let may_change = |path: &[u8]| path != ATTRIBUTES;
        let found: Vec<_> = self.0.iter().filter(|(path, entry)| may_change(path) && wanted(entry)).collect();
        let (path, entry) = (!found.is_empty()).then(|| *rng.pick(&found))?;
        Some((path.clone(), entry.clone()))
    }

    fn add(&mut self, rng: &mut SeededRng) {
        let path = self.new_path(rng);
        match rng.next_below(40) {
            0..=3 => self.insert(path, link(rng)),
            4..=6 => self.insert(path, Entry::Module { id: rng.hex(40) }),
            7 => {
                let path = format!("large{}", rng.next_below(3));
                let size = MAX_DIFF_BYTES - 1 + rng.next_below(2);
                self.insert(path.clone().into(), file(generators::content_with_diff(size, &path), false));
            }
            8 => {
                let rules = "*.skip export-ignore\n*.crlf text eol=crlf\n*.subst export-subst\n";
                self.insert(ATTRIBUTES.to_vec(), file(rules.into(), false));
            }
            _ => {
                let executable = rng.one_in(4);
                self.insert(path, file(generators::content(rng), executable));
            }
        }
    }

    /// Applies one random change.
    pub fn change(&mut self, rng: &mut SeededRng) {
        let is_file = |entry: &Entry| matches!(entry, Entry::File { .. });
        let action = if self.0.len() > MAX_FILES { 12 } else { rng.next_below(18) };
        match (action, self.pick(rng, is_file), self.pick(rng, |_| true)) {
            (0..=2, Some((path, Entry::File { content, executable })), _) => {
                let executable = executable ^ rng.one_in(6);
                self.insert(path, file(generators::edit(rng, &content), executable));
            }
            (3, Some((path, Entry::File { content, executable })), _) => {
                self.insert(path, Entry::File { content, executable: !executable });
            }
            (4 | 5, _, Some((path, entry))) => {
                let new = self.new_path(rng);
                self.0.remove(&path);
                self.insert(new, entry);
            }
            (6, Some((path, Entry::File { content, executable })), _) => {
                let new = self.new_path(rng);
                self.0.remove(&path);
                let executable = executable ^ rng.one_in(4);
                self.insert(new, file(generators::edit(rng, &content), executable));
            }
            (7, _, _) => self.move_directory(rng),
            // The type of an entry changes.
            (8, Some((path, _)), _) => self.insert(path, link(rng)),
            (9, _, Some((path, _))) => self.insert(path, file(generators::content(rng), false)),
            (10, _, Some((path, entry))) => {
                let below = [&path[..], b"/", &generators::name(rng)].concat();
                self.insert(below, entry);
            }
            (11, _, Some((path, _))) => self.insert(path, Entry::Module { id: rng.hex(40) }),
            (12 | 13, _, Some((path, _))) => drop(self.0.remove(&path)),
            (14, Some((_, entry)), _) => {
                let new = self.new_path(rng);
                self.insert(new, entry);
            }
            _ => self.add(rng),
        }
    }

    fn move_directory(&mut self, rng: &mut SeededRng) {
        let directories = self.directories();
        if directories.is_empty() {
            return;
        }
        let from = rng.pick(&directories).clone();
        let to = [&self.new_path(rng)[..], b"/"].concat();
        let moved: Vec<_> = self.0.extract_if(.., |path, _| path.starts_with(&from)).collect();
        for (path, entry) in moved {
            self.insert([&to, &path[from.len()..]].concat(), entry);
        }
    }
}

fn file(content: Vec<u8>, executable: bool) -> Entry {
    Entry::File { content: content.into(), executable }
}

fn link(rng: &mut SeededRng) -> Entry {
    let target = match rng.next_below(6) {
        0 => vec![b't'; rng.next_between(100, 150)],
        1 => b"../../../etc/passwd".to_vec(),
        2 => b"line\nbreak".to_vec(),
        _ => generators::name(rng),
    };
    Entry::Link { target: target.into() }
}
