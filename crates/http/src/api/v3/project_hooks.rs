use axum::http::Method;
use holdfast_app::hooks::hook::{self, HookChanges, HookScope};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::ProjectAction::ManageHooks;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::hook::{HookBody, present_hook};
use crate::response::{Body, BodyIfAny, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<HookBody>> {
    Ok(PageBody(
        hook::list(context.app(), &context.actor, &HookScope::Project(params.id), context.page)
            .await?
            .map(present_hook),
    ))
}

params! {
    struct OneHook {
        required id: ProjectRef,
        required hook_id: HookId,
    }
}

async fn show(context: RequestContext, params: OneHook) -> ApiResult<Body<HookBody>> {
    Ok(Body(present_hook(
        hook::show(context.app(), &context.actor, &HookScope::Project(params.id), params.hook_id).await?,
    )))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        /// HTTP or HTTPS URL that receives the deliveries.
        required url: String,
        /// Secret that is sent with every delivery. It is never returned.
        nullable token: String,
        /// Whether to deliver pushes to branches, on by default.
        optional push_events: bool,
        /// Whether to deliver events of issues.
        optional issues_events: bool,
        /// Stored and returned for existing clients, without effect.
        optional merge_requests_events: bool,
        /// Whether to deliver pushes of tags.
        optional tag_push_events: bool,
        /// Whether to deliver events of notes.
        optional note_events: bool,
        /// Whether to deliver events of builds.
        optional build_events: bool,
        /// Whether to deliver events of pipelines.
        optional pipeline_events: bool,
        /// Stored and returned as `wiki_page_events` for existing clients, without effect.
        optional wiki_events: bool,
        /// Alias of `wiki_events`, the name in the response.
        optional wiki_page_events: bool,
        /// Whether to verify TLS certificates, on by default.
        optional enable_ssl_verification: bool,
    }
}

impl Attributes {
    fn into_changes(self) -> HookChanges {
        HookChanges {
            url: Some(self.url),
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
        required id: ProjectRef,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateHook) -> ApiResult<Created<HookBody>> {
    let hook =
        hook::create(context.app(), &context.actor, &HookScope::Project(params.id), params.attributes.into_changes())
            .await?;
    Ok(Created(present_hook(hook)))
}

params! {
    struct UpdateHook {
        required id: ProjectRef,
        required hook_id: HookId,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateHook) -> ApiResult<Body<HookBody>> {
    let changes = params.attributes.into_changes();
    Ok(Body(present_hook(hook::update(context.app(), &context.actor, &params.id, params.hook_id, changes).await?)))
}

async fn delete(context: RequestContext, params: OneHook) -> ApiResult<BodyIfAny<HookBody>> {
    Ok(BodyIfAny(
        hook::delete(context.app(), &context.actor, &HookScope::Project(params.id), params.hook_id)
            .await?
            .map(present_hook),
    ))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/hooks";
    const ONE: &str = "/projects/:id/hooks/:hook_id";
    let manage = Access::Project(ManageHooks);
    routes.add(Method::GET, PATH, manage, "List project hooks", list);
    routes.add(Method::GET, ONE, manage, "Get a project hook", show);
    routes.add(Method::POST, PATH, manage, "Create a project hook", create);
    routes.add(Method::PUT, ONE, manage, "Update a project hook", update);
    routes.add(Method::DELETE, ONE, manage, "Delete a project hook", delete);
}
