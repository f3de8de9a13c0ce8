//! The search for files of a revision by their paths.

use holdfast_app::repository::browse::file_search;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::find::find_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/find/*rest", read, Cost::Heavy, "Find a file", show)
        .api("GET /projects/:id/repository/tree");
}

params! {
    struct FindFile {
        flatten revision: RevisionPathParams,
        /// Words that the path contains.
        optional path: String,
    }
}

async fn show(context: RequestContext, FindFile { revision, path }: FindFile) -> PageResult {
    let filter = path.unwrap_or_default();
    let RevisionPathParams { project, rest } = revision;
    let found = file_search::find(context.app(), &context.actor, &project.reference(), &rest, &filter).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&find_page(layout, &found, abilities, filter))
}
