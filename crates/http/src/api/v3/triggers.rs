use axum::http::{Method, StatusCode};
use holdfast_app::ci::trigger;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::policy::ProjectAction::ManageCi;

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Created, Listed};
use crate::error::ApiError;
use crate::params::Texts;
use crate::present::trigger::{TriggerBody, Triggered, trigger as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<TriggerBody>> {
    let page = trigger::list(cx.app(), &cx.actor, &params.id, cx.page).await?;
    Ok(Listed(page.map(|it| present(it, cx.site()))))
}

params! {
    struct OneTrigger {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// The token, or the trigger's id.
        required token: String,
    }
}

async fn show(cx: Cx, params: OneTrigger) -> ApiResult<Body<TriggerBody>> {
    Ok(Body(present(trigger::show(cx.app(), &cx.actor, &params.id, &params.token).await?, cx.site())))
}

params! {
    struct CreateTrigger {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        optional description: String,
    }
}

async fn create(cx: Cx, params: CreateTrigger) -> ApiResult<Created<TriggerBody>> {
    let made = trigger::create(cx.app(), &cx.actor, &params.id, params.description.as_deref()).await?;
    Ok(Created(present(made, cx.site())))
}

async fn delete(cx: Cx, params: OneTrigger) -> ApiResult<Body<TriggerBody>> {
    Ok(Body(present(trigger::delete(cx.app(), &cx.actor, &params.id, &params.token).await?, cx.site())))
}

params! {
    struct Fire {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A branch or a tag.
        required r#ref: String,
        required token: String,
        /// What the builds are given: `variables[NAME]=value`. Names of the server, of git, of shells, of the loader and
        /// of proxies are refused.
        optional variables: Texts,
    }
}

async fn fire(cx: Cx, params: Fire) -> ApiResult<Created<Triggered>> {
    let given = match params.variables {
        None => Vec::new(),
        Some(Texts(Some(given))) => given,
        Some(Texts(None)) => {
            let text = "variables needs to be a map of key-valued strings";
            return Err(ApiError::message(StatusCode::BAD_REQUEST, text));
        }
    };
    let pipeline = trigger::fire(cx.app(), &params.id, &params.token, &params.r#ref, &given).await?;
    let variables = given.into_iter().map(|(name, _)| name).collect();
    Ok(Created(Triggered { id: pipeline.id.get(), variables }))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/triggers";
    const ONE: &str = "/projects/:id/triggers/:token";
    let manage = Access::Project(ManageCi);
    routes.add(Method::GET, PATH, manage, "List pipeline triggers", list);
    routes.add(Method::GET, ONE, manage, "Get a pipeline trigger", show);
    routes.add(Method::POST, PATH, manage, "Create a pipeline trigger, which acts for its creator", create);
    routes.add(Method::DELETE, ONE, manage, "Delete a pipeline trigger", delete);
    const FIRE: &str = "/projects/:id/trigger/builds";
    let summary = "Starts a pipeline; the token of a trigger is the right to it";
    routes.add(Method::POST, FIRE, Access::Anyone, summary, fire);
    const FIRE_REF: &str = "/projects/:id/ref/:ref/trigger/builds";
    routes.add(Method::POST, FIRE_REF, Access::Anyone, summary, fire);
}
