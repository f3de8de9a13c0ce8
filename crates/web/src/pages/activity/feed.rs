//! The activity of the viewer.

use holdfast_app::activity::feed;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::Access;

use crate::cost::Cost;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::activity::feed::own_activity_page;

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ReadUsers);
    pages.get("/dashboard/activity", own, Cost::Normal, "Your activity", list).api("GET /users/:id/events");
}

async fn list(context: RequestContext, (): ()) -> PageResult {
    let user = context.actor.current_user()?.account.id();
    let events = feed::list_for_user(context.app(), &context.actor, user, context.page).await?;
    respond::html(&own_activity_page(context.layout_with_id(user.get()), &events, context.now()))
}
