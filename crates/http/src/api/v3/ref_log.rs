//! Endpoints for the ref log: list ref updates, and restore refs.

use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::refs::{ref_log, ref_restore};
use holdfast_domain::policy::ProjectAction::{ReadRefLog, WriteCode};

use super::ApiResult;
use crate::present::ref_log::{RefLogBody, RestoredBody, present_entry, restored};
use crate::response::{Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct RefLog {
        required id: ProjectRef,
        /// Only updates of this ref: a branch, or a full name such as refs/tags/v1.
        optional ref_name: String,
    }
}

async fn list(context: RequestContext, params: RefLog) -> ApiResult<PageBody<RefLogBody>> {
    let site = context.site();
    let page =
        ref_log::list(context.app(), &context.actor, &params.id, params.ref_name.as_deref(), context.page).await?;
    Ok(PageBody(page.map(|entry| present_entry(entry, site))))
}

params! {
    struct Restore {
        required id: ProjectRef,
        /// Generation of the ref update to revert, as shown in the list of ref updates.
        required generation: i64,
        /// Ref to restore: a branch, or a full name such as refs/tags/v1.
        required ref_name: String,
    }
}

async fn restore(context: RequestContext, params: Restore) -> ApiResult<Created<RestoredBody>> {
    let restored_ref =
        ref_restore::restore(context.app(), &context.actor, &params.id, &params.ref_name, params.generation).await?;
    Ok(Created(restored(restored_ref)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/ref_log";
    const RESTORE: &str = "/projects/:id/repository/ref_log/:generation/restore";
    let (read, write) = (Access::Project(ReadRefLog), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "List ref updates", list);
    routes.add(Method::POST, RESTORE, write, "Restore a ref", restore);
}
