//! The form that deletes a project.

use holdfast_app::projects::project;
use holdfast_domain::Violations;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::{ProjectPathParams, ensure_address};
use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::links;
use crate::views::projects::deletion::project_deletion_page;

pub fn declare(pages: &mut Pages) {
    const PATH: &str = "/:namespace/:project/settings/delete_project";
    let delete_project = Access::Project(ProjectAction::Delete);
    pages.get(PATH, delete_project, Cost::Cheap, "Delete the project", show).confirmed();
    pages
        .post(PATH, delete_project, Cost::Normal, "Delete the project", delete)
        .api("DELETE /projects/:id")
        .confirmed();
}

async fn show(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let project = project::show_for_deletion(context.app(), &context.actor, &path.reference()).await?;
    ensure_address(&context, &project)?;
    let abilities = Abilities::new(&project, &context.actor);
    let (layout, typed) = (context.layout(), String::new());
    respond::html(&project_deletion_page(layout, &project, abilities, typed, &Violations::default()))
}

params! {
    struct DeleteProject {
        flatten path: ProjectPathParams,
        /// The path of the project, which the user has to type.
        optional confirm_path: String,
    }
}

async fn delete(context: RequestContext, DeleteProject { path, confirm_path }: DeleteProject) -> PageResult {
    let (reference, typed) = (path.reference(), confirm_path.unwrap_or_default());
    let project = project::show_for_deletion(context.app(), &context.actor, &reference).await?;
    if typed.trim() != project.full_path() {
        let violations = Violations::single("confirm_path", "is not the path of this project");
        let abilities = Abilities::new(&project, &context.actor);
        let layout = context.layout_with_id(project.id.get());
        return respond::rejected(&project_deletion_page(layout, &project, abilities, typed, &violations));
    }
    project::delete(context.app(), &context.actor, &reference).await?;
    let is_group = project.namespace.kind == NamespaceKind::Group;
    let namespace = links::namespace(&project.namespace.path, is_group);
    Ok(respond::see_other(namespace).with_flash(FlashCode::ProjectDeleted))
}
