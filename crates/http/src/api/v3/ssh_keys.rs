use axum::http::Method;
use holdfast_app::accounts::ssh_key;
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use crate::error::ApiError;
use crate::present::ssh_key::{SshKeyBody, present_ssh_key};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_own(context: RequestContext, (): ()) -> ApiResult<PageBody<SshKeyBody>> {
    Ok(PageBody(ssh_key::list_own(context.app(), &context.actor, context.page).await?.map(present_ssh_key)))
}

params! {
    struct OwnKey {
        required id: SshKeyId,
    }
}

async fn show_own(context: RequestContext, params: OwnKey) -> ApiResult<Body<SshKeyBody>> {
    Ok(Body(present_ssh_key(ssh_key::show_own(context.app(), &context.actor, params.id).await?)))
}

params! {
    struct CreateKey {
        /// Name of the key.
        required title: String,
        /// Public key in one line, as in `id_ed25519.pub`.
        required key: String,
    }
}

async fn create_own(context: RequestContext, params: CreateKey) -> ApiResult<Created<SshKeyBody>> {
    let key = ssh_key::create_own(context.app(), &context.actor, &params.title, &params.key).await?;
    Ok(Created(present_ssh_key(key)))
}

/// Deletes an SSH key of the current user. Returns null if it does not exist.
async fn delete_own(context: RequestContext, params: OwnKey) -> ApiResult<Body<Option<SshKeyBody>>> {
    Ok(Body(ssh_key::delete_own(context.app(), &context.actor, params.id).await?.map(present_ssh_key)))
}

params! {
    struct KeysOfUser {
        /// Id of the user.
        required uid: UserId,
    }
}

async fn list_for_user(context: RequestContext, params: KeysOfUser) -> ApiResult<PageBody<SshKeyBody>> {
    Ok(PageBody(
        ssh_key::list_for_user(context.app(), &context.actor, params.uid, context.page).await?.map(present_ssh_key),
    ))
}

params! {
    struct CreateKeyFor {
        /// Id of the user.
        required uid: UserId,
        /// Name of the key.
        required title: String,
        /// Public key in one line, as in `id_ed25519.pub`.
        required key: String,
    }
}

/// Adds an SSH key to a user. Invalid values result in 404, as the specification requires.
async fn create_for_user(context: RequestContext, params: CreateKeyFor) -> ApiResult<Created<SshKeyBody>> {
    let created = ssh_key::create_for_user(context.app(), &context.actor, params.uid, &params.title, &params.key).await;
    Ok(Created(present_ssh_key(created.map_err(|error| ApiError::from(error).invalid_as_not_found())?)))
}

params! {
    struct KeyOfUser {
        /// Id of the user.
        required uid: UserId,
        required id: SshKeyId,
    }
}

async fn delete_for_user(context: RequestContext, params: KeyOfUser) -> ApiResult<Body<SshKeyBody>> {
    Ok(Body(present_ssh_key(ssh_key::delete_for_user(context.app(), &context.actor, params.uid, params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/user/keys", own, "List the SSH keys of the current user", list_own);
    routes.add(Method::GET, "/user/keys/:id", own, "Get an SSH key of the current user", show_own);
    routes.add(Method::POST, "/user/keys", own, "Add an SSH key", create_own);
    routes.add(Method::DELETE, "/user/keys/:id", own, "Delete an SSH key of the current user", delete_own);
    routes.add(Method::GET, "/users/:uid/keys", manage, "List the SSH keys of a user", list_for_user);
    routes.add(Method::POST, "/users/:uid/keys", manage, "Add an SSH key to a user", create_for_user);
    routes.add(Method::DELETE, "/users/:uid/keys/:id", manage, "Delete an SSH key of a user", delete_for_user);
}
