//! The lines of a diff as rows of a table, in one or two columns.

use crate::visible;

/// A line of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffRow {
    pub kind: RowKind,
    pub old: Option<u32>,
    pub new: Option<u32>,
    /// The line, escaped for HTML.
    pub html: String,
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

/// A row of a diff in two columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitRow {
    pub old: Option<DiffRow>,
    pub new: Option<DiffRow>,
    /// A header or a statement, which has the width of both columns.
    pub wide: Option<DiffRow>,
}

/// Maximum number of characters of one line.
const MAX_LINE_CHARS: usize = 1_000;

/// Returns a line, or its beginning, escaped for HTML. Characters that are not seen are shown by their codes.
fn line_html(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARS) {
        None => visible::escape(line).into_owned(),
        Some((end, _)) => {
            let mark = "<span class=\"faint\"> … the line is cut after 1,000 characters</span>";
            format!("{}{mark}", visible::escape(&line[..end]))
        }
    }
}

/// Parses the text of a diff into rows. The lengths in the header of a hunk tell which lines belong to it, so that the
/// headers of a second file, as after a change of the file type, are not taken for changed lines.
pub fn parse(text: &str) -> Vec<DiffRow> {
    let mut rows = Vec::new();
    let (mut old, mut new) = (Range::default(), Range::default());
    for line in text.split_terminator('\n') {
        let html = || line_html(line.get(1..).unwrap_or_default().trim_end_matches('\r'));
        let is_in_hunk = old.left > 0 || new.left > 0;
        let row = match line.as_bytes().first() {
            Some(b'+') if is_in_hunk => DiffRow { kind: RowKind::Added, old: None, new: new.advance(), html: html() },
            Some(b'-') if is_in_hunk => DiffRow { kind: RowKind::Removed, old: old.advance(), new: None, html: html() },
            Some(b'\\') if !rows.is_empty() => {
                DiffRow { kind: RowKind::MissingNewline, old: None, new: None, html: html().trim().to_owned() }
            }
            _ if is_in_hunk => DiffRow { kind: RowKind::Context, old: old.advance(), new: new.advance(), html: html() },
            _ => {
                let Some((next_old, next_new, context)) = parse_hunk(line) else { continue };
                (old, new) = (next_old, next_new);
                // The only hunk of an added or deleted file says nothing that its lines do not show.
                if context.is_empty() && (old.is_empty_side() || new.is_empty_side()) {
                    continue;
                }
                DiffRow { kind: RowKind::Hunk, old: None, new: None, html: line_html(line.trim_end()) }
            }
        };
        rows.push(row);
    }
    rows
}

/// Arranges the rows in two columns. Removed lines stand beside the added lines that follow them.
pub fn split(rows: Vec<DiffRow>) -> Vec<SplitRow> {
    let mut found: Vec<SplitRow> = Vec::with_capacity(rows.len());
    // The first row of the current group of removed lines that has no added line beside it.
    let mut free = None;
    for row in rows {
        match row.kind {
            RowKind::Hunk | RowKind::MissingNewline => {
                // A statement between removed and added lines does not separate them.
                if row.kind == RowKind::Hunk {
                    free = None;
                }
                found.push(SplitRow { wide: Some(row), ..SplitRow::default() });
            }
            RowKind::Context => {
                free = None;
                found.push(SplitRow { old: Some(row.clone()), new: Some(row), wide: None });
            }
            RowKind::Removed => {
                free = free.or(Some(found.len()));
                found.push(SplitRow { old: Some(row), ..SplitRow::default() });
            }
            RowKind::Added => {
                let place = free.and_then(|start| (start..found.len()).find(|index| is_free(found.get(*index))));
                match place.and_then(|index| found.get_mut(index)) {
                    Some(beside) => beside.new = Some(row),
                    None => found.push(SplitRow { new: Some(row), ..SplitRow::default() }),
                }
                free = place.map(|index| index + 1);
            }
        }
    }
    found
}

fn is_free(row: Option<&SplitRow>) -> bool {
    row.is_some_and(|row| row.old.is_some() && row.new.is_none())
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

    /// Returns whether this is the side of a file that does not exist, or is empty: `0,0`.
    fn is_empty_side(self) -> bool {
        self.next == 0 && self.left == 0
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

    const TEXT: &str = "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn at()\n same\n-old\n+<new>\n\\ No newline at end of file\n";

    #[test]
    fn rows_have_the_numbers_of_their_lines() {
        let rows = parse(TEXT);
        let shown: Vec<_> = rows.iter().map(|row| (row.kind, row.old, row.new, row.html.as_str())).collect();
        assert_eq!(
            shown,
            [
                (RowKind::Hunk, None, None, "@@ -3,2 +3,2 @@ fn at()"),
                (RowKind::Context, Some(3), Some(3), "same"),
                (RowKind::Removed, Some(4), None, "old"),
                (RowKind::Added, None, Some(4), "&lt;new&gt;"),
                (RowKind::MissingNewline, None, None, "No newline at end of file"),
            ]
        );
    }

    #[test]
    fn headers_between_hunks_are_no_changes() {
        let rows = parse("@@ -1 +0,0 @@\n-a\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n");
        let kinds: Vec<RowKind> = rows.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, [RowKind::Removed, RowKind::Added]);
    }

    #[test]
    fn removed_lines_stand_beside_added_ones() {
        let rows = split(parse("@@ -1,3 +1,4 @@\n-a\n-b\n+c\n d\n+e\n+f\n"));
        let sides = |row: &SplitRow| {
            let html = |side: &Option<DiffRow>| side.as_ref().map(|row| row.html.clone()).unwrap_or_default();
            (html(&row.old), html(&row.new))
        };
        let shown: Vec<(String, String)> = rows.iter().map(sides).collect();
        let pairs = [("", ""), ("a", "c"), ("b", ""), ("d", "d"), ("", "e"), ("", "f")];
        assert_eq!(shown, pairs.map(|(old, new)| (old.to_owned(), new.to_owned())));
    }

    #[test]
    fn long_lines_are_cut() {
        let rows = parse(&format!("@@ -0,0 +1 @@\n+{}\n", "ü".repeat(MAX_LINE_CHARS + 1)));
        assert_eq!(rows[0].html.matches('ü').count(), MAX_LINE_CHARS);
        assert!(rows[0].html.contains("the line is cut"));
    }
}
