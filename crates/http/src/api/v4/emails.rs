use axum::http::Method;
use holdfast_app::accounts::email;
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::{EmailId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use super::users::OneUser;
use crate::present::v4::user::{SecondaryEmail, present_email};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_own(context: RequestContext, (): ()) -> ApiResult<PageBody<SecondaryEmail>> {
    Ok(PageBody(email::list_own(context.app(), &context.actor, context.page).await?.map(present_email)))
}

params! {
    struct OwnEmail {
        /// Id of the email address.
        required email_id: EmailId,
    }
}

async fn show_own(context: RequestContext, params: OwnEmail) -> ApiResult<Body<SecondaryEmail>> {
    Ok(Body(present_email(email::show_own(context.app(), &context.actor, params.email_id).await?)))
}

params! {
    struct CreateEmail {
        /// Email address to add.
        required email: String,
    }
}

async fn create_own(context: RequestContext, params: CreateEmail) -> ApiResult<Created<SecondaryEmail>> {
    Ok(Created(present_email(email::create_own(context.app(), &context.actor, &params.email).await?)))
}

async fn delete_own(context: RequestContext, params: OwnEmail) -> ApiResult<NoContent> {
    let deleted = email::delete_own(context.app(), &context.actor, params.email_id).await?;
    deleted.ok_or(Error::NotFound(Resource::Email))?;
    Ok(NoContent)
}

async fn list_for_user(context: RequestContext, params: OneUser) -> ApiResult<PageBody<SecondaryEmail>> {
    let page = email::list_for_user(context.app(), &context.actor, params.id, context.page).await?;
    Ok(PageBody(page.map(present_email)))
}

params! {
    struct CreateEmailFor {
        /// Id of the user.
        required id: UserId,
        flatten email: CreateEmail,
    }
}

async fn create_for_user(context: RequestContext, params: CreateEmailFor) -> ApiResult<Created<SecondaryEmail>> {
    let address = params.email.email;
    let email = email::create_for_user(context.app(), &context.actor, params.id, &address).await?;
    Ok(Created(present_email(email)))
}

params! {
    struct EmailOfUser {
        /// Id of the user.
        required id: UserId,
        /// Id of the email address.
        required email_id: EmailId,
    }
}

async fn delete_for_user(context: RequestContext, params: EmailOfUser) -> ApiResult<NoContent> {
    email::delete_for_user(context.app(), &context.actor, params.id, params.email_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const OWN: &str = "/user/emails/:email_id";
    const OF_USER: &str = "/users/:id/emails/:email_id";
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/user/emails", own, "List the secondary email addresses of the current user", list_own);
    routes.add(Method::GET, OWN, own, "Get a secondary email address of the current user", show_own);
    routes.add(Method::POST, "/user/emails", own, "Add a secondary email address", create_own);
    routes.add(Method::DELETE, OWN, own, "Delete a secondary email address of the current user", delete_own);
    routes.add(Method::GET, "/users/:id/emails", manage, "List the secondary email addresses of a user", list_for_user);
    routes.add(Method::POST, "/users/:id/emails", manage, "Add a secondary email address to a user", create_for_user);
    routes.add(Method::DELETE, OF_USER, manage, "Delete a secondary email address of a user", delete_for_user);
}
