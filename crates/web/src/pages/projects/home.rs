//! The home page of a project.

use holdfast_app::projects::home;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::Access;

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::pages::Pages;
use crate::pages::repository::readme;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::projects::home::project_home_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::Read);
    pages.get("/:namespace/:project", read, Cost::Normal, "Project", show).api("GET /projects/:id");
}

async fn show(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let home = home::show(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &home.project)?;
    let abilities = Abilities::new(&home.project, &context.actor);
    let layout = context.layout_with_id(home.project.id.get());
    let overview = home.repository.as_ref().and_then(|repository| repository.overview.as_ref());
    let readme_html = match overview {
        Some(overview) => {
            readme::render(overview.readme.as_ref(), &home.project.full_path(), &overview.default_branch.address).await
        }
        None => None,
    };
    respond::html(&project_home_page(layout, &home, abilities, context.site(), readme_html, context.now()))
}
