//! The list of commits.

use holdfast_app::repository::browse::commit_list;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::RevisionPathParams;
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::projects::address::ensure_address;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::repository::commit_list::commits_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadCode);
    pages
        .get("/:namespace/:project/commits/*rest", read, Cost::Heavy, "Commits", list)
        .api("GET /projects/:id/repository/commits");
}

params! {
    struct ListParams {
        flatten address: RevisionPathParams,
        /// The id of the commit that precedes the page.
        optional after: String,
    }
}

async fn list(context: RequestContext, ListParams { address, after }: ListParams) -> PageResult {
    let reference = address.project.reference();
    let after = after.as_deref().filter(|id| !id.is_empty());
    let found = commit_list::list(context.app(), &context.actor, &reference, &address.rest, after).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, &context.actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&commits_page(layout, abilities, &found, after))
}
