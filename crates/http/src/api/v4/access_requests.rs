use axum::http::Method;
use holdfast_app::namespaces::access_request as group_request;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::projects::access_request as project_request;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::{GroupAction, ProjectAction};

use super::ApiResult;
use super::members::save_error;
use super::projects::OneProject;
use crate::present::v4::member::{AccessRequester, MemberDetail, present_member, present_requester};
use crate::response::{Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_of_project(context: RequestContext, params: OneProject) -> ApiResult<PageBody<AccessRequester>> {
    let page = project_request::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|request| present_requester(request, context.site()))))
}

async fn request_project(context: RequestContext, params: OneProject) -> ApiResult<Created<AccessRequester>> {
    let request = project_request::create(context.app(), &context.actor, &params.id).await?;
    Ok(Created(present_requester(request, context.site())))
}

params! {
    struct ApproveInProject {
        required id: ProjectRef,
        /// Id of the user that requested access.
        required user_id: UserId,
        /// Access level of the new member, 30 (developer) by default.
        optional access_level: i64,
    }
}

async fn approve_in_project(context: RequestContext, params: ApproveInProject) -> ApiResult<Created<MemberDetail>> {
    let (user, level) = (params.user_id, params.access_level);
    let member = project_request::approve(context.app(), &context.actor, &params.id, user, level).await;
    Ok(Created(present_member(member.map_err(save_error)?, context.site())))
}

params! {
    struct RequestOfProject {
        required id: ProjectRef,
        /// Id of the user that requested access.
        required user_id: UserId,
    }
}

async fn deny_in_project(context: RequestContext, params: RequestOfProject) -> ApiResult<NoContent> {
    project_request::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(NoContent)
}

params! {
    struct OneGroup {
        required id: GroupRef,
    }
}

async fn list_of_group(context: RequestContext, params: OneGroup) -> ApiResult<PageBody<AccessRequester>> {
    let page = group_request::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|request| present_requester(request, context.site()))))
}

async fn request_group(context: RequestContext, params: OneGroup) -> ApiResult<Created<AccessRequester>> {
    let request = group_request::create(context.app(), &context.actor, &params.id).await?;
    Ok(Created(present_requester(request, context.site())))
}

params! {
    struct ApproveInGroup {
        required id: GroupRef,
        /// Id of the user that requested access.
        required user_id: UserId,
        /// Access level of the new member, 30 (developer) by default.
        optional access_level: i64,
    }
}

async fn approve_in_group(context: RequestContext, params: ApproveInGroup) -> ApiResult<Created<MemberDetail>> {
    let (user, level) = (params.user_id, params.access_level);
    let member = group_request::approve(context.app(), &context.actor, &params.id, user, level).await;
    Ok(Created(present_member(member.map_err(save_error)?, context.site())))
}

params! {
    struct RequestOfGroup {
        required id: GroupRef,
        /// Id of the user that requested access.
        required user_id: UserId,
    }
}

async fn deny_in_group(context: RequestContext, params: RequestOfGroup) -> ApiResult<NoContent> {
    group_request::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const OF_PROJECT: &str = "/projects/:id/access_requests";
    const ONE_OF_PROJECT: &str = "/projects/:id/access_requests/:user_id";
    const APPROVE_IN_PROJECT: &str = "/projects/:id/access_requests/:user_id/approve";
    let (manage, request) =
        (Access::Project(ProjectAction::ManageMembers), Access::Project(ProjectAction::RequestAccess));
    routes.add(Method::GET, OF_PROJECT, manage, "List the access requests of a project", list_of_project);
    routes.add(Method::POST, OF_PROJECT, request, "Request access to a project", request_project);
    routes.add(Method::PUT, APPROVE_IN_PROJECT, manage, "Approve an access request to a project", approve_in_project);
    let summary = "Deny or withdraw an access request to a project";
    routes.add(Method::DELETE, ONE_OF_PROJECT, manage, summary, deny_in_project);

    const OF_GROUP: &str = "/groups/:id/access_requests";
    const ONE_OF_GROUP: &str = "/groups/:id/access_requests/:user_id";
    const APPROVE_IN_GROUP: &str = "/groups/:id/access_requests/:user_id/approve";
    let (manage, request) = (Access::Group(GroupAction::ManageMembers), Access::Group(GroupAction::RequestAccess));
    routes.add(Method::GET, OF_GROUP, manage, "List the access requests of a group", list_of_group);
    routes.add(Method::POST, OF_GROUP, request, "Request access to a group", request_group);
    routes.add(Method::PUT, APPROVE_IN_GROUP, manage, "Approve an access request to a group", approve_in_group);
    let summary = "Deny or withdraw an access request to a group";
    routes.add(Method::DELETE, ONE_OF_GROUP, manage, summary, deny_in_group);
}
