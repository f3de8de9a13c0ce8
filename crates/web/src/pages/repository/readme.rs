//! Renders the README of a directory.

use holdfast_app::repository::browse::overview::Readme;

use crate::file_types::is_markdown;
use crate::markdown::{self, LinkContext};

/// Returns a README as sanitized HTML, or `None` if it is not Markdown or is not rendered.
pub async fn render(readme: Option<&Readme>, full_path: &str, revision: &str) -> Option<String> {
    let readme = readme?;
    let path = std::str::from_utf8(&readme.path).ok().filter(|path| is_markdown(path))?;
    let content = readme.content.clone()?;
    markdown::render_file(content, LinkContext::for_readme(full_path, revision, path)).await
}
