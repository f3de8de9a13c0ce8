use axum::http::Method;
use holdfast_app::activity::feed;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction::ReadUsers;
use holdfast_domain::policy::ProjectAction::Read;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::event::{EventBody, present_event};
use crate::response::PageBody;
use crate::{Access, RequestContext, Routes, params};

async fn list_for_project(context: RequestContext, params: OneProject) -> ApiResult<PageBody<EventBody>> {
    let page = feed::list_for_project(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|event| present_event(event, context.site()))))
}

params! {
    struct OneUser {
        required id: UserId,
    }
}

async fn list_for_user(context: RequestContext, params: OneUser) -> ApiResult<PageBody<EventBody>> {
    let page = feed::list_for_user(context.app(), &context.actor, params.id, context.page).await?;
    Ok(PageBody(page.map(|event| present_event(event, context.site()))))
}

pub fn routes(routes: &mut Routes) {
    let (read, users) = (Access::Project(Read), Access::Instance(ReadUsers));
    routes.add(Method::GET, "/projects/:id/events", read, "List project events", list_for_project);
    routes.add(Method::GET, "/users/:id/events", users, "List user events", list_for_user);
}
