use axum::http::{Method, StatusCode};
use holdfast_app::projects::deploy_key::{self, CreateDeployKey, DeployKeyChanges};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::SshKeyId;
use holdfast_domain::policy::InstanceAction::ListDeployKeys;
use holdfast_domain::policy::ProjectAction::ManageDeployKeys;

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::present::v4::deploy_key::{ProjectDeployKey, present_deploy_key};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list_all(context: RequestContext, (): ()) -> ApiResult<PageBody<ProjectDeployKey>> {
    Ok(PageBody(deploy_key::list_all(context.app(), &context.actor, context.page).await?.map(present_deploy_key)))
}

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<ProjectDeployKey>> {
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

async fn show(context: RequestContext, params: OneDeployKey) -> ApiResult<Body<ProjectDeployKey>> {
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
        /// Rejected, because deploy keys do not expire.
        optional expires_at: String,
    }
}

/// Adds a deploy key to a project. A key that the project has is returned as it is.
async fn create(context: RequestContext, params: Create) -> ApiResult<Created<ProjectDeployKey>> {
    let Create { id, title, key, can_push, expires_at } = params;
    // A client that asks for an end must not believe that there is one.
    if expires_at.is_some_and(|end| !end.is_empty()) {
        return Err(ApiError::error(StatusCode::BAD_REQUEST, "expires_at is invalid: deploy keys do not expire"));
    }
    let input = CreateDeployKey { title, key, can_push: can_push.unwrap_or_default() };
    Ok(Created(present_deploy_key(deploy_key::create(context.app(), &context.actor, &id, input).await?)))
}

params! {
    struct Update {
        required id: ProjectRef,
        /// Id of the deploy key.
        required key_id: SshKeyId,
        /// New name of the key, in all projects that have it.
        optional title: String,
        /// Whether the key may push to the project.
        optional can_push: bool,
    }
}

async fn update(context: RequestContext, params: Update) -> ApiResult<Body<ProjectDeployKey>> {
    let Update { id, key_id, title, can_push } = params;
    if title.is_none() && can_push.is_none() {
        return Err(ApiError::at_least_one_required(&["title", "can_push"]));
    }
    let changes = DeployKeyChanges { title, can_push };
    Ok(Body(present_deploy_key(deploy_key::update(context.app(), &context.actor, &id, key_id, changes).await?)))
}

async fn enable(context: RequestContext, params: OneDeployKey) -> ApiResult<Created<ProjectDeployKey>> {
    let key = deploy_key::enable(context.app(), &context.actor, &params.id, params.key_id).await?;
    Ok(Created(present_deploy_key(key)))
}

async fn delete(context: RequestContext, params: OneDeployKey) -> ApiResult<NoContent> {
    deploy_key::delete(context.app(), &context.actor, &params.id, params.key_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/deploy_keys";
    const ONE: &str = "/projects/:id/deploy_keys/:key_id";
    const ENABLE: &str = "/projects/:id/deploy_keys/:key_id/enable";
    let (read_all, manage) = (Access::Instance(ListDeployKeys), Access::Project(ManageDeployKeys));
    routes.add(Method::GET, "/deploy_keys", read_all, "List the deploy keys of all projects", list_all);
    routes.add(Method::GET, ALL, manage, "List the deploy keys of a project", list);
    routes.add(Method::GET, ONE, manage, "Get a deploy key of a project", show);
    routes.add(Method::POST, ALL, manage, "Add a deploy key to a project", create);
    routes.add(Method::PUT, ONE, manage, "Update a deploy key of a project", update);
    routes.add(Method::POST, ENABLE, manage, "Enable a deploy key in a project", enable);
    routes.add(Method::DELETE, ONE, manage, "Remove a deploy key from a project", delete);
}
