//! What differs between two trees, as git tells it: one file after the other, in bounded memory.

use std::collections::VecDeque;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::quote::ansi_c;

use crate::lines::Lines;
use crate::{Bare, Error, Git, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    pub old_path: Vec<u8>,
    pub new_path: Vec<u8>,
    /// Octal digits; none where the file is not there on that side.
    pub old_mode: Option<String>,
    pub new_mode: Option<String>,
    pub renamed: bool,
    /// From the line that begins with `---` on. Empty if it is too long to be shown.
    pub text: Vec<u8>,
    /// How long it is, shown or not.
    pub bytes: u64,
    pub lines: u64,
}

/// A text of so many bytes is not shown.
pub const TOO_LONG: u64 = 102_400;

pub struct Diff {
    lines: Lines,
    /// The first line of the file that comes next.
    header: Option<Vec<u8>>,
    /// Read already, to see whether it belongs to the one before it.
    next: Option<FileDiff>,
    /// Of files that have a new name and nothing else; None until they are read. The text of such a one tells no mode.
    modes_of_renamed: Option<VecDeque<u32>>,
}

impl Diff {
    /// From tree to tree; those of commits will do.
    pub fn start(git: &Git, bare: &Bare, old: ObjectId, new: ObjectId) -> Result<Self> {
        let command = git.command(bare, "diff-tree");
        let command = command.words([
            "-r",
            "--raw",
            "-p",
            "-M",
            "--no-abbrev",
            "--full-index",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
        ]);
        let command = command.words(["--src-prefix=a/", "--dst-prefix=b/"]).id(old).id(new).word("--");
        Ok(Self { lines: Lines::of(command, b'\n')?, header: None, next: None, modes_of_renamed: None })
    }

    pub async fn next(&mut self) -> Result<Option<FileDiff>> {
        let Some(mut file) = (match self.next.take() {
            Some(file) => Some(file),
            None => self.read().await?,
        }) else {
            return Ok(None);
        };
        // What becomes another kind of file is told as removed and added again.
        if file.new_mode.is_none()
            && let Some(next) = self.read().await?
        {
            if next.old_mode.is_none() && next.new_path == file.old_path {
                file.new_mode = next.new_mode;
                file.add(&next.text, next.bytes, next.lines);
            } else {
                self.next = Some(next);
            }
        }
        Ok(Some(file))
    }

    async fn read(&mut self) -> Result<Option<FileDiff>> {
        if self.modes_of_renamed.is_none() {
            self.modes_of_renamed = Some(self.read_modes().await?);
        }
        let Some(header) = self.header.take() else { return Ok(None) };
        let mut file = FileDiff::begin(&header)?;
        let mut is_text = false;
        let mut has_ids = false;
        while let Some(line) = self.lines.next().await? {
            // Lines of files never begin so: each has a sign before it.
            if line.starts_with(HEADER) {
                self.header = Some(line.to_vec());
                break;
            }
            has_ids = has_ids || line.starts_with(b"index ");
            is_text = is_text || !file.extend(&line);
            if is_text {
                file.add(&line, line.bytes + 1, 1);
                if !file.text.is_empty() {
                    file.text.push(b'\n');
                }
            }
        }
        if file.renamed && !has_ids {
            let mode = self.modes_of_renamed.as_mut().and_then(VecDeque::pop_front).map(|mode| format!("{mode:06o}"));
            file.old_mode = file.old_mode.or_else(|| mode.clone());
            file.new_mode = file.new_mode.or(mode);
        }
        Ok(Some(file))
    }

    /// First comes a list of all that differs: `:MODE MODE ID ID STATUS<tab>PATH`, then an empty line.
    async fn read_modes(&mut self) -> Result<VecDeque<u32>> {
        let mut modes = VecDeque::new();
        while let Some(line) = self.lines.next().await? {
            if line.starts_with(HEADER) {
                self.header = Some(line.to_vec());
                break;
            }
            let facts: Vec<&[u8]> = line.splitn_str(5, " ").collect();
            if let [_, mode, old, new, status] = facts[..]
                && old == new
                && status.starts_with(b"R")
            {
                modes.push_back(u32::from_str_radix(&String::from_utf8_lossy(mode), 8).unwrap_or(0));
            }
        }
        Ok(modes)
    }
}

const HEADER: &[u8] = b"diff --git ";

impl FileDiff {
    /// `diff --git a/PATH b/PATH`. The paths are equal; where they are not, lines that follow tell them.
    fn begin(header: &[u8]) -> Result<Self> {
        let wrong = || Error::Failed { command: "diff-tree", said: "it wrote what is no header of a file".into() };
        let paths = header.strip_prefix(HEADER).ok_or_else(wrong)?;
        let path = if paths.starts_with(b"\"") {
            unquoted(paths).strip_prefix(b"a/").ok_or_else(wrong)?.to_vec()
        } else {
            let end = 2 + paths.len().saturating_sub(5) / 2;
            paths.get(2..end).ok_or_else(wrong)?.to_vec()
        };
        Ok(Self { old_path: path.clone(), new_path: path, ..Self::default() })
    }

    /// With one of the lines between the header and the text; false if it is no such line.
    fn extend(&mut self, line: &[u8]) -> bool {
        let mode = |digits: &[u8]| Some(String::from_utf8_lossy(digits).into_owned());
        if let Some(digits) = line.strip_prefix(b"old mode ") {
            self.old_mode = mode(digits);
        } else if let Some(digits) = line.strip_prefix(b"new mode ") {
            self.new_mode = mode(digits);
        } else if let Some(digits) = line.strip_prefix(b"new file mode ") {
            self.new_mode = mode(digits);
        } else if let Some(digits) = line.strip_prefix(b"deleted file mode ") {
            self.old_mode = mode(digits);
        } else if let Some(path) = line.strip_prefix(b"rename from ") {
            self.old_path = unquoted(path);
            self.renamed = true;
        } else if let Some(path) = line.strip_prefix(b"rename to ") {
            self.new_path = unquoted(path);
        } else if let Some(ids) = line.strip_prefix(b"index ") {
            // The mode stands here only if it is the same on both sides.
            if let Some(space) = ids.find_byte(b' ') {
                self.old_mode = mode(&ids[space + 1..]);
                self.new_mode.clone_from(&self.old_mode);
            }
        } else {
            return line.starts_with(b"similarity index ");
        }
        true
    }

    fn add(&mut self, text: &[u8], bytes: u64, lines: u64) {
        self.bytes += bytes;
        self.lines += lines;
        if self.bytes < TOO_LONG {
            self.text.extend_from_slice(text);
        } else {
            self.text = Vec::new();
        }
    }
}

/// Names with unusual characters are written in quotes.
fn unquoted(path: &[u8]) -> Vec<u8> {
    ansi_c::undo(BStr::new(path)).map_or_else(|_| path.to_vec(), |(path, _)| path.to_vec())
}
