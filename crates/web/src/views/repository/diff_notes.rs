//! What a page shows below the lines of its diff, such as discussions, and the links that write about a line.

use std::collections::{BTreeMap, BTreeSet};

use super::diff_rows::DiffRow;

/// A line of a file before or after the change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiffLine {
    pub path: String,
    /// Whether the line is in the file before the change.
    pub is_old: bool,
    pub number: u32,
}

impl DiffLine {
    /// Returns the side in an address: `old` or `new`.
    pub const fn side(&self) -> &'static str {
        if self.is_old { "old" } else { "new" }
    }
}

/// The lines that have a link to a form that writes about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommentableLines {
    #[default]
    None,
    /// The lines after the change.
    New,
    All,
}

/// What stands below the lines of a diff.
#[derive(Clone, Debug, Default)]
pub struct DiffNotes {
    /// HTML that was rendered by templates.
    below: BTreeMap<DiffLine, Vec<String>>,
    commentable: CommentableLines,
}

impl DiffNotes {
    pub fn new(commentable: CommentableLines) -> Self {
        Self { below: BTreeMap::new(), commentable }
    }

    /// Adds HTML below a line, after what is there already.
    pub fn add(&mut self, line: DiffLine, html: String) {
        self.below.entry(line).or_default().push(html);
    }
}

/// The notes of one file of a diff.
#[derive(Clone, Debug, Default)]
pub struct FileNotes {
    /// HTML by side and number of the line.
    below: BTreeMap<(bool, u32), Vec<String>>,
    /// What belongs to lines that the section does not show, with the name of the line.
    hidden: Vec<(String, String)>,
    /// The address of the form that writes about a line, without the line.
    form_url: String,
    commentable: CommentableLines,
}

impl FileNotes {
    /// Finds the notes of a file with these paths before and after the change, and with these rows. `form_url` is the
    /// address of the form that writes about a line, without the line.
    pub fn new<'a>(
        notes: &DiffNotes,
        (old_path, new_path): (&str, &str),
        rows: impl Iterator<Item = &'a DiffRow>,
        form_url: String,
    ) -> Self {
        let mut found = Self { form_url, commentable: notes.commentable, ..Self::default() };
        if notes.below.is_empty() {
            return found;
        }
        let shown: BTreeSet<(bool, u32)> =
            rows.flat_map(|row| [row.old.map(|it| (true, it)), row.new.map(|it| (false, it))]).flatten().collect();
        for (line, html) in &notes.below {
            let path = if line.is_old { old_path } else { new_path };
            if line.path != path {
                continue;
            }
            let key = (line.is_old, line.number);
            if shown.contains(&key) {
                found.below.insert(key, html.clone());
            } else {
                let name = if line.is_old { "Old line" } else { "Line" };
                found.hidden.extend(html.iter().map(|html| (format!("{name} {}", line.number), html.clone())));
            }
        }
        found
    }

    /// Returns what stands below a row that shows the line on both sides.
    pub fn below(&self, row: &DiffRow) -> Vec<&String> {
        self.on_side(true, row.old).chain(self.on_side(false, row.new)).collect()
    }

    /// Returns what stands below a row with a column for each side.
    pub fn below_sides(&self, old: Option<&DiffRow>, new: Option<&DiffRow>) -> Vec<&String> {
        let old = self.on_side(true, old.and_then(|row| row.old));
        old.chain(self.on_side(false, new.and_then(|row| row.new))).collect()
    }

    fn on_side(&self, is_old: bool, number: Option<u32>) -> impl Iterator<Item = &String> {
        number.and_then(|number| self.below.get(&(is_old, number))).into_iter().flatten()
    }

    /// Returns what belongs to lines that the section does not show.
    pub fn hidden(&self) -> &[(String, String)] {
        &self.hidden
    }

    /// Returns the address of the form for the line of a row: the new line, or the old one if it was removed.
    pub fn form_url(&self, row: &DiffRow) -> Option<String> {
        let (url, commentable) = (&self.form_url, self.commentable);
        match (row.old, row.new) {
            _ if commentable == CommentableLines::None => None,
            (_, Some(number)) => Some(format!("{url}&line={number}&side=new#comment")),
            (Some(number), None) if commentable == CommentableLines::All => {
                Some(format!("{url}&line={number}&side=old#comment"))
            }
            (_, None) => None,
        }
    }

    /// Returns how a screen reader calls the link to the form for the line of a row.
    pub fn form_label(&self, row: &DiffRow) -> String {
        match (row.old, row.new) {
            (Some(number), None) => format!("Comment on old line {number}"),
            (_, number) => format!("Comment on line {}", number.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::diff_rows::parse;
    use super::*;

    fn line(is_old: bool, number: u32) -> DiffLine {
        DiffLine { path: if is_old { "a" } else { "b" }.to_owned(), is_old, number }
    }

    #[test]
    fn notes_stand_below_their_lines() {
        let mut notes = DiffNotes::new(CommentableLines::All);
        for (line, text) in [(line(true, 2), "removed"), (line(false, 1), "context"), (line(false, 9), "hidden")] {
            notes.add(line, text.to_owned());
        }
        let rows = parse("@@ -1,2 +1,2 @@\n same\n-old\n+new\n");
        let file = FileNotes::new(&notes, ("a", "b"), rows.iter(), "?file=b".to_owned());
        let below: Vec<Vec<&String>> = rows.iter().map(|row| file.below(row)).collect();
        assert_eq!(below, [vec![], vec!["context"], vec!["removed"], vec![]]);
        assert_eq!(file.hidden(), [("Line 9".to_owned(), "hidden".to_owned())]);
        let urls: Vec<Option<String>> = rows.iter().map(|row| file.form_url(row)).collect();
        let expected =
            ["line=1&side=new", "line=2&side=old", "line=2&side=new"].map(|line| format!("?file=b&{line}#comment"));
        assert_eq!(urls[1..], expected.map(Some));
        let other = FileNotes::new(&notes, ("c", "c"), rows.iter(), String::new());
        assert!(rows.iter().all(|row| other.below(row).is_empty()) && other.hidden().is_empty());
    }
}
