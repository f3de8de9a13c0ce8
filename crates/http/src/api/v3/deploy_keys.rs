//! Deploy keys of projects. Each path exists twice, because older clients write `keys` instead of `deploy_keys`.

use axum::http::Method;
use holdfast_app::projects::deploy_key::{self, CreateDeployKey};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::SshKeyId;
use holdfast_domain::policy::InstanceAction::ListDeployKeys;
use holdfast_domain::policy::ProjectAction::ManageDeployKeys;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::deploy_key::{DeployKeyBody, present_deploy_key};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_all(context: RequestContext, (): ()) -> ApiResult<PageBody<DeployKeyBody>> {
    Ok(PageBody(deploy_key::list_all(context.app(), &context.actor, context.page).await?.map(present_deploy_key)))
}

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<DeployKeyBody>> {
    let page = deploy_key::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(present_deploy_key)))
}

params! {
    struct OneDeployKey {
        required id: ProjectRef,
        /// Id of the deploy key.
        required key_id: SshKeyId,
    }
}

async fn show(context: RequestContext, params: OneDeployKey) -> ApiResult<Body<DeployKeyBody>> {
    let key = deploy_key::show(context.app(), &context.actor, &params.id, params.key_id).await?;
    Ok(Body(present_deploy_key(key)))
}

params! {
    struct Create {
        required id: ProjectRef,
        /// Name of the key.
        required title: String,
        /// Public key in one line, as in `id_ed25519.pub`.
        required key: String,
        /// Whether the key may push to the project. By default it may only fetch.
        optional can_push: bool,
    }
}

/// Adds a deploy key to a project. A key that the project has is returned as it is.
async fn create(context: RequestContext, params: Create) -> ApiResult<Created<DeployKeyBody>> {
    let Create { id, title, key, can_push } = params;
    let input = CreateDeployKey { title, key, can_push: can_push.unwrap_or_default() };
    Ok(Created(present_deploy_key(deploy_key::create(context.app(), &context.actor, &id, input).await?)))
}

async fn enable(context: RequestContext, params: OneDeployKey) -> ApiResult<Created<DeployKeyBody>> {
    let key = deploy_key::enable(context.app(), &context.actor, &params.id, params.key_id).await?;
    Ok(Created(present_deploy_key(key)))
}

async fn delete(context: RequestContext, params: OneDeployKey) -> ApiResult<Body<DeployKeyBody>> {
    let key = deploy_key::delete(context.app(), &context.actor, &params.id, params.key_id).await?;
    Ok(Body(present_deploy_key(key)))
}

/// The two paths of deploy keys: the usual one, and the one of older clients. Each with the paths of one key.
const PATHS: [[&str; 4]; 2] = [
    [
        "/projects/:id/deploy_keys",
        "/projects/:id/deploy_keys/:key_id",
        "/projects/:id/deploy_keys/:key_id/enable",
        "/projects/:id/deploy_keys/:key_id/disable",
    ],
    [
        "/projects/:id/keys",
        "/projects/:id/keys/:key_id",
        "/projects/:id/keys/:key_id/enable",
        "/projects/:id/keys/:key_id/disable",
    ],
];

pub fn routes(routes: &mut Routes) {
    let (read_all, manage) = (Access::Instance(ListDeployKeys), Access::Project(ManageDeployKeys));
    routes.add(Method::GET, "/deploy_keys", read_all, "List the deploy keys of all projects", list_all);
    for [all, one, enabled, disabled] in PATHS {
        routes.add(Method::GET, all, manage, "List the deploy keys of a project", list);
        routes.add(Method::GET, one, manage, "Get a deploy key of a project", show);
        routes.add(Method::POST, all, manage, "Add a deploy key to a project", create);
        routes.add(Method::POST, enabled, manage, "Enable a deploy key in a project", enable);
        routes.add(Method::DELETE, disabled, manage, "Disable a deploy key in a project", delete);
        routes.add(Method::DELETE, one, manage, "Delete a deploy key of a project", delete);
    }
}
