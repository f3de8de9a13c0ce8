//! The preview of Markdown.

use askama::Template;

use crate::views::prose::Prose;

/// The part of a page that shows a text as it will look. It is not a page of its own.
#[derive(Template)]
#[template(path = "planning/preview.html")]
pub struct PreviewPart {
    /// None for a blank text.
    pub prose: Option<Prose>,
}
