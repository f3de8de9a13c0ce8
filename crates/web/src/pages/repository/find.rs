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
use crate::views::ProjectLinks;
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

/// Shows the files that match. Redirects to the file if it is the only one.
async fn show(context: RequestContext, FindFile { revision, path }: FindFile) -> PageResult {
    let filter = path.unwrap_or_default();
    let RevisionPathParams { project, rest } = revision;
    let found = file_search::find(context.app(), &context.actor, &project.reference(), &rest, &filter).await?;
    ensure_address(&context, &found.project)?;
    let is_complete_search = !filter.trim().is_empty() && !found.is_incomplete;
    let only_path = match found.files.as_slice() {
        [file] if is_complete_search => std::str::from_utf8(&file.path).ok(),
        _ => None,
    };
    if let Some(path) = only_path {
        let links = ProjectLinks::new(&found.project.full_path());
        return Ok(respond::see_other(links.blob(&found.address, path)));
    }
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&find_page(layout, &found, abilities, filter))
}
