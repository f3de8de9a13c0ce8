//! The page that checks a CI file.

use askama::Template;
use holdfast_app::ci::lint::{LintedFile, LintedStage};

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};

#[derive(Template)]
#[template(path = "ci/lint.html")]
pub struct LintPage {
    pub layout: Layout,
    pub action: String,
    /// The text that was checked.
    pub content: String,
    /// The stages of a valid file.
    pub stages: Option<Vec<LintedStage>>,
    /// Why the file is not valid.
    pub error: Option<String>,
}

/// Builds the page that checks a CI file.
pub fn lint_page(layout: Layout, abilities: Abilities, found: &LintedFile, content: String) -> LintPage {
    let LintedFile { project, result } = found;
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Pipelines);
    layout.title = format!("Check a CI file · {}", project.full_path());
    LintPage {
        layout,
        action: ProjectLinks::new(&project.full_path()).ci_lint(),
        content,
        stages: result.as_ref().and_then(|result| result.as_ref().ok().cloned()),
        error: result.as_ref().and_then(|result| result.as_ref().err().cloned()),
    }
}
