//! The list of all files that a diff changes, which git writes before the first of them.

use std::collections::VecDeque;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::{Diff, HEADER_PREFIX, TextLimit, unquote, with_trees};
use crate::{BareRepository, Git, Result};

/// The files of a diff that are listed and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSelection {
    First,
    /// The files behind the one with this path.
    After(Vec<u8>),
    /// The file with this path, before or after the change.
    Only(Vec<u8>),
}

/// The changed files of a diff, as far as they are selected, and the sums over all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffListing {
    pub files: Vec<ListedFile>,
    /// Whether files follow the listed ones.
    pub has_more: bool,
    pub total_files: u64,
    pub added: u64,
    pub removed: u64,
    /// The number of files before the first listed one.
    first: usize,
}

/// A file that a diff changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedFile {
    pub old_path: Vec<u8>,
    pub new_path: Vec<u8>,
    /// The mode in octal digits, or None if the file does not exist on this side.
    pub old_mode: Option<String>,
    pub new_mode: Option<String>,
    pub is_renamed: bool,
    /// The numbers of changed lines, or None for a binary file.
    pub lines: Option<ChangedLines>,
}

/// The numbers of lines that a diff adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    pub added: u64,
    pub removed: u64,
}

/// The numbers of files and lines that a diff changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffSummary {
    pub files: u64,
    pub lines: ChangedLines,
}

impl DiffSummary {
    /// Parses the output of `git diff --shortstat`, such as `2 files changed, 3 insertions(+), 1 deletion(-)`.
    pub(super) fn parse(text: &str) -> Self {
        let number = |word: &str| {
            let part = text.split(',').find(|part| part.contains(word));
            part.and_then(|part| part.split_whitespace().next()?.parse().ok()).unwrap_or(0)
        };
        let lines = ChangedLines { added: number("insertion"), removed: number("deletion") };
        Self { files: number("file"), lines }
    }
}

impl Diff {
    /// Starts a diff that begins with a listing. [`Self::read_listing`] must be called before the first file is read.
    pub fn start_listed(
        git: &Git,
        repository: &BareRepository,
        old: ObjectId,
        new: ObjectId,
        limit: TextLimit,
    ) -> Result<Self> {
        let command = git.command(repository, "diff-tree");
        let command = command.args(["--raw", "--numstat", "-r", "-p", "-M", "--no-abbrev", "--full-index"]);
        Self::spawn(with_trees(command, old, new), limit)
    }

    /// Reads the listing. The files that [`Self::next`] returns afterwards begin with the first listed one. They are in
    /// the order of the list.
    pub async fn read_listing(&mut self, selection: &FileSelection, max_files: usize) -> Result<DiffListing> {
        let mut listing = DiffListing::default();
        let mut is_started = *selection == FileSelection::First;
        let mut counted = 0;
        while let Some(line) = self.lines.next().await? {
            if line.starts_with(HEADER_PREFIX) {
                self.header = Some(line.to_vec());
                break;
            }
            if let Some(fields) = line.strip_prefix(b":") {
                listing.total_files += 1;
                let Some(file) = ListedFile::parse(fields) else { continue };
                let is_selected = match selection {
                    FileSelection::Only(path) => {
                        listing.files.is_empty() && (file.new_path == *path || file.old_path == *path)
                    }
                    FileSelection::First | FileSelection::After(_) => is_started,
                };
                is_started = is_started || matches!(selection, FileSelection::After(path) if file.new_path == *path);
                if is_selected && listing.files.len() < max_files {
                    listing.files.push(file);
                } else if is_selected {
                    listing.has_more = true;
                } else if listing.files.is_empty() {
                    listing.first += 1;
                }
            } else if let Some(lines) = parse_counts(&line) {
                listing.count(counted, lines);
                counted += 1;
            }
        }
        self.modes_of_renamed = Some(VecDeque::new());
        if !listing.files.is_empty() {
            self.skip(listing.first).await?;
        }
        Ok(listing)
    }

    /// Reads files without keeping their texts.
    async fn skip(&mut self, count: usize) -> Result<()> {
        let limit = std::mem::replace(&mut self.limit, TextLimit::FirstLines(0));
        for position in 1..=count {
            // The last skipped file may be a deletion, and the file behind it is then read with it.
            if position == count {
                self.limit = limit;
            }
            self.next().await?;
        }
        self.limit = limit;
        Ok(())
    }
}

impl DiffListing {
    /// Counts the lines of the file with this position in the diff.
    fn count(&mut self, position: usize, lines: Option<ChangedLines>) {
        let ChangedLines { added, removed } = lines.unwrap_or_default();
        self.added += added;
        self.removed += removed;
        if let Some(file) = position.checked_sub(self.first).and_then(|index| self.files.get_mut(index)) {
            file.lines = lines;
        }
    }
}

impl ListedFile {
    /// Parses the fields of a line `:MODE MODE ID ID STATUS<tab>PATH`, in which a second path follows for a renamed file.
    fn parse(line: &[u8]) -> Option<Self> {
        let (fields, paths) = line.split_once_str("\t")?;
        let mut fields = fields.split_str(" ");
        let mode = |digits: Option<&[u8]>| {
            let digits = String::from_utf8_lossy(digits?).into_owned();
            (digits.bytes().any(|digit| digit != b'0')).then_some(digits)
        };
        let (old_mode, new_mode) = (mode(fields.next()), mode(fields.next()));
        let is_renamed = fields.last()?.starts_with(b"R");
        let (old_path, new_path) = paths.split_once_str("\t").unwrap_or((paths, paths));
        Some(Self {
            old_path: unquote(old_path),
            new_path: unquote(new_path),
            old_mode,
            new_mode,
            is_renamed,
            lines: None,
        })
    }
}

/// Parses the numbers of a line `ADDED<tab>REMOVED<tab>PATH`, in which a binary file has dashes. Returns None for another
/// line.
fn parse_counts(line: &[u8]) -> Option<Option<ChangedLines>> {
    let mut fields = line.splitn_str(3, "\t");
    let (added, removed, _) = (fields.next()?, fields.next()?, fields.next()?);
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    Some(number(added).zip(number(removed)).map(|(added, removed)| ChangedLines { added, removed }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_diff_has_both_numbers_or_one_or_none() {
        let summary = |files, added, removed| DiffSummary { files, lines: ChangedLines { added, removed } };
        let text = " 2 files changed, 3 insertions(+), 1 deletion(-)\n";
        assert_eq!(DiffSummary::parse(text), summary(2, 3, 1));
        assert_eq!(DiffSummary::parse(" 1 file changed, 12 deletions(-)\n"), summary(1, 0, 12));
        assert_eq!(DiffSummary::parse(" 1 file changed, 1 insertion(+)\n"), summary(1, 1, 0));
        assert_eq!(DiffSummary::parse(""), summary(0, 0, 0));
    }

    #[test]
    fn lines_of_a_listing_are_parsed() {
        let renamed = ListedFile::parse(b"100644 100755 aa bb R090\t\"a\\303\\274\"\tb c").expect("a valid line");
        assert_eq!((renamed.old_path.as_slice(), renamed.new_path.as_slice()), ("aü".as_bytes(), &b"b c"[..]));
        assert!(renamed.is_renamed && renamed.new_mode.as_deref() == Some("100755"));
        let deleted = ListedFile::parse(b"100644 000000 aa 00 D\tx").expect("a valid line");
        assert_eq!((deleted.old_mode.as_deref(), deleted.new_mode), (Some("100644"), None));
        assert_eq!(parse_counts(b"3\t4\tx"), Some(Some(ChangedLines { added: 3, removed: 4 })));
        assert_eq!(parse_counts(b"-\t-\tx"), Some(None));
        assert_eq!(parse_counts(b""), None);
    }
}
