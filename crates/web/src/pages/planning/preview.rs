//! The preview of Markdown, which a script shows in the form of a text.

use holdfast_app::planning::issue_form;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::issue_form::with_unix_lines;
use crate::cost::Cost;
use crate::markdown::{self, LinkContext};
use crate::pages::Pages;
use crate::pages::projects::address::ProjectPathParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::planning::preview::PreviewPart;
use crate::views::prose::Prose;

pub fn declare(pages: &mut Pages) {
    let create = Access::Project(ProjectAction::CreateIssue);
    pages.post("/:namespace/:project/preview", create, Cost::Normal, "Preview a text", show);
}

params! {
    struct PreviewParams {
        flatten project: ProjectPathParams,
        optional text: String,
    }
}

/// Responds with the part of a page that shows the text as it will look.
async fn show(context: RequestContext, PreviewParams { project, text }: PreviewParams) -> PageResult {
    let project = issue_form::authorize_preview(context.app(), &context.actor, &project.reference()).await?;
    let text = with_unix_lines(text.as_deref());
    let links = LinkContext::for_texts(&project.full_path());
    respond::html(&PreviewPart { prose: Prose::new(&text, markdown::render(&text, &links)) })
}
