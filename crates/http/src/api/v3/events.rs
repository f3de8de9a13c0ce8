use axum::http::Method;
use holdfast_app::activity::feed;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::InstanceAction::ReadUsers;
use holdfast_domain::policy::ProjectAction::Read;

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::Listed;
use crate::present::event::{EventBody, event as present};
use crate::{Access, Cx, Routes, params};

async fn of_project(cx: Cx, params: OneProject) -> ApiResult<Listed<EventBody>> {
    let page = feed::of_project(cx.app(), &cx.actor, &params.id, cx.page).await?;
    Ok(Listed(page.map(|event| present(event, cx.site()))))
}

params! {
    struct OneUser {
        required id: UserId,
    }
}

async fn of_user(cx: Cx, params: OneUser) -> ApiResult<Listed<EventBody>> {
    let page = feed::of_user(cx.app(), &cx.actor, params.id, cx.page).await?;
    Ok(Listed(page.map(|event| present(event, cx.site()))))
}

pub fn routes(routes: &mut Routes) {
    let (read, users) = (Access::Project(Read), Access::Instance(ReadUsers));
    routes.add(Method::GET, "/projects/:id/events", read, "Lists what happened in a project, newest first", of_project);
    routes.add(Method::GET, "/users/:id/events", users, "Lists what a user did, newest first", of_user);
}
