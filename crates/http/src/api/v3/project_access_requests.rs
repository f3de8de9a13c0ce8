use axum::http::Method;
use holdfast_app::projects::access_request;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::ProjectAction;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::access_request::{AccessRequestBody, present_access_request};
use crate::present::member::{MemberBody, present_member};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<AccessRequestBody>> {
    let page = access_request::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|request| present_access_request(request, context.site()))))
}

async fn create(context: RequestContext, params: OneProject) -> ApiResult<Created<AccessRequestBody>> {
    let request = access_request::create(context.app(), &context.actor, &params.id).await?;
    Ok(Created(present_access_request(request, context.site())))
}

params! {
    struct Approve {
        required id: ProjectRef,
        /// Id of the user that requested access.
        required user_id: UserId,
        /// Access level of the new member, 30 (developer) by default.
        optional access_level: i64,
    }
}

async fn approve(context: RequestContext, params: Approve) -> ApiResult<Created<MemberBody>> {
    let (user, level) = (params.user_id, params.access_level);
    let member = access_request::approve(context.app(), &context.actor, &params.id, user, level).await?;
    Ok(Created(present_member(member, context.site())))
}

params! {
    struct OneRequest {
        required id: ProjectRef,
        /// Id of the user that requested access.
        required user_id: UserId,
    }
}

async fn delete(context: RequestContext, params: OneRequest) -> ApiResult<Body<bool>> {
    access_request::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(true))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/access_requests";
    const ONE: &str = "/projects/:id/access_requests/:user_id";
    const APPROVE: &str = "/projects/:id/access_requests/:user_id/approve";
    let (manage, request) =
        (Access::Project(ProjectAction::ManageMembers), Access::Project(ProjectAction::RequestAccess));
    routes.add(Method::GET, ALL, manage, "List the access requests of a project", list);
    routes.add(Method::POST, ALL, request, "Request access to a project", create);
    routes.add(Method::PUT, APPROVE, manage, "Approve an access request to a project", approve);
    routes.add(Method::DELETE, ONE, manage, "Deny or withdraw an access request", delete);
}
