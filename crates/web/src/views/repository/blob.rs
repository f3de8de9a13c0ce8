//! The page of a file.

use std::borrow::Cow;

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::refs::ref_address::DefaultBranch;

use super::commit_line::CommitLine;
use super::path::PathView;
use super::ref_switch::{CodeView, RefSwitch};
use crate::abilities::Abilities;
use crate::file_types::{image_type, is_markdown};
use crate::highlight::HighlightedFile;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::links::query;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::{visible, words};

#[derive(Template)]
#[template(path = "repository/blob.html")]
pub struct BlobPage {
    pub layout: Layout,
    pub refs: RefSwitch,
    pub path: PathView,
    /// The last commit of the file, if it is known.
    pub commit: Option<CommitLine>,
    pub blame_url: String,
    pub find_url: String,
    /// The address of the commits that changed the file.
    pub history_url: String,
    pub size: String,
    pub body: BlobBody,
    /// The file as sanitized HTML, if it is Markdown.
    pub rendered: Option<String>,
    /// The addresses of the rendered file and of its source, if the file is Markdown.
    pub modes: Option<MarkdownModes>,
    pub raw_url: String,
    /// The address with the id of the commit, which keeps its content.
    pub permalink: String,
    pub actions: FileActions,
}

/// The addresses of the forms that change a file, as far as the viewer may change it.
#[derive(Clone, Debug, Default)]
pub struct FileActions {
    pub edit_url: Option<String>,
    pub replace_url: Option<String>,
    pub delete_url: Option<String>,
    /// The address of the form that creates a fork, for a viewer who may change the file only there.
    pub fork_url: Option<String>,
}

/// The addresses of the two views of a Markdown file.
#[derive(Clone, Debug)]
pub struct MarkdownModes {
    pub rendered_url: String,
    pub source_url: String,
}

/// What the page shows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobBody {
    Empty,
    Lines(TextLines),
    /// An image, which the browser loads from the address of its bytes. An SVG is shown as text: its bytes are not served
    /// as an image, because it may contain scripts.
    Image,
    Binary,
    /// The content was not read, because the file is too large.
    TooLarge,
}

/// The lines of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLines {
    pub lines: Vec<String>,
    /// The number of lines of the whole file.
    pub total: usize,
    /// Whether the text is not valid UTF-8, so that some characters are replaced.
    pub is_lossy: bool,
    /// Whether the text contains characters that are not seen.
    pub has_unseen: bool,
    pub highlighted: HighlightedFile,
}

impl TextLines {
    /// Returns the lines as HTML.
    pub fn html(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.highlighted.html(&self.lines)
    }

    pub fn is_cut(&self) -> bool {
        self.lines.len() < self.total
    }
}

/// Maximum size of a file that is shown as text.
pub const MAX_TEXT_BYTES: u64 = 512_000;
/// Maximum number of lines of a file that is shown completely.
const MAX_LINES: usize = 10_000;
/// Number of lines that are shown of a longer file.
const CUT_LINES: usize = 2_000;
/// Number of bytes at the beginning of a file in which a zero byte means that it is binary, as git decides it.
const BINARY_PROBE_BYTES: usize = 8_000;

impl BlobBody {
    /// Decides how a file is shown. `content` is `None` if the file is larger than [`MAX_TEXT_BYTES`].
    pub fn new(path: &str, content: Option<&[u8]>) -> Self {
        if image_type(path).is_some() {
            return Self::Image;
        }
        let Some(content) = content else { return Self::TooLarge };
        if content.is_empty() {
            return Self::Empty;
        }
        if content[..content.len().min(BINARY_PROBE_BYTES)].contains(&0) {
            return Self::Binary;
        }
        let text = String::from_utf8_lossy(content);
        let total = text.lines().count();
        let shown = if total > MAX_LINES { CUT_LINES } else { total };
        let lines: Vec<String> = text.lines().take(shown).map(str::to_owned).collect();
        let is_lossy = matches!(text, Cow::Owned(_));
        let has_unseen = lines.iter().any(|line| visible::has_unseen(line));
        Self::Lines(TextLines { lines, total, is_lossy, has_unseen, highlighted: HighlightedFile::default() })
    }
}

/// A file at a revision.
pub struct BlobInput<'a> {
    pub revision: &'a str,
    pub path: &'a str,
    /// Whether the revision is a branch.
    pub is_branch: bool,
    pub is_symbolic_link: bool,
    pub bytes: u64,
    pub body: BlobBody,
    /// The file as sanitized HTML, if it is Markdown and the viewer has not asked for its source.
    pub rendered: Option<String>,
    /// The commit of the revision.
    pub commit: &'a Commit,
    /// The last commit of the file, if it is known.
    pub last_commit: Option<&'a Commit>,
    pub default_branch: Option<&'a DefaultBranch>,
}

/// Builds the page of a file.
pub fn blob_page(layout: Layout, project: &Project, abilities: Abilities, blob: BlobInput<'_>) -> BlobPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let actions = file_actions(&links, abilities, &blob);
    let BlobInput { revision, path, bytes, body, rendered, commit, last_commit, default_branch, .. } = blob;
    layout.title = format!("{path} · {} at {revision}", project.full_path());
    BlobPage {
        layout,
        actions,
        commit: last_commit.map(|commit| CommitLine::with_date(commit, &links)),
        blame_url: links.blame(revision, path),
        find_url: links.find(revision),
        history_url: links.commits(revision, path),
        size: words::size(bytes),
        modes: (is_markdown(path) && matches!(body, BlobBody::Lines(_))).then(|| MarkdownModes {
            rendered_url: links.blob(revision, path),
            source_url: format!("{}{}", links.blob(revision, path), query(&[("plain", "1")])),
        }),
        body,
        rendered,
        raw_url: links.raw(revision, path),
        permalink: links.blob(&commit.id.to_string(), path),
        refs: RefSwitch::new(&links, default_branch, CodeView::Blob, revision, path),
        path: PathView::new(&project.name, &links, revision, path),
    }
}

fn file_actions(links: &ProjectLinks, abilities: Abilities, blob: &BlobInput<'_>) -> FileActions {
    let BlobInput { revision, path, .. } = blob;
    let is_text = match &blob.body {
        BlobBody::Empty => true,
        BlobBody::Lines(text) => !text.is_lossy,
        BlobBody::Image | BlobBody::Binary | BlobBody::TooLarge => false,
    };
    match () {
        () if !blob.is_branch => FileActions::default(),
        () if abilities.can_write_code => FileActions {
            edit_url: (is_text && !blob.is_symbolic_link).then(|| links.edit_file(revision, path)),
            replace_url: (!blob.is_symbolic_link).then(|| links.upload_file(revision, path)),
            delete_url: Some(links.delete_file(revision, path)),
            fork_url: None,
        },
        () => FileActions { fork_url: abilities.can_fork.then(|| links.fork()), ..FileActions::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shown_by_their_content() {
        assert_eq!(BlobBody::new("a", Some(b"")), BlobBody::Empty);
        assert_eq!(BlobBody::new("a", Some(b"a\0b")), BlobBody::Binary);
        assert_eq!(BlobBody::new("a", None), BlobBody::TooLarge);
        assert_eq!(BlobBody::new("a/b.PNG", None), BlobBody::Image);
        assert!(matches!(BlobBody::new("a.svg", Some(b"<svg/>")), BlobBody::Lines(_)));
        let BlobBody::Lines(text) = BlobBody::new("a", Some(b"one\r\ntwo\n")) else { panic!("the file is a text") };
        assert_eq!((text.lines, text.is_lossy), (vec!["one".to_owned(), "two".to_owned()], false));
    }

    #[test]
    fn long_files_are_cut() {
        let content = "x\n".repeat(MAX_LINES + 1);
        let BlobBody::Lines(text) = BlobBody::new("a", Some(content.as_bytes())) else { panic!("the file is a text") };
        assert!(text.is_cut() && text.lines.len() == CUT_LINES && text.total == MAX_LINES + 1);
    }
}
