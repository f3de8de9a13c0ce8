//! The effective settings of the node, for administrators.

use holdfast_app::instance::configuration;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::Access;

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::instance::configuration::configuration_page;

pub fn declare(pages: &mut Pages) {
    let operate = Access::Instance(InstanceAction::OperateInstance);
    pages.get("/admin/settings", operate, Cost::Cheap, "Settings", show).confirmed();
}

async fn show(context: RequestContext, (): ()) -> PageResult {
    let settings = configuration::list(context.app(), &context.actor)?;
    respond::html(&configuration_page(context.layout(), settings))
}
