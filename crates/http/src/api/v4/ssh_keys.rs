use axum::http::Method;
use holdfast_app::accounts::ssh_key;
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::{SshKeyId, UserId};
use holdfast_domain::policy::InstanceAction::{ManageOwnAccount, ManageUsers};

use super::ApiResult;
use super::users::OneUser;
use crate::present::v4::ssh_key::{UserKey, present_key};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_own(context: RequestContext, (): ()) -> ApiResult<PageBody<UserKey>> {
    Ok(PageBody(ssh_key::list_own(context.app(), &context.actor, context.page).await?.map(present_key)))
}

params! {
    struct OwnKey {
        /// Id of the key.
        required key_id: SshKeyId,
    }
}

async fn show_own(context: RequestContext, params: OwnKey) -> ApiResult<Body<UserKey>> {
    Ok(Body(present_key(ssh_key::show_own(context.app(), &context.actor, params.key_id).await?)))
}

params! {
    struct CreateKey {
        /// Name of the key.
        required title: String,
        /// Public key in one line, as in `id_ed25519.pub`.
        required key: String,
    }
}

async fn create_own(context: RequestContext, params: CreateKey) -> ApiResult<Created<UserKey>> {
    let key = ssh_key::create_own(context.app(), &context.actor, &params.title, &params.key).await?;
    Ok(Created(present_key(key)))
}

async fn delete_own(context: RequestContext, params: OwnKey) -> ApiResult<NoContent> {
    let deleted = ssh_key::delete_own(context.app(), &context.actor, params.key_id).await?;
    deleted.ok_or(Error::NotFound(Resource::Key))?;
    Ok(NoContent)
}

async fn list_for_user(context: RequestContext, params: OneUser) -> ApiResult<PageBody<UserKey>> {
    let page = ssh_key::list_for_user(context.app(), &context.actor, params.id, context.page).await?;
    Ok(PageBody(page.map(present_key)))
}

params! {
    struct KeyOfUser {
        /// Id of the user.
        required id: UserId,
        /// Id of the key.
        required key_id: SshKeyId,
    }
}

async fn show_for_user(context: RequestContext, params: KeyOfUser) -> ApiResult<Body<UserKey>> {
    Ok(Body(present_key(ssh_key::show_for_user(context.app(), &context.actor, params.id, params.key_id).await?)))
}

params! {
    struct CreateKeyFor {
        /// Id of the user.
        required id: UserId,
        flatten key: CreateKey,
    }
}

async fn create_for_user(context: RequestContext, params: CreateKeyFor) -> ApiResult<Created<UserKey>> {
    let CreateKey { title, key } = params.key;
    let key = ssh_key::create_for_user(context.app(), &context.actor, params.id, &title, &key).await?;
    Ok(Created(present_key(key)))
}

async fn delete_for_user(context: RequestContext, params: KeyOfUser) -> ApiResult<NoContent> {
    ssh_key::delete_for_user(context.app(), &context.actor, params.id, params.key_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const OWN: &str = "/user/keys/:key_id";
    const OF_USER: &str = "/users/:id/keys/:key_id";
    let (own, manage) = (Access::Instance(ManageOwnAccount), Access::Instance(ManageUsers));
    routes.add(Method::GET, "/user/keys", own, "List the SSH keys of the current user", list_own);
    routes.add(Method::GET, OWN, own, "Get an SSH key of the current user", show_own);
    routes.add(Method::POST, "/user/keys", own, "Add an SSH key", create_own);
    routes.add(Method::DELETE, OWN, own, "Delete an SSH key of the current user", delete_own);
    routes.add(Method::GET, "/users/:id/keys", manage, "List the SSH keys of a user", list_for_user);
    routes.add(Method::GET, OF_USER, manage, "Get an SSH key of a user", show_for_user);
    routes.add(Method::POST, "/users/:id/keys", manage, "Add an SSH key to a user", create_for_user);
    routes.add(Method::DELETE, OF_USER, manage, "Delete an SSH key of a user", delete_for_user);
}
