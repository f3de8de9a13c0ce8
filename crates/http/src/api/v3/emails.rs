use axum::http::Method;
use holdfast_app::accounts::email;
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::email::{EmailBody, email as present};
use crate::{Access, Cx, Routes, params};

async fn list_own(cx: Cx, (): ()) -> ApiResult<Listed<EmailBody>> {
    Ok(Listed(email::list_own(cx.app(), &cx.actor, cx.page).await?.map(present)))
}

params! {
    struct OwnEmail {
        required id: EmailId,
    }
}

async fn show_own(cx: Cx, params: OwnEmail) -> ApiResult<Body<EmailBody>> {
    Ok(Body(present(email::show_own(cx.app(), &cx.actor, params.id).await?)))
}

params! {
    struct CreateEmail {
        required email: String,
    }
}

async fn create_own(cx: Cx, params: CreateEmail) -> ApiResult<Created<EmailBody>> {
    Ok(Created(present(email::create_own(cx.app(), &cx.actor, &params.email).await?)))
}

/// Null when it was gone already.
async fn delete_own(cx: Cx, params: OwnEmail) -> ApiResult<Body<Option<EmailBody>>> {
    Ok(Body(email::delete_own(cx.app(), &cx.actor, params.id).await?.map(present)))
}

params! {
    struct EmailsOfUser {
        required uid: UserId,
    }
}

async fn list_of(cx: Cx, params: EmailsOfUser) -> ApiResult<Listed<EmailBody>> {
    Ok(Listed(email::list_of(cx.app(), &cx.actor, params.uid, cx.page).await?.map(present)))
}

params! {
    struct CreateEmailFor {
        required uid: UserId,
        required email: String,
    }
}

/// Whatever is wrong with the values, the answer is 404: the specification says so.
async fn create_for(cx: Cx, params: CreateEmailFor) -> ApiResult<Created<EmailBody>> {
    let created = email::create_for(cx.app(), &cx.actor, params.uid, &params.email).await;
    Ok(Created(present(created.map_err(|error| ApiError::from(error).or_not_found())?)))
}

params! {
    struct EmailOfUser {
        required uid: UserId,
        required id: EmailId,
    }
}

async fn delete_of(cx: Cx, params: EmailOfUser) -> ApiResult<Body<EmailBody>> {
    Ok(Body(present(email::delete_of(cx.app(), &cx.actor, params.uid, params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/user/emails", own, "Lists the caller's secondary addresses", list_own);
    routes.add(Method::GET, "/user/emails/:id", own, "Shows one of the caller's secondary addresses", show_own);
    routes.add(Method::POST, "/user/emails", own, "Adds a secondary address", create_own);
    routes.add(Method::DELETE, "/user/emails/:id", own, "Removes one of the caller's secondary addresses", delete_own);
    routes.add(Method::GET, "/users/:uid/emails", manage, "Lists a user's secondary addresses", list_of);
    routes.add(Method::POST, "/users/:uid/emails", manage, "Adds a secondary address for a user", create_for);
    routes.add(Method::DELETE, "/users/:uid/emails/:id", manage, "Removes a user's secondary address", delete_of);
}
