//! The page that shows the last commit of each line of a file.

use holdfast_app::repository::browse::blame::{self, BlamedContent};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::highlight;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::blame::{blame_page, html_lines, lines};

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages.get("/:namespace/:project/blame/*rest", read, Cost::Heavy, "Blame", show);
}

async fn show(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let file = blame::show(context.app(), &context.actor, &project.reference(), &rest).await?;
    ensure_address(&context, &file.project)?;
    let abilities = Abilities::new(&file.project, &context.actor);
    let mut html = Vec::new();
    if let BlamedContent::Lines { text, .. } = &file.content {
        let lines = lines(text);
        let highlighted = highlight::highlight_file(file.id.to_string(), file.path.clone(), lines.clone()).await;
        html = html_lines(&lines, highlighted.as_deref());
    }
    respond::html(&blame_page(context.layout(), &file, abilities, html))
}
