use axum::http::Method;
use holdfast_app::namespaces::access_request;
use holdfast_app::namespaces::group::GroupRef;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::GroupAction;

use super::ApiResult;
use super::groups::OneGroup;
use crate::present::access_request::{AccessRequestBody, present_access_request};
use crate::present::member::{MemberBody, present_member};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneGroup) -> ApiResult<PageBody<AccessRequestBody>> {
    let page = access_request::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(|request| present_access_request(request, context.site()))))
}

async fn create(context: RequestContext, params: OneGroup) -> ApiResult<Created<AccessRequestBody>> {
    let request = access_request::create(context.app(), &context.actor, &params.id).await?;
    Ok(Created(present_access_request(request, context.site())))
}

params! {
    struct Approve {
        required id: GroupRef,
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
        required id: GroupRef,
        /// Id of the user that requested access.
        required user_id: UserId,
    }
}

async fn delete(context: RequestContext, params: OneRequest) -> ApiResult<Body<bool>> {
    access_request::delete(context.app(), &context.actor, &params.id, params.user_id).await?;
    Ok(Body(true))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/groups/:id/access_requests";
    const ONE: &str = "/groups/:id/access_requests/:user_id";
    const APPROVE: &str = "/groups/:id/access_requests/:user_id/approve";
    let (manage, request) = (Access::Group(GroupAction::ManageMembers), Access::Group(GroupAction::RequestAccess));
    routes.add(Method::GET, ALL, manage, "List the access requests of a group", list);
    routes.add(Method::POST, ALL, request, "Request access to a group", create);
    routes.add(Method::PUT, APPROVE, manage, "Approve an access request to a group", approve);
    routes.add(Method::DELETE, ONE, manage, "Deny or withdraw an access request", delete);
}
