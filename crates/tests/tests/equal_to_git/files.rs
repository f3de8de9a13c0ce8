//! The files of one commit, and how people change them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdfast_tests::Dice;

use crate::words::{self, LARGEST_DIFF};

#[derive(Clone, Debug)]
pub enum Entry {
    File {
        content: Arc<[u8]>,
        executable: bool,
    },
    Link {
        target: Arc<[u8]>,
    },
    /// The commit of another repository.
    Module {
        id: String,
    },
}

#[derive(Clone, Debug, Default)]
pub struct Files(BTreeMap<Vec<u8>, Entry>);

const MOST_FILES: usize = 60;
const ATTRIBUTES: &[u8] = b".gitattributes";

impl Files {
    pub fn random(dice: &mut Dice) -> Self {
        let mut files = Self::default();
        for _ in 0..dice.between(0, 12) {
            files.add(dice);
        }
        files
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.0.iter().map(|(path, entry)| (&path[..], entry))
    }

    /// What is in its way goes: a name is a file or a directory.
    fn place(&mut self, path: Vec<u8>, entry: Entry) {
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.0.remove(&path[..at]);
        }
        let below = [&path[..], b"/"].concat();
        self.0.retain(|other, _| !other.starts_with(&below));
        self.0.insert(path, entry);
    }

    /// Half of what another commit has.
    pub fn mix(&mut self, dice: &mut Dice, other: &Self) {
        for (path, entry) in &other.0 {
            if dice.one_in(2) {
                self.place(path.clone(), entry.clone());
            }
        }
    }

    /// Each with a slash at its end.
    pub fn directories(&self) -> Vec<Vec<u8>> {
        let parents = |path: &Vec<u8>| {
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            ends.map(|(at, _)| path[..=at].to_vec()).collect::<Vec<_>>()
        };
        let all: BTreeSet<Vec<u8>> = self.0.keys().flat_map(parents).collect();
        all.into_iter().collect()
    }

    fn new_path(&self, dice: &mut Dice) -> Vec<u8> {
        let directories = self.directories();
        let mut path =
            if directories.is_empty() || dice.one_in(3) { Vec::new() } else { dice.pick(&directories).clone() };
        let deeper = if dice.one_in(25) { 9 } else { [0, 0, 0, 1, 2][dice.below(5)] };
        for _ in 0..deeper {
            path.extend(words::name(dice));
            path.push(b'/');
        }
        path.extend(words::name(dice));
        // What nobody can name in a request would otherwise be most of it.
        if path.len() > 900 { words::name(dice) } else { path }
    }

    fn some(&self, dice: &mut Dice, wanted: impl Fn(&Entry) -> bool) -> Option<(Vec<u8>, Entry)> {
        // Git refuses attributes that are no file.
        let may_change = |path: &[u8]| path != ATTRIBUTES;
        let found: Vec<_> = self.0.iter().filter(|(path, entry)| may_change(path) && wanted(entry)).collect();
        let (path, entry) = (!found.is_empty()).then(|| *dice.pick(&found))?;
        Some((path.clone(), entry.clone()))
    }

    fn add(&mut self, dice: &mut Dice) {
        let path = self.new_path(dice);
        match dice.below(40) {
            0..=3 => self.place(path, link(dice)),
            4..=6 => self.place(path, Entry::Module { id: dice.hex(40) }),
            7 => {
                let path = format!("large{}", dice.below(3));
                let size = LARGEST_DIFF - 1 + dice.below(2);
                self.place(path.clone().into(), file(words::with_diff_of(size, &path), false));
            }
            8 => {
                let rules = "*.skip export-ignore\n*.crlf text eol=crlf\n*.subst export-subst\n";
                self.place(ATTRIBUTES.to_vec(), file(rules.into(), false));
            }
            _ => {
                let executable = dice.one_in(4);
                self.place(path, file(words::content(dice), executable));
            }
        }
    }

    /// One thing that somebody does.
    pub fn change(&mut self, dice: &mut Dice) {
        let is_file = |entry: &Entry| matches!(entry, Entry::File { .. });
        let action = if self.0.len() > MOST_FILES { 12 } else { dice.below(18) };
        match (action, self.some(dice, is_file), self.some(dice, |_| true)) {
            (0..=2, Some((path, Entry::File { content, executable })), _) => {
                let executable = executable ^ dice.one_in(6);
                self.place(path, file(words::edited(dice, &content), executable));
            }
            (3, Some((path, Entry::File { content, executable })), _) => {
                self.place(path, Entry::File { content, executable: !executable });
            }
            (4 | 5, _, Some((path, entry))) => {
                let new = self.new_path(dice);
                self.0.remove(&path);
                self.place(new, entry);
            }
            (6, Some((path, Entry::File { content, executable })), _) => {
                let new = self.new_path(dice);
                self.0.remove(&path);
                let executable = executable ^ dice.one_in(4);
                self.place(new, file(words::edited(dice, &content), executable));
            }
            (7, _, _) => self.move_directory(dice),
            // One kind of thing becomes another.
            (8, Some((path, _)), _) => self.place(path, link(dice)),
            (9, _, Some((path, _))) => self.place(path, file(words::content(dice), false)),
            (10, _, Some((path, entry))) => {
                let below = [&path[..], b"/", &words::name(dice)].concat();
                self.place(below, entry);
            }
            (11, _, Some((path, _))) => self.place(path, Entry::Module { id: dice.hex(40) }),
            (12 | 13, _, Some((path, _))) => drop(self.0.remove(&path)),
            (14, Some((_, entry)), _) => {
                let new = self.new_path(dice);
                self.place(new, entry);
            }
            _ => self.add(dice),
        }
    }

    fn move_directory(&mut self, dice: &mut Dice) {
        let directories = self.directories();
        if directories.is_empty() {
            return;
        }
        let from = dice.pick(&directories).clone();
        let to = [&self.new_path(dice)[..], b"/"].concat();
        let moved: Vec<_> = self.0.extract_if(.., |path, _| path.starts_with(&from)).collect();
        for (path, entry) in moved {
            self.place([&to, &path[from.len()..]].concat(), entry);
        }
    }
}

fn file(content: Vec<u8>, executable: bool) -> Entry {
    Entry::File { content: content.into(), executable }
}

fn link(dice: &mut Dice) -> Entry {
    let target = match dice.below(6) {
        0 => vec![b't'; dice.between(100, 150)],
        1 => b"../../../etc/passwd".to_vec(),
        2 => b"line\nbreak".to_vec(),
        _ => words::name(dice),
    };
    Entry::Link { target: target.into() }
}
