//! Requests for access to a project: the actions of those who request it, and of those who decide.

use holdfast_app::projects::access_request;
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::ProjectAction;
use holdfast_http_core::{Access, params};

use super::address::ProjectPathParams;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::pages::namespaces::access_request::{message_about_end, message_for_requester};
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

pub fn declare(pages: &mut Pages) {
    const APPROVE: &str = "/:namespace/:project/settings/members/requests/:user_id/approve";
    const DECLINE: &str = "/:namespace/:project/settings/members/requests/:user_id/decline";
    let request = Access::Project(ProjectAction::RequestAccess);
    let manage = Access::Project(ProjectAction::ManageMembers);
    pages
        .post("/:namespace/:project/request_access", request, Cost::Cheap, "Request access", create)
        .api("POST /projects/:id/access_requests");
    pages
        .post("/:namespace/:project/withdraw_request", request, Cost::Cheap, "Withdraw a request", withdraw)
        .api("DELETE /projects/:id/access_requests/:user_id");
    pages
        .post(APPROVE, manage, Cost::Cheap, "Approve a request", approve)
        .api("PUT /projects/:id/access_requests/:user_id/approve");
    pages
        .post(DECLINE, manage, Cost::Cheap, "Decline a request", decline)
        .api("DELETE /projects/:id/access_requests/:user_id");
}

async fn create(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let requested = access_request::create(context.app(), &context.actor, &path.reference()).await;
    Ok(respond::see_other(path.links().home()).with_flash(message_for_requester(requested)?))
}

async fn withdraw(context: RequestContext, path: ProjectPathParams) -> PageResult {
    let user = context.actor.current_user()?.account.id();
    let deleted = access_request::delete(context.app(), &context.actor, &path.reference(), user).await;
    let message = message_about_end(deleted, FlashCode::AccessRequestWithdrawn)?;
    Ok(respond::see_other(path.links().home()).with_flash(message))
}

params! {
    struct ApproveRequest {
        flatten path: ProjectPathParams,
        required user_id: UserId,
        /// The level of the new member. Developer by default.
        optional access_level: i64,
    }
}

async fn approve(context: RequestContext, form: ApproveRequest) -> PageResult {
    let (reference, level) = (form.path.reference(), form.access_level);
    let approved = access_request::approve(context.app(), &context.actor, &reference, form.user_id, level).await;
    let message = message_about_end(approved, FlashCode::AccessRequestApproved)?;
    Ok(respond::see_other(form.path.links().members()).with_flash(message))
}

params! {
    struct OneRequest {
        flatten path: ProjectPathParams,
        required user_id: UserId,
    }
}

async fn decline(context: RequestContext, OneRequest { path, user_id }: OneRequest) -> PageResult {
    let declined = access_request::delete(context.app(), &context.actor, &path.reference(), user_id).await;
    let message = message_about_end(declined, FlashCode::AccessRequestDeclined)?;
    Ok(respond::see_other(path.links().members()).with_flash(message))
}
