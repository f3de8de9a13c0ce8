//! The page of a directory.

use holdfast_app::repository::browse::tree;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::tree::tree_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/tree/*rest", read, Cost::Normal, "Files", show)
        .api("GET /projects/:id/repository/tree");
}

async fn show(context: RequestContext, RevisionPathParams { project, rest }: RevisionPathParams) -> PageResult {
    let page = context.long_page();
    let found = tree::show(context.app(), &context.actor, &project.reference(), &rest, page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    let (revision, path) = (&found.revision, &found.path);
    let commit = Some(&found.commit);
    respond::html(&tree_page(layout, &found.project, abilities, revision, path, &found.entries, commit))
}
