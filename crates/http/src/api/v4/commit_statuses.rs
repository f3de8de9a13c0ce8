use axum::http::Method;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use crate::api::shared::commit_statuses::{self, SetStatusOfCommit, StatusesOfCommit};
use crate::present::v4::job::{CommitStatusBody, present_status};
use crate::response::{Created, PageBody};
use crate::{Access, RequestContext, Routes};

async fn list(context: RequestContext, params: StatusesOfCommit) -> ApiResult<PageBody<CommitStatusBody>> {
    let page = commit_statuses::list(&context, params).await?;
    Ok(PageBody(page.map(|it| present_status(it, context.site()))))
}

async fn set(context: RequestContext, params: SetStatusOfCommit) -> ApiResult<Created<CommitStatusBody>> {
    let saved = commit_statuses::set(&context, params).await?;
    Ok(Created(present_status(saved, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const OF_COMMIT: &str = "/projects/:id/repository/commits/:sha/statuses";
    let read = Access::Project(ReadBuilds);
    routes.add(Method::GET, OF_COMMIT, read, "List the statuses of a commit", list);
    const SET: &str = "/projects/:id/statuses/:sha";
    routes.add(Method::POST, SET, Access::Project(ManageBuilds), "Set a commit status", set);
}
