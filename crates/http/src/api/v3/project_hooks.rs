use axum::http::Method;
use holdfast_app::hooks::hook::{self, HookChanges, Whose};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::ProjectAction::ManageHooks;

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, BodyIfAny, Created, Listed};
use crate::present::hook::{HookBody, hook as present};
use crate::{Access, Cx, Routes, params};

async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<HookBody>> {
    Ok(Listed(hook::list(cx.app(), &cx.actor, &Whose::Project(params.id), cx.page).await?.map(present)))
}

params! {
    struct OneHook {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required hook_id: HookId,
    }
}

async fn show(cx: Cx, params: OneHook) -> ApiResult<Body<HookBody>> {
    Ok(Body(present(hook::show(cx.app(), &cx.actor, &Whose::Project(params.id), params.hook_id).await?)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        required url: String,
        /// Sent along with every delivery; never shown again.
        changed token: String,
        /// On by default.
        optional push_events: bool,
        optional issues_events: bool,
        optional merge_requests_events: bool,
        optional tag_push_events: bool,
        optional note_events: bool,
        optional build_events: bool,
        optional pipeline_events: bool,
        optional wiki_events: bool,
        /// The same as wiki_events, as the answer calls it.
        optional wiki_page_events: bool,
        /// On by default.
        optional enable_ssl_verification: bool,
    }
}

impl Attributes {
    fn into_changes(self) -> HookChanges {
        HookChanges {
            url: self.url,
            token: self.token,
            push_events: self.push_events,
            tag_push_events: self.tag_push_events,
            issues_events: self.issues_events,
            merge_requests_events: self.merge_requests_events,
            note_events: self.note_events,
            build_events: self.build_events,
            pipeline_events: self.pipeline_events,
            wiki_page_events: self.wiki_events.or(self.wiki_page_events),
            enable_ssl_verification: self.enable_ssl_verification,
        }
    }
}

params! {
    struct CreateHook {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        including attributes: Attributes,
    }
}

async fn create(cx: Cx, params: CreateHook) -> ApiResult<Created<HookBody>> {
    let hook = hook::create(cx.app(), &cx.actor, &Whose::Project(params.id), params.attributes.into_changes()).await?;
    Ok(Created(present(hook)))
}

params! {
    struct UpdateHook {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required hook_id: HookId,
        including attributes: Attributes,
    }
}

async fn update(cx: Cx, params: UpdateHook) -> ApiResult<Body<HookBody>> {
    let changes = params.attributes.into_changes();
    Ok(Body(present(hook::update(cx.app(), &cx.actor, &params.id, params.hook_id, changes).await?)))
}

async fn delete(cx: Cx, params: OneHook) -> ApiResult<BodyIfAny<HookBody>> {
    Ok(BodyIfAny(hook::delete(cx.app(), &cx.actor, &Whose::Project(params.id), params.hook_id).await?.map(present)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/hooks";
    const ONE: &str = "/projects/:id/hooks/:hook_id";
    let manage = Access::Project(ManageHooks);
    routes.add(Method::GET, PATH, manage, "Lists a project's hooks, newest first", list);
    routes.add(Method::GET, ONE, manage, "Shows a hook", show);
    routes.add(Method::POST, PATH, manage, "Adds a hook", create);
    routes.add(Method::PUT, ONE, manage, "Changes a hook", update);
    routes.add(Method::DELETE, ONE, manage, "Removes a hook; an empty answer if there is none", delete);
}
