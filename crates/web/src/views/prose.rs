//! Text that people wrote: Markdown as sanitized HTML, or the text itself.

/// A text of a user.
#[derive(Clone, Debug)]
pub enum Prose {
    /// HTML that was sanitized after it was made from Markdown.
    Html(String),
    /// Plain text, shown with its line breaks.
    Text(String),
}

impl Prose {
    /// Returns the rendered text, or the text itself if it was not rendered. Returns `None` for a blank text.
    pub fn new(text: &str, html: Option<String>) -> Option<Self> {
        if text.trim().is_empty() {
            return None;
        }
        Some(html.map_or_else(|| Self::Text(text.to_owned()), Self::Html))
    }

    pub fn html(&self) -> Option<&str> {
        if let Self::Html(html) = self { Some(html) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}
