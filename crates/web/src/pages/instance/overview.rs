//! The state of the instance, for administrators.

use holdfast_app::instance::overview;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::Access;

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::overview::overview_page;

pub fn declare(pages: &mut Pages) {
    let operate = Access::Instance(InstanceAction::OperateInstance);
    pages.get("/admin", operate, Cost::Normal, "Administration", show).confirmed();
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    let found = overview::show(context.app(), &context.actor).await?;
    respond::html(&overview_page(context.layout(), &found, context.now()))
}
