//! The README of a directory, below its entries.

use holdfast_app::repository::browse::overview::Readme;

use crate::views::ProjectLinks;
use crate::words;

pub struct ReadmeView {
    pub name: String,
    pub url: String,
    pub body: ReadmeBody,
}

pub enum ReadmeBody {
    /// Sanitized HTML.
    Html(String),
    Text(String),
    TooLarge(String),
}

impl ReadmeView {
    /// Builds the README. `html` is its text as sanitized HTML; without it, the text is shown.
    pub fn new(readme: &Readme, links: &ProjectLinks, revision: &str, html: Option<String>) -> Self {
        let body = match (html, &readme.content) {
            (Some(html), _) => ReadmeBody::Html(html),
            (None, Some(content)) => ReadmeBody::Text(String::from_utf8_lossy(content).into_owned()),
            (None, None) => ReadmeBody::TooLarge(words::size(readme.bytes)),
        };
        let name = readme.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        Self { name: String::from_utf8_lossy(name).into_owned(), url: links.blob(revision, &readme.path), body }
    }

    pub fn html(&self) -> Option<&str> {
        if let ReadmeBody::Html(html) = &self.body { Some(html) } else { None }
    }

    /// Returns the text as HTML that shows characters which are not seen.
    pub fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        if let ReadmeBody::Text(text) = &self.body { Some(crate::visible::escape(text)) } else { None }
    }

    /// Returns the size of a README that is too large to be shown.
    pub fn large_size(&self) -> Option<&str> {
        if let ReadmeBody::TooLarge(size) = &self.body { Some(size) } else { None }
    }
}
