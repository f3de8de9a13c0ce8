//! The changes of files as rows of a table.

use holdfast_app::repository::browse::compare::FileDiff;

use crate::views::ProjectLinks;

/// The changes of one file.
#[derive(Clone, Debug)]
pub struct FileView {
    /// The id of the section on the page, such as `f3`.
    pub anchor: String,
    /// The directory of the file with a slash at its end, or an empty text.
    pub directory: String,
    pub name: String,
    /// The former path of a renamed file.
    pub old_path: Option<String>,
    /// What happened to the file as a whole: `added`, `deleted`, `renamed`, or an empty text.
    pub change: &'static str,
    /// A change of the mode, such as `100644 → 100755`.
    pub mode_change: Option<String>,
    pub added: i64,
    pub removed: i64,
    /// The address of the file after the change. None if it was deleted.
    pub url: Option<String>,
    pub rows: Vec<DiffRow>,
    /// Why no rows are shown.
    pub folded: Option<&'static str>,
}

/// A line of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    pub kind: RowKind,
    pub old: Option<u32>,
    pub new: Option<u32>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The header of a group of lines.
    Hunk,
    Context,
    Added,
    Removed,
    /// The statement that a file does not end with a newline.
    MissingNewline,
}

impl RowKind {
    /// Returns the class of the row.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Hunk => "hunk",
            Self::Context => "",
            Self::Added => "add",
            Self::Removed => "del",
            Self::MissingNewline => "no-newline",
        }
    }

    /// Returns the sign beside the line, which tells the change without its color.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "−",
            Self::Hunk | Self::Context | Self::MissingNewline => "",
        }
    }
}

impl FileView {
    /// Returns five marks for the ratio of added and removed lines: `a`, `d`, or an empty class.
    pub fn marks(&self) -> [&'static str; 5] {
        const MARKS: i64 = 5;
        let total = self.added + self.removed;
        let added = if total == 0 { 0 } else { (self.added * MARKS + total / 2) / total };
        let removed = if total == 0 { 0 } else { MARKS - added };
        std::array::from_fn(|position| match i64::try_from(position).unwrap_or(MARKS) {
            position if position < added => "a",
            position if position < added + removed => "d",
            _ => "",
        })
    }
}

/// The sum of all files.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffTotals {
    pub files: usize,
    pub added: i64,
    pub removed: i64,
}

/// Maximum number of rows on a page. Files beyond it are folded.
const MAX_PAGE_ROWS: usize = 3_000;
/// Maximum number of rows of one file that are shown.
const MAX_FILE_ROWS: usize = 500;
/// Maximum number of characters of one line.
const MAX_LINE_CHARS: usize = 1_000;

/// Builds the files of a diff. `revision` is the id of the commit after the change.
pub fn file_views(files: &[FileDiff], links: &ProjectLinks, revision: &str) -> (Vec<FileView>, DiffTotals) {
    let mut rows_left = MAX_PAGE_ROWS;
    let mut totals = DiffTotals { files: files.len(), ..DiffTotals::default() };
    let mut views = Vec::with_capacity(files.len());
    for (index, file) in files.iter().enumerate() {
        let mut view = file_view(index, file, links, revision);
        totals.added += view.added;
        totals.removed += view.removed;
        if view.rows.len() > rows_left {
            view.rows.clear();
            view.folded = Some("The page shows no more lines. Compare the commits with git to see this file.");
        }
        rows_left -= view.rows.len();
        views.push(view);
    }
    (views, totals)
}

fn file_view(index: usize, file: &FileDiff, links: &ProjectLinks, revision: &str) -> FileView {
    let (is_new, is_deleted) = (file.old_mode.is_none(), file.new_mode.is_none());
    let path = if is_deleted { &file.old_path } else { &file.new_path };
    let text = String::from_utf8_lossy(path);
    let (directory, name) =
        text.rsplit_once('/').map_or(("", &*text), |(_, name)| text.split_at(text.len() - name.len()));
    let mut rows = parse(&String::from_utf8_lossy(&file.text));
    let count = |kind| i64::try_from(rows.iter().filter(|row: &&DiffRow| row.kind == kind).count()).unwrap_or(i64::MAX);
    let (added, removed) = (count(RowKind::Added), count(RowKind::Removed));
    let folded = if rows.len() > MAX_FILE_ROWS {
        rows.clear();
        Some("This diff is too long to be shown.")
    } else if rows.is_empty() && file.bytes > 0 {
        Some(if file.text.is_empty() { "This diff is too long to be shown." } else { "Binary files differ." })
    } else if rows.is_empty() {
        Some("The content did not change.")
    } else {
        None
    };
    let is_mode_changed = !is_new && !is_deleted && file.old_mode != file.new_mode;
    FileView {
        anchor: format!("f{}", index + 1),
        directory: directory.to_owned(),
        name: name.to_owned(),
        old_path: file.is_renamed.then(|| String::from_utf8_lossy(&file.old_path).into_owned()),
        change: match (is_new, is_deleted, file.is_renamed) {
            (true, _, _) => "added",
            (_, true, _) => "deleted",
            (_, _, true) => "renamed",
            _ => "",
        },
        mode_change: file
            .old_mode
            .as_ref()
            .zip(file.new_mode.as_ref())
            .filter(|_| is_mode_changed)
            .map(|(old, new)| format!("{old} → {new}")),
        added,
        removed,
        url: (!is_deleted).then(|| links.blob(revision, &file.new_path)),
        rows,
        folded,
    }
}

/// Parses the text of a diff into rows. The lengths in the header of a hunk tell which lines belong to it, so that the
/// headers of a second file, as after a change of the file type, are not taken for changed lines.
fn parse(text: &str) -> Vec<DiffRow> {
    let mut rows = Vec::new();
    let (mut old, mut new) = (Range::default(), Range::default());
    for line in text.lines() {
        let rest = || line.get(1..).unwrap_or_default().chars().take(MAX_LINE_CHARS).collect::<String>();
        let is_in_hunk = old.left > 0 || new.left > 0;
        let row = match line.as_bytes().first() {
            Some(b'+') if is_in_hunk => DiffRow { kind: RowKind::Added, old: None, new: new.advance(), text: rest() },
            Some(b'-') if is_in_hunk => DiffRow { kind: RowKind::Removed, old: old.advance(), new: None, text: rest() },
            Some(b'\\') if !rows.is_empty() => {
                DiffRow { kind: RowKind::MissingNewline, old: None, new: None, text: rest().trim().to_owned() }
            }
            _ if is_in_hunk => DiffRow { kind: RowKind::Context, old: old.advance(), new: new.advance(), text: rest() },
            _ => {
                let Some((next_old, next_new, context)) = parse_hunk(line) else { continue };
                (old, new) = (next_old, next_new);
                DiffRow { kind: RowKind::Hunk, old: None, new: None, text: context.to_owned() }
            }
        };
        rows.push(row);
    }
    rows
}

/// The lines of one side of a hunk that have not been read yet.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    next: u32,
    left: u32,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (first, length) = text.split_once(',').unwrap_or((text, "1"));
        Some(Self { next: first.parse().ok()?, left: length.parse().ok()? })
    }

    /// Returns the number of the next line, and moves on.
    fn advance(&mut self) -> Option<u32> {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        Some(number)
    }
}

/// Parses `@@ -31,7 +31,9 @@ impl Grid {` into the lines of both sides and the text behind them.
fn parse_hunk(line: &str) -> Option<(Range, Range, &str)> {
    let (ranges, context) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    Some((Range::parse(old)?, Range::parse(new)?, context.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn at()\n same\n-old\n+new\n\\ No newline at end of file\n";

    #[test]
    fn rows_have_the_numbers_of_their_lines() {
        let rows = parse(TEXT);
        let shown: Vec<_> = rows.iter().map(|row| (row.kind, row.old, row.new, row.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (RowKind::Hunk, None, None, "fn at()"),
                (RowKind::Context, Some(3), Some(3), "same"),
                (RowKind::Removed, Some(4), None, "old"),
                (RowKind::Added, None, Some(4), "new"),
                (RowKind::MissingNewline, None, None, "No newline at end of file"),
            ]
        );
    }

    #[test]
    fn headers_between_hunks_are_no_changes() {
        let rows = parse("@@ -1 +0,0 @@\n-a\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n");
        let kinds: Vec<RowKind> = rows.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, [RowKind::Hunk, RowKind::Removed, RowKind::Hunk, RowKind::Added]);
    }

    #[test]
    fn a_file_states_its_path_and_change() {
        let file = FileDiff {
            old_path: b"src/a.rs".to_vec(),
            new_path: b"src/a.rs".to_vec(),
            old_mode: Some("100644".into()),
            new_mode: Some("100755".into()),
            text: TEXT.as_bytes().to_vec(),
            bytes: 80,
            lines: 7,
            ..FileDiff::default()
        };
        let (files, totals) = file_views(&[file], &ProjectLinks::new("a/b"), "0123");
        let view = &files[0];
        assert_eq!((view.directory.as_str(), view.name.as_str(), view.added, view.removed), ("src/", "a.rs", 1, 1));
        assert_eq!(view.mode_change.as_deref(), Some("100644 → 100755"));
        assert_eq!(view.url.as_deref(), Some("/a/b/blob/0123/src/a.rs"));
        assert_eq!((totals.files, totals.added, view.marks()), (1, 1, ["a", "a", "a", "d", "d"]));
    }
}
