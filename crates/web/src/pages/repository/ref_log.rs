//! The ref log, and the action that restores a ref.

use holdfast_app::repository::refs::{ref_log, ref_restore};
use holdfast_app::{Error, Resource};
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use crate::abilities::Abilities;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::projects::address::{ProjectPathParams, ensure_address};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::ProjectLinks;
use crate::views::repository::ref_log::refs_page;

pub fn declare(pages: &mut Pages) {
    let read = Access::Project(ProjectAction::ReadRefLog);
    let write = Access::Project(ProjectAction::WriteCode);
    let call = "GET /projects/:id/repository/ref_log";
    pages.get("/:namespace/:project/refs", read, Cost::Normal, "Ref log", list).api(call);
    pages
        .post("/:namespace/:project/refs/restore", write, Cost::Normal, "Restore a ref", restore)
        .api("POST /projects/:id/repository/ref_log/:generation/restore");
}

params! {
    struct ListParams {
        flatten project: ProjectPathParams,
        /// Only updates of this ref: a branch, or a full name such as `refs/tags/v1`.
        optional r#ref: String,
    }
}

async fn list(context: RequestContext, params: ListParams) -> PageResult {
    let (app, actor, reference) = (context.app(), &context.actor, params.project.reference());
    let name = params.r#ref.unwrap_or_default().trim().to_owned();
    let filter = Some(name.as_str()).filter(|name| !name.is_empty());
    let found = ref_log::list_with_changes(app, actor, &reference, filter, context.page).await?;
    ensure_address(&context, &found.project)?;
    let abilities = Abilities::new(&found.project, actor);
    let layout = context.layout_with_id(found.project.id.get());
    respond::html(&refs_page(layout, abilities, &found, &name, context.now()))
}

params! {
    struct RestoreParams {
        flatten project: ProjectPathParams,
        optional ref_name: String,
        optional generation: i64,
    }
}

async fn restore(context: RequestContext, params: RestoreParams) -> PageResult {
    let RestoreParams { project, ref_name, generation } = params;
    let (name, generation) = (ref_name.unwrap_or_default(), generation.unwrap_or_default());
    let restored = ref_restore::restore(context.app(), &context.actor, &project.reference(), &name, generation).await;
    let flash = match restored {
        Ok(_) => FlashCode::RefRestored,
        Err(Error::NotFound(Resource::Record)) => FlashCode::RefUpdateMissing,
        Err(error) => return Err(error.into()),
    };
    let links = ProjectLinks::new(&format!("{}/{}", project.namespace, project.project));
    Ok(respond::see_other(links.refs()).with_flash(flash))
}
