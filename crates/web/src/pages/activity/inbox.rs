//! The start page.

use holdfast_app::accounts::setup;
use holdfast_app::activity::inbox;
use holdfast_http_core::Access;

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::activity::inbox::inbox_page;

pub fn declare(pages: &mut Pages) {
    pages.get("/", Access::Anyone, Cost::Normal, "Dashboard", show).api("GET /projects");
}

/// Shows what needs attention, or leads an anonymous viewer to the public projects. Leads to the first run while there is
/// no user.
async fn show(context: RequestContext, (): ()) -> PageResult {
    if !context.is_signed_in() {
        if matches!(setup::is_needed(context.app()).await, Ok(true)) {
            return Ok(respond::see_other("/setup"));
        }
        return Ok(respond::see_other("/projects"));
    }
    let inbox = inbox::list(context.app(), &context.actor).await?;
    respond::html(&inbox_page(context.layout(), &inbox, context.now()))
}
