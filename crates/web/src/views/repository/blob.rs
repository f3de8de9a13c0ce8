//! The page of a file.

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::browse::commit::Commit;

use super::commit_line::CommitLine;
use super::path::PathView;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::words;

#[derive(Template)]
#[template(path = "repository/blob.html")]
pub struct BlobPage {
    pub layout: Layout,
    pub path: PathView,
    pub commit: Option<CommitLine>,
    pub size: String,
    pub body: BlobBody,
    pub raw_url: String,
    /// The address with the id of the commit, which keeps its content.
    pub permalink: String,
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
}

impl TextLines {
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
        let lines = text.lines().take(shown).map(str::to_owned).collect();
        Self::Lines(TextLines { lines, total, is_lossy: matches!(text, std::borrow::Cow::Owned(_)) })
    }
}

/// Returns the content type of an image that browsers show and that cannot contain scripts, by the extension of its
/// path.
pub fn image_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        _ => return None,
    })
}

/// A file at a revision.
pub struct BlobInput<'a> {
    pub revision: &'a str,
    pub path: &'a str,
    pub bytes: u64,
    pub body: BlobBody,
    /// The commit of the revision.
    pub commit: &'a Commit,
}

/// Builds the page of a file.
pub fn blob_page(layout: Layout, project: &Project, abilities: Abilities, blob: BlobInput<'_>) -> BlobPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let BlobInput { revision, path, bytes, body, commit } = blob;
    layout.title = format!("{path} · {} at {revision}", project.full_path());
    BlobPage {
        layout,
        commit: Some(CommitLine::with_date(commit, &links)),
        size: words::size(bytes),
        body,
        raw_url: links.raw(revision, path),
        permalink: links.blob(&commit.id.to_string(), path),
        path: PathView::new(&project.name, &links, revision, path),
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
