use axum::http::Method;
use holdfast_app::accounts::email;
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use crate::error::ApiError;
use crate::present::email::{EmailBody, present_email};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_own(context: RequestContext, (): ()) -> ApiResult<PageBody<EmailBody>> {
    Ok(PageBody(email::list_own(context.app(), &context.actor, context.page).await?.map(present_email)))
}

params! {
    struct OwnEmail {
        required id: EmailId,
    }
}

async fn show_own(context: RequestContext, params: OwnEmail) -> ApiResult<Body<EmailBody>> {
    Ok(Body(present_email(email::show_own(context.app(), &context.actor, params.id).await?)))
}

params! {
    struct CreateEmail {
        /// Email address to add.
        required email: String,
    }
}

async fn create_own(context: RequestContext, params: CreateEmail) -> ApiResult<Created<EmailBody>> {
    Ok(Created(present_email(email::create_own(context.app(), &context.actor, &params.email).await?)))
}

/// Deletes an email address of the current user. Returns null if it does not exist.
async fn delete_own(context: RequestContext, params: OwnEmail) -> ApiResult<Body<Option<EmailBody>>> {
    Ok(Body(email::delete_own(context.app(), &context.actor, params.id).await?.map(present_email)))
}

params! {
    struct EmailsOfUser {
        /// Id of the user.
        required uid: UserId,
    }
}

async fn list_for_user(context: RequestContext, params: EmailsOfUser) -> ApiResult<PageBody<EmailBody>> {
    Ok(PageBody(
        email::list_for_user(context.app(), &context.actor, params.uid, context.page).await?.map(present_email),
    ))
}

params! {
    struct CreateEmailFor {
        /// Id of the user.
        required uid: UserId,
        /// Email address to add.
        required email: String,
    }
}

/// Adds an email address to a user. Invalid values result in 404, as the specification requires.
async fn create_for_user(context: RequestContext, params: CreateEmailFor) -> ApiResult<Created<EmailBody>> {
    let created = email::create_for_user(context.app(), &context.actor, params.uid, &params.email).await;
    Ok(Created(present_email(created.map_err(|error| ApiError::from(error).invalid_as_not_found())?)))
}

params! {
    struct EmailOfUser {
        /// Id of the user.
        required uid: UserId,
        required id: EmailId,
    }
}

async fn delete_for_user(context: RequestContext, params: EmailOfUser) -> ApiResult<Body<EmailBody>> {
    Ok(Body(present_email(email::delete_for_user(context.app(), &context.actor, params.uid, params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/user/emails", own, "List the secondary email addresses of the current user", list_own);
    routes.add(Method::GET, "/user/emails/:id", own, "Get a secondary email address of the current user", show_own);
    routes.add(Method::POST, "/user/emails", own, "Add a secondary email address", create_own);
    routes.add(
        Method::DELETE,
        "/user/emails/:id",
        own,
        "Delete a secondary email address of the current user",
        delete_own,
    );
    routes.add(
        Method::GET,
        "/users/:uid/emails",
        manage,
        "List the secondary email addresses of a user",
        list_for_user,
    );
    routes.add(Method::POST, "/users/:uid/emails", manage, "Add a secondary email address to a user", create_for_user);
    routes.add(
        Method::DELETE,
        "/users/:uid/emails/:id",
        manage,
        "Delete a secondary email address of a user",
        delete_for_user,
    );
}
