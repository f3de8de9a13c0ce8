//! All projects, for administrators, and the maintenance of their repositories.

use holdfast_app::projects::list::{self, ListProjects, ListScope};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::filters::ProjectFilterParams;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::project_list::{ARCHIVED, admin_projects_page};

pub fn declare(pages: &mut Pages) {
    let list_all = Access::Instance(InstanceAction::ListAllProjects);
    let operate = Access::Instance(InstanceAction::OperateInstance);
    pages.get("/admin/projects", list_all, Cost::Normal, "Projects", list).api("GET /projects/all").confirmed();
    pages.post("/admin/projects/:id/maintain", operate, Cost::Cheap, "Maintain a repository", maintain).confirmed();
}

params! {
    struct ListAllProjects {
        flatten filters: ProjectFilterParams,
        /// `yes` or `no`.
        optional archived: String,
    }
}

params! {
    struct OneProject {
        required id: ProjectId,
    }
}

async fn list(context: RequestContext, ListAllProjects { filters, archived }: ListAllProjects) -> PageResult {
    let known = ARCHIVED.iter().map(|(word, _)| *word).find(|word| Some(*word) == archived.as_deref());
    let archived = known.unwrap_or_default();
    let shown = filters.to_view();
    let is_archived = (!archived.is_empty()).then_some(archived == "yes");
    let input = ListProjects { archived: is_archived, ..filters.into_input() };
    let projects = list::list(context.app(), &context.actor, ListScope::All, input, context.page).await?;
    respond::html(&admin_projects_page(context.layout(), &projects, shown, archived, context.now()))
}

async fn maintain(context: RequestContext, OneProject { id }: OneProject) -> PageResult {
    maintenance::request(context.app(), &context.actor, &ProjectRef::Id(id)).await?;
    Ok(respond::see_other("/admin/projects").with_flash(FlashCode::MaintenanceRequested))
}
