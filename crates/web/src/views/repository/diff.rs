//! The changes of files: the list of the files, and a section with the diff of each.

use std::io;

use askama::Template;
use holdfast_app::repository::browse::changes::{
    Changes, DiffListing, FileChange, FileSelection, FileText, ListedFile,
};

use super::diff_notes::{DiffNotes, FileNotes};
use super::diff_rows::{self, DiffRow, SplitRow};
use crate::views::{ProjectLinks, links};
use crate::words;

/// How the lines of a diff are arranged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffLayout {
    #[default]
    Unified,
    Split,
}

/// The address of a page with a diff, without what selects the files.
#[derive(Clone, Debug)]
pub struct DiffAddress {
    pub path: String,
    pub layout: DiffLayout,
    /// Further parameters of the page, by name.
    pub parameters: Vec<(&'static str, String)>,
    pub links: ProjectLinks,
    /// The id of the commit after the change, if a ref reaches it.
    pub revision: Option<String>,
    /// The branch with the files after the change, if the viewer may edit them there.
    pub editable_branch: Option<String>,
    pub notes: DiffNotes,
}

impl DiffAddress {
    fn url(&self, layout: DiffLayout, file: &str, after: &str) -> String {
        let view = if layout == DiffLayout::Split { "split" } else { "" };
        let own = [("view", view), ("file", file), ("after", after)];
        let others = self.parameters.iter().map(|(name, value)| (*name, value.as_str()));
        format!("{}{}", self.path, links::query(&own.into_iter().chain(others).collect::<Vec<_>>()))
    }

    /// Returns the address that shows only one file.
    pub fn file_url(&self, path: &str) -> String {
        self.url(self.layout, path, "")
    }

    /// Returns the further parameters as a query.
    pub fn query(&self) -> String {
        let pairs: Vec<_> = self.parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        links::query(&pairs)
    }

    /// Returns the parameters of a page about the values of a ref update, which is named by its generation.
    pub fn of_update(update: Option<i64>) -> Vec<(&'static str, String)> {
        update.map(|generation| ("update", generation.to_string())).into_iter().collect()
    }
}

/// What precedes the sections of the files.
#[derive(Clone, Debug)]
pub struct DiffHead {
    pub total_files: u64,
    pub added: u64,
    pub removed: u64,
    pub layout: DiffLayout,
    pub unified_url: String,
    pub split_url: String,
    pub files: Vec<FileLink>,
    /// The address with all files, if only some of them are shown.
    pub all_url: Option<String>,
    /// The address of the files that follow.
    pub next_url: Option<String>,
}

/// A file in the list of changed files.
#[derive(Clone, Debug)]
pub struct FileLink {
    pub anchor: String,
    pub path: String,
    /// The directory that contains the file, with a slash at its end, or an empty text.
    pub directory: String,
    pub name: String,
    pub added: u64,
    pub removed: u64,
}

impl DiffHead {
    pub fn new(changes: &Changes, address: &DiffAddress) -> Self {
        let DiffListing { files, has_more, total_files, added, removed, .. } = &changes.listing;
        let (file, after) = match &changes.selection {
            FileSelection::First => (String::new(), String::new()),
            FileSelection::After(path) => (String::new(), String::from_utf8_lossy(path).into_owned()),
            FileSelection::Only(path) => (String::from_utf8_lossy(path).into_owned(), String::new()),
        };
        let last = files.last().filter(|_| *has_more).and_then(|file| std::str::from_utf8(&file.new_path).ok());
        Self {
            total_files: *total_files,
            added: *added,
            removed: *removed,
            layout: address.layout,
            unified_url: address.url(DiffLayout::Unified, &file, &after),
            split_url: address.url(DiffLayout::Split, &file, &after),
            files: files.iter().enumerate().map(|(index, file)| file_link(index, file)).collect(),
            all_url: (changes.selection != FileSelection::First).then(|| address.url(address.layout, "", "")),
            next_url: last.map(|path| address.url(address.layout, "", path)),
        }
    }

    pub fn is_split(&self) -> bool {
        self.layout == DiffLayout::Split
    }
}

fn file_link(index: usize, file: &ListedFile) -> FileLink {
    let path = String::from_utf8_lossy(shown_path(file)).into_owned();
    let lines = file.lines.unwrap_or_default();
    let (directory, name) = short_path(&path);
    FileLink { anchor: anchor(index), directory, name, path, added: lines.added, removed: lines.removed }
}

/// Returns the last directory of a path with a slash at its end, and the name of the file. A mark stands for the
/// directories above it.
fn short_path(path: &str) -> (String, String) {
    let Some((directories, name)) = path.rsplit_once('/') else { return (String::new(), path.to_owned()) };
    let directory = match directories.rsplit_once('/') {
        Some((_, last)) => format!("…/{last}/"),
        None => format!("{directories}/"),
    };
    (directory, name.to_owned())
}

/// Returns the id of the section of a file.
fn anchor(index: usize) -> String {
    format!("f{}", index + 1)
}

/// Returns the path after the change, or before it if the file was deleted.
fn shown_path(file: &ListedFile) -> &[u8] {
    if file.new_mode.is_none() { &file.old_path } else { &file.new_path }
}

/// The section of one file.
#[derive(Template)]
#[template(path = "repository/diff_file.html")]
pub struct FileSection {
    pub anchor: String,
    /// The directory of the file with a slash at its end, or an empty text.
    pub directory: String,
    pub name: String,
    /// The former path of a renamed file.
    pub old_path: Option<String>,
    /// What happened to the file as a whole: `added`, `deleted`, `renamed`, or an empty text.
    pub change: &'static str,
    /// What the file is, unless it is a regular one.
    pub kind: Option<&'static str>,
    /// A change of the mode, such as `100644 → 100755`.
    pub mode_change: Option<String>,
    pub added: u64,
    pub removed: u64,
    /// The address of the file after the change.
    pub url: Option<String>,
    /// The address of the form that edits the file.
    pub edit_url: Option<String>,
    pub body: FileBody,
    pub notes: FileNotes,
}

pub enum FileBody {
    Unified(Vec<DiffRow>),
    Split(Vec<SplitRow>),
    /// No lines, with the reason and an address that shows them.
    Folded(String, Option<String>),
}

impl FileBody {
    /// Returns the rows that show lines.
    fn rows(&self) -> Vec<&DiffRow> {
        match self {
            Self::Unified(rows) => rows.iter().collect(),
            Self::Split(rows) => rows.iter().flat_map(|row| [row.old.as_ref(), row.new.as_ref()]).flatten().collect(),
            Self::Folded(..) => Vec::new(),
        }
    }
}

impl FileSection {
    /// Returns five marks for the ratio of added and removed lines: `a`, `d`, or an empty class.
    pub fn marks(&self) -> [&'static str; 5] {
        const MARKS: u64 = 5;
        let total = self.added + self.removed;
        let added = (self.added * MARKS + total / 2).checked_div(total).unwrap_or(0);
        let removed = if total == 0 { 0 } else { MARKS - added };
        std::array::from_fn(|position| match position as u64 {
            position if position < added => "a",
            position if position < added + removed => "d",
            _ => "",
        })
    }

    fn new(index: usize, file: &ListedFile, change: Option<FileChange>, address: &DiffAddress) -> Self {
        let (is_new, is_deleted) = (file.old_mode.is_none(), file.new_mode.is_none());
        let path = String::from_utf8_lossy(shown_path(file));
        let (directory, name) =
            path.rsplit_once('/').map_or(("", &*path), |(_, name)| path.split_at(path.len() - name.len()));
        let lines = file.lines.unwrap_or_default();
        let is_mode_changed = !is_new && !is_deleted && file.old_mode != file.new_mode;
        let mode = file.new_mode.as_deref().or(file.old_mode.as_deref()).unwrap_or_default();
        let utf8_path = std::str::from_utf8(shown_path(file)).ok();
        let revision = address.revision.as_deref().filter(|_| !is_deleted && mode != SUBMODULE);
        let is_text = file.lines.is_some() && !matches!(mode, SUBMODULE | SYMBOLIC_LINK);
        let branch = address.editable_branch.as_deref().filter(|_| is_text && !is_deleted);
        let body = body(file, change, address, utf8_path.map(|path| address.file_url(path)));
        let paths = (&*String::from_utf8_lossy(&file.old_path), &*String::from_utf8_lossy(&file.new_path));
        let form_url = address.file_url(&path);
        Self {
            notes: FileNotes::new(&address.notes, paths, body.rows().into_iter(), form_url),
            anchor: anchor(index),
            directory: directory.to_owned(),
            name: name.to_owned(),
            old_path: file.is_renamed.then(|| String::from_utf8_lossy(&file.old_path).into_owned()),
            change: match (is_new, is_deleted, file.is_renamed) {
                (true, _, _) => "added",
                (_, true, _) => "deleted",
                (_, _, true) => "renamed",
                _ => "",
            },
            kind: match mode {
                SUBMODULE => Some("submodule"),
                SYMBOLIC_LINK => Some("symbolic link"),
                _ => None,
            },
            mode_change: file
                .old_mode
                .as_ref()
                .zip(file.new_mode.as_ref())
                .filter(|_| is_mode_changed)
                .map(|(old, new)| format!("{old} → {new}")),
            added: lines.added,
            removed: lines.removed,
            url: revision.zip(utf8_path).map(|(revision, path)| address.links.blob(revision, path)),
            edit_url: branch.zip(utf8_path).map(|(branch, path)| address.links.edit_file(branch, path)),
            body,
        }
    }
}

/// The modes of entries that are not regular files.
const SUBMODULE: &str = "160000";
const SYMBOLIC_LINK: &str = "120000";

fn body(file: &ListedFile, change: Option<FileChange>, address: &DiffAddress, file_url: Option<String>) -> FileBody {
    let (lines, bytes) = change.as_ref().map_or((0, 0), |change| (change.lines, change.bytes));
    if file.lines.is_none() {
        return FileBody::Folded("Binary files differ.".to_owned(), None);
    }
    let text = match change.map_or(FileText::PageFull, |change| change.text) {
        FileText::Whole(text) | FileText::Beginning(text) => text,
        FileText::TooLong => {
            let size = format!("{} ({})", words::lines(lines), words::size(bytes));
            return FileBody::Folded(format!("This diff has {size} and is not shown."), file_url);
        }
        FileText::PageFull => {
            return FileBody::Folded("The page is full and shows no more lines.".to_owned(), file_url);
        }
    };
    let rows = diff_rows::parse(&String::from_utf8_lossy(&text));
    if rows.is_empty() {
        return FileBody::Folded("The content did not change.".to_owned(), None);
    }
    match address.layout {
        DiffLayout::Unified => FileBody::Unified(rows),
        DiffLayout::Split => FileBody::Split(diff_rows::split(rows)),
    }
}

/// Shown if a page ends before its last file.
pub const INTERRUPTED: &str = "<div class=\"flash bad\" role=\"status\"><p>The response was interrupted. Reload the page to \
    see the remaining files.</p></div>";
/// Shown below the beginning of a long diff.
const CUT: &str = "<p class=\"folded\">Only the beginning of this diff is shown. Compare the commits with git to see all \
    of it.</p>";

/// Renders the section of one file.
pub fn section_html(index: usize, file: &ListedFile, change: Option<FileChange>, address: &DiffAddress) -> String {
    let is_cut = change.as_ref().is_some_and(|change| matches!(change.text, FileText::Beginning(_)));
    let section = FileSection::new(index, file, change, address).render();
    let html = section.unwrap_or_else(|error| interrupted(&io::Error::other(error)));
    if is_cut { format!("{html}{CUT}") } else { html }
}

/// Returns the notice at the end of a page whose diff failed.
pub fn interrupted(error: &io::Error) -> String {
    tracing::info!(%error, "a page with a diff was interrupted");
    INTERRUPTED.to_owned()
}

#[cfg(test)]
mod tests {
    use holdfast_app::repository::browse::changes::ChangedLines;

    use super::*;

    fn address() -> DiffAddress {
        DiffAddress {
            path: "/a/b/commit/1".into(),
            layout: DiffLayout::Unified,
            parameters: Vec::new(),
            links: ProjectLinks::new("a/b"),
            revision: Some("0123".into()),
            editable_branch: Some("topic".into()),
            notes: DiffNotes::default(),
        }
    }

    fn file() -> ListedFile {
        ListedFile {
            old_path: b"src/a.rs".to_vec(),
            new_path: b"src/a.rs".to_vec(),
            old_mode: Some("100644".into()),
            new_mode: Some("100755".into()),
            is_renamed: false,
            lines: Some(ChangedLines { added: 1, removed: 1 }),
        }
    }

    #[test]
    fn paths_are_shortened_from_the_left() {
        let shown = |path| {
            let (directory, name) = short_path(path);
            format!("{directory}{name}")
        };
        assert_eq!(["a.rs", "src/a.rs", "crates/web/src/a.rs"].map(shown), ["a.rs", "src/a.rs", "…/src/a.rs"]);
    }

    #[test]
    fn a_file_states_its_path_and_change() {
        let section = FileSection::new(0, &file(), None, &address());
        assert_eq!((section.directory.as_str(), section.name.as_str()), ("src/", "a.rs"));
        assert_eq!(section.mode_change.as_deref(), Some("100644 → 100755"));
        assert_eq!(section.marks(), ["a", "a", "a", "d", "d"]);
        assert_eq!(section.url.as_deref(), Some("/a/b/blob/0123/src/a.rs"));
        assert_eq!(section.edit_url.as_deref(), Some("/a/b/edit/topic/src/a.rs"));
        let FileBody::Folded(_, url) = section.body else { panic!("nothing is shown of the file") };
        assert_eq!(url.as_deref(), Some("/a/b/commit/1?file=src%2Fa.rs"));
    }

    #[test]
    fn only_a_text_that_still_exists_can_be_edited() {
        let deleted = ListedFile { new_mode: None, ..file() };
        let binary = ListedFile { lines: None, ..file() };
        let link = ListedFile { new_mode: Some(SYMBOLIC_LINK.into()), ..file() };
        for file in [deleted, binary, link] {
            assert_eq!(FileSection::new(0, &file, None, &address()).edit_url, None);
        }
    }
}
