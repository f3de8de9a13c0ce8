//! Requests for access to a group: the actions of those who request it, and of those who decide.

use holdfast_app::namespaces::access_request;
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::UserId;
use holdfast_domain::policy::GroupAction;
use holdfast_http_core::{Access, params};

use super::address::GroupPathParams;
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};

pub fn declare(pages: &mut Pages) {
    let request = Access::Group(GroupAction::RequestAccess);
    let manage = Access::Group(GroupAction::ManageMembers);
    pages
        .post("/groups/:group/request_access", request, Cost::Cheap, "Request access", create)
        .api("POST /groups/:id/access_requests");
    pages
        .post("/groups/:group/withdraw_request", request, Cost::Cheap, "Withdraw a request", withdraw)
        .api("DELETE /groups/:id/access_requests/:user_id");
    pages
        .post("/groups/:group/members/requests/:user_id/approve", manage, Cost::Cheap, "Approve a request", approve)
        .api("PUT /groups/:id/access_requests/:user_id/approve");
    pages
        .post("/groups/:group/members/requests/:user_id/decline", manage, Cost::Cheap, "Decline a request", decline)
        .api("DELETE /groups/:id/access_requests/:user_id");
}

/// Returns the message about a request of the current user. Fails if the group is hidden.
pub fn message_for_requester<T>(requested: Result<T, Error>) -> Result<FlashCode, Error> {
    match requested {
        // A second request changes nothing.
        Ok(_) | Err(Error::Rejected(_)) => Ok(FlashCode::AccessRequested),
        // All signed-in users who see something may ask, so this is about members, and about requests that are off.
        Err(Error::Forbidden(_)) => Ok(FlashCode::AccessNotRequested),
        Err(error) => Err(error),
    }
}

/// Returns the message about the end of a request, which may have ended before. Fails if the actor may not end it.
pub fn message_about_end<T>(ended: Result<T, Error>, message: FlashCode) -> Result<FlashCode, Error> {
    match ended {
        Ok(_) => Ok(message),
        Err(Error::NotFound(Resource::Record)) => Ok(FlashCode::AccessRequestMissing),
        Err(error) => Err(error),
    }
}

async fn create(context: RequestContext, path: GroupPathParams) -> PageResult {
    let requested = access_request::create(context.app(), &context.actor, &path.reference()).await;
    Ok(respond::see_other(path.home()).with_flash(message_for_requester(requested)?))
}

async fn withdraw(context: RequestContext, path: GroupPathParams) -> PageResult {
    let user = context.actor.current_user()?.account.id();
    let deleted = access_request::delete(context.app(), &context.actor, &path.reference(), user).await;
    let message = message_about_end(deleted, FlashCode::AccessRequestWithdrawn)?;
    Ok(respond::see_other(path.home()).with_flash(message))
}

params! {
    struct ApproveRequest {
        flatten path: GroupPathParams,
        required user_id: UserId,
        /// The level of the new member. Developer by default.
        optional access_level: i64,
    }
}

async fn approve(context: RequestContext, form: ApproveRequest) -> PageResult {
    let (reference, level) = (form.path.reference(), form.access_level);
    let approved = access_request::approve(context.app(), &context.actor, &reference, form.user_id, level).await;
    let message = message_about_end(approved, FlashCode::AccessRequestApproved)?;
    Ok(respond::see_other(form.path.page("members")).with_flash(message))
}

params! {
    struct OneRequest {
        flatten path: GroupPathParams,
        required user_id: UserId,
    }
}

async fn decline(context: RequestContext, OneRequest { path, user_id }: OneRequest) -> PageResult {
    let declined = access_request::delete(context.app(), &context.actor, &path.reference(), user_id).await;
    let message = message_about_end(declined, FlashCode::AccessRequestDeclined)?;
    Ok(respond::see_other(path.page("members")).with_flash(message))
}
