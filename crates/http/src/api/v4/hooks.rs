use axum::http::Method;
use holdfast_app::hooks::delivery;
use holdfast_app::hooks::hook::{self, HookChanges, HookScope};
use holdfast_app::hooks::sample::{self, SampleKind};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::ProjectAction::ManageHooks;

use super::ApiResult;
use super::projects::OneProject;
use crate::present::v4::hook::{HookEvent, HookTested, ProjectHook, TESTED, present_delivery, present_hook};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<ProjectHook>> {
    let scope = HookScope::Project(params.id);
    Ok(PageBody(hook::list(context.app(), &context.actor, &scope, context.page).await?.map(present_hook)))
}

params! {
    struct OneHook {
        required id: ProjectRef,
        required hook_id: HookId,
    }
}

async fn show(context: RequestContext, params: OneHook) -> ApiResult<Body<ProjectHook>> {
    let scope = HookScope::Project(params.id);
    Ok(Body(present_hook(hook::show(context.app(), &context.actor, &scope, params.hook_id).await?)))
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
        /// Whether to deliver pushes of tags.
        optional tag_push_events: bool,
        /// Whether to deliver events of issues.
        optional issues_events: bool,
        /// Whether to deliver events of merge requests.
        optional merge_requests_events: bool,
        /// Whether to deliver events of notes.
        optional note_events: bool,
        /// Whether to deliver events of jobs.
        optional job_events: bool,
        /// Whether to deliver events of pipelines.
        optional pipeline_events: bool,
        /// Stored and returned for existing clients, without effect.
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
            build_events: self.job_events,
            pipeline_events: self.pipeline_events,
            wiki_page_events: self.wiki_page_events,
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

async fn create(context: RequestContext, params: CreateHook) -> ApiResult<Created<ProjectHook>> {
    let (scope, changes) = (HookScope::Project(params.id), params.attributes.into_changes());
    Ok(Created(present_hook(hook::create(context.app(), &context.actor, &scope, changes).await?)))
}

params! {
    struct UpdateHook {
        required id: ProjectRef,
        required hook_id: HookId,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateHook) -> ApiResult<Body<ProjectHook>> {
    let changes = params.attributes.into_changes();
    Ok(Body(present_hook(hook::update(context.app(), &context.actor, &params.id, params.hook_id, changes).await?)))
}

async fn delete(context: RequestContext, params: OneHook) -> ApiResult<NoContent> {
    let scope = HookScope::Project(params.id);
    let deleted = hook::delete(context.app(), &context.actor, &scope, params.hook_id).await?;
    deleted.ok_or(Error::NotFound(Resource::Record))?;
    Ok(NoContent)
}

choice! {
    enum Trigger { Push = "push_events", TagPush = "tag_push_events" }
}

params! {
    struct TestHook {
        required id: ProjectRef,
        required hook_id: HookId,
        /// Kind of the sample event.
        required trigger: Trigger,
    }
}

/// Enqueues a delivery with a sample event. The outcome is among the events of the hook.
async fn test(context: RequestContext, params: TestHook) -> ApiResult<Created<HookTested>> {
    let kind = match params.trigger {
        Trigger::Push => SampleKind::Push,
        Trigger::TagPush => SampleKind::TagPush,
    };
    sample::send(context.app(), &context.actor, &params.id, params.hook_id, kind).await?;
    Ok(Created(TESTED))
}

async fn list_events(context: RequestContext, params: OneHook) -> ApiResult<PageBody<HookEvent>> {
    let scope = HookScope::Project(params.id);
    let page = delivery::list_details(context.app(), &context.actor, &scope, params.hook_id, context.page).await?;
    Ok(PageBody(page.map(present_delivery)))
}

params! {
    struct OneEvent {
        required id: ProjectRef,
        required hook_id: HookId,
        /// Sequence number of the delivery among those of the hook.
        required event_id: i64,
    }
}

/// Enqueues a delivery again, and returns the new one.
async fn resend(context: RequestContext, params: OneEvent) -> ApiResult<Created<HookEvent>> {
    let scope = HookScope::Project(params.id);
    let new = delivery::replay(context.app(), &context.actor, &scope, params.hook_id, params.event_id).await?;
    let shown = delivery::show(context.app(), &context.actor, &scope, params.hook_id, new.sequence).await?;
    Ok(Created(present_delivery(shown)))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/hooks";
    const ONE: &str = "/projects/:id/hooks/:hook_id";
    const TEST: &str = "/projects/:id/hooks/:hook_id/test/:trigger";
    const EVENTS: &str = "/projects/:id/hooks/:hook_id/events";
    const RESEND: &str = "/projects/:id/hooks/:hook_id/events/:event_id/resend";
    let manage = Access::Project(ManageHooks);
    routes.add(Method::GET, ALL, manage, "List project hooks", list);
    routes.add(Method::GET, ONE, manage, "Get a project hook", show);
    routes.add(Method::POST, ALL, manage, "Create a project hook", create);
    routes.add(Method::PUT, ONE, manage, "Update a project hook", update);
    routes.add(Method::DELETE, ONE, manage, "Delete a project hook", delete);
    routes.add(Method::POST, TEST, manage, "Test a project hook with a sample event", test);
    routes.add(Method::GET, EVENTS, manage, "List the deliveries of a project hook", list_events);
    routes.add(Method::POST, RESEND, manage, "Send a delivery of a project hook again", resend);
}
