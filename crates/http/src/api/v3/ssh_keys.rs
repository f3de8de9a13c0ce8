use axum::http::Method;
use holdfast_app::accounts::ssh_key;
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::present::ssh_key::{SshKeyBody, ssh_key as present};
use crate::{Access, Cx, Routes, params};

async fn list_own(cx: Cx, (): ()) -> ApiResult<Listed<SshKeyBody>> {
    Ok(Listed(ssh_key::list_own(cx.app(), &cx.actor, cx.page).await?.map(present)))
}

params! {
    struct OwnKey {
        required id: SshKeyId,
    }
}

async fn show_own(cx: Cx, params: OwnKey) -> ApiResult<Body<SshKeyBody>> {
    Ok(Body(present(ssh_key::show_own(cx.app(), &cx.actor, params.id).await?)))
}

params! {
    struct CreateKey {
        required title: String,
        /// One line, as in `id_ed25519.pub`.
        required key: String,
    }
}

async fn create_own(cx: Cx, params: CreateKey) -> ApiResult<Created<SshKeyBody>> {
    let key = ssh_key::create_own(cx.app(), &cx.actor, &params.title, &params.key).await?;
    Ok(Created(present(key)))
}

/// Null when it was gone already.
async fn delete_own(cx: Cx, params: OwnKey) -> ApiResult<Body<Option<SshKeyBody>>> {
    Ok(Body(ssh_key::delete_own(cx.app(), &cx.actor, params.id).await?.map(present)))
}

params! {
    struct KeysOfUser {
        required uid: UserId,
    }
}

async fn list_of(cx: Cx, params: KeysOfUser) -> ApiResult<Listed<SshKeyBody>> {
    Ok(Listed(ssh_key::list_of(cx.app(), &cx.actor, params.uid, cx.page).await?.map(present)))
}

params! {
    struct CreateKeyFor {
        required uid: UserId,
        required title: String,
        /// One line, as in `id_ed25519.pub`.
        required key: String,
    }
}

/// Whatever is wrong with the values, the answer is 404: the specification says so.
async fn create_for(cx: Cx, params: CreateKeyFor) -> ApiResult<Created<SshKeyBody>> {
    let created = ssh_key::create_for(cx.app(), &cx.actor, params.uid, &params.title, &params.key).await;
    Ok(Created(present(created.map_err(|error| ApiError::from(error).or_not_found())?)))
}

params! {
    struct KeyOfUser {
        required uid: UserId,
        required id: SshKeyId,
    }
}

async fn delete_of(cx: Cx, params: KeyOfUser) -> ApiResult<Body<SshKeyBody>> {
    Ok(Body(present(ssh_key::delete_of(cx.app(), &cx.actor, params.uid, params.id).await?)))
}

pub fn routes(routes: &mut Routes) {
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/user/keys", own, "Lists the caller's SSH keys", list_own);
    routes.add(Method::GET, "/user/keys/:id", own, "Shows one of the caller's SSH keys", show_own);
    routes.add(Method::POST, "/user/keys", own, "Adds an SSH key", create_own);
    routes.add(Method::DELETE, "/user/keys/:id", own, "Removes one of the caller's SSH keys", delete_own);
    routes.add(Method::GET, "/users/:uid/keys", manage, "Lists a user's SSH keys", list_of);
    routes.add(Method::POST, "/users/:uid/keys", manage, "Adds an SSH key for a user", create_for);
    routes.add(Method::DELETE, "/users/:uid/keys/:id", manage, "Removes a user's SSH key", delete_of);
}
