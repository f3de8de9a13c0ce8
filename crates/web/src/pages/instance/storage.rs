//! What the instance stores, for administrators.

use holdfast_app::instance::storage;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::Access;

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::storage::storage_page;

pub fn declare(pages: &mut Pages) {
    let operate = Access::Instance(InstanceAction::OperateInstance);
    pages.get("/admin/storage", operate, Cost::Heavy, "Storage", show).confirmed();
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    let report = storage::report(context.app(), &context.actor).await?;
    let retention = context.app().settings.maintenance.unreferenced_pack_retention;
    respond::html(&storage_page(context.layout(), &report, retention, context.now()))
}
