//! The way back to what refs left behind.

use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::{ref_log, undo};
use holdfast_domain::policy::ProjectAction::{ReadRefLog, WriteCode};

use super::ApiResult;
use crate::answer::{Created, Listed};
use crate::present::ref_log::{RefLogBody, RestoredBody, entry as present, restored};
use crate::{Access, Cx, Routes, params};

params! {
    struct RefLog {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A branch, or a name in full such as refs/tags/v1.
        optional ref_name: String,
    }
}

async fn list(cx: Cx, params: RefLog) -> ApiResult<Listed<RefLogBody>> {
    let site = cx.site();
    let found = ref_log::list(cx.app(), &cx.actor, &params.id, params.ref_name.as_deref(), cx.page).await?;
    Ok(Listed(found.map(|entry| present(entry, site))))
}

params! {
    struct Restore {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required generation: i64,
        /// A branch, or a name in full such as refs/tags/v1.
        required ref_name: String,
    }
}

async fn restore(cx: Cx, params: Restore) -> ApiResult<Created<RestoredBody>> {
    let done = undo::restore(cx.app(), &cx.actor, &params.id, &params.ref_name, params.generation).await?;
    Ok(Created(restored(done)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/ref_log";
    const RESTORE: &str = "/projects/:id/repository/ref_log/:generation/restore";
    let (read, write) = (Access::Project(ReadRefLog), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "Lists who moved which branch or tag, the last first", list);
    routes.add(Method::POST, RESTORE, write, "Puts a branch or tag back to where it was before that change", restore);
}
