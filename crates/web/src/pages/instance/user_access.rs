//! Actions of administrators on the access of a user: block, password, sessions, keys, tokens and addresses.

use holdfast_app::Error;
use holdfast_app::accounts::{browser_session, email, ssh_key, token, user};
use holdfast_app::instance::account;
use holdfast_domain::ids::{EmailId, SshKeyId, TokenId, UserId};
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use super::user::{OneUser, is_other, page};
use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::links;

pub fn declare(pages: &mut Pages) {
    const EMAIL: &str = "/admin/users/:id/emails/:email_id/delete";
    const KEY: &str = "/admin/users/:id/keys/:key_id/delete";
    const TOKEN: &str = "/admin/users/:id/tokens/:token_id/revoke";
    const SESSION: &str = "/admin/users/:id/sessions/:session_id/delete";
    let manage = Access::Instance(InstanceAction::ManageUsers);
    pages
        .post("/admin/users/:id/block", manage, Cost::Cheap, "Block a user", block)
        .api("PUT /users/:uid/block")
        .confirmed();
    pages
        .post("/admin/users/:id/unblock", manage, Cost::Cheap, "Unblock a user", unblock)
        .api("PUT /users/:uid/unblock")
        .confirmed();
    pages
        .post("/admin/users/:id/password", manage, Cost::Cheap, "Set a password", set_password)
        .api("PUT /users/:id")
        .confirmed();
    pages
        .post(EMAIL, manage, Cost::Cheap, "Delete an address", delete_email)
        .api("DELETE /users/:uid/emails/:id")
        .confirmed();
    pages.post(KEY, manage, Cost::Cheap, "Delete a key", delete_key).api("DELETE /users/:uid/keys/:id").confirmed();
    pages.post(TOKEN, manage, Cost::Cheap, "Revoke a token", revoke_token).confirmed();
    pages.post(SESSION, manage, Cost::Cheap, "End a session", delete_session).confirmed();
}

params! {
    struct SetPassword {
        required id: UserId,
        optional password: String,
    }
}

params! {
    struct OneEmail {
        required id: UserId,
        required email_id: EmailId,
    }
}

params! {
    struct OneKey {
        required id: UserId,
        required key_id: SshKeyId,
    }
}

params! {
    struct OneToken {
        required id: UserId,
        required token_id: TokenId,
    }
}

params! {
    struct OneSession {
        required id: UserId,
        required session_id: i64,
    }
}

async fn block(context: RequestContext, OneUser { id }: OneUser) -> PageResult {
    account::authorize_management(&context.actor)?;
    if !is_other(&context.actor, id) {
        return Err(Error::Forbidden(Some("You cannot block yourself")).into());
    }
    user::block(context.app(), &context.actor, id).await?;
    Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::UserBlocked))
}

async fn unblock(context: RequestContext, OneUser { id }: OneUser) -> PageResult {
    user::unblock(context.app(), &context.actor, id).await?;
    Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::UserUnblocked))
}

async fn set_password(context: RequestContext, SetPassword { id, password }: SetPassword) -> PageResult {
    match user::reset_password(context.app(), &context.actor, id, &password.unwrap_or_default()).await {
        Ok(()) => Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::UserPasswordSet)),
        Err(Error::Invalid(violations)) => respond::rejected(&page(&context, id, None, &violations).await?),
        Err(error) => Err(error.into()),
    }
}

async fn delete_email(context: RequestContext, OneEmail { id, email_id }: OneEmail) -> PageResult {
    email::delete_for_user(context.app(), &context.actor, id, email_id).await?;
    Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::EmailDeleted))
}

async fn delete_key(context: RequestContext, OneKey { id, key_id }: OneKey) -> PageResult {
    ssh_key::delete_for_user(context.app(), &context.actor, id, key_id).await?;
    Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::KeyDeleted))
}

async fn revoke_token(context: RequestContext, OneToken { id, token_id }: OneToken) -> PageResult {
    token::revoke_for_user(context.app(), &context.actor, id, token_id).await?;
    Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::TokenRevoked))
}

async fn delete_session(context: RequestContext, OneSession { id, session_id }: OneSession) -> PageResult {
    browser_session::delete_for_user(context.app(), &context.actor, id, session_id.into()).await?;
    Ok(respond::see_other(links::admin_user(id)).with_flash(FlashCode::SessionEnded))
}
