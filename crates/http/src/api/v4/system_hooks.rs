use axum::http::Method;
use holdfast_app::hooks::delivery;
use holdfast_app::hooks::hook::{self, HookChanges, HookScope};
use holdfast_app::{Error, Resource};
use holdfast_domain::Field;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::InstanceAction::ManageHooks;

use super::ApiResult;
use crate::present::hook::{TestPayloadBody, test_payload};
use crate::present::v4::hook::{HookEvent, InstanceHook, present_delivery, present_system_hook};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, (): ()) -> ApiResult<PageBody<InstanceHook>> {
    let page = hook::list(context.app(), &context.actor, &HookScope::Instance, context.page).await?;
    Ok(PageBody(page.map(present_system_hook)))
}

params! {
    struct OneHook {
        required id: HookId,
    }
}

async fn show(context: RequestContext, params: OneHook) -> ApiResult<Body<InstanceHook>> {
    let found = hook::show(context.app(), &context.actor, &HookScope::Instance, params.id).await?;
    Ok(Body(present_system_hook(found)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        /// Secret that is sent with every delivery. It is never returned.
        nullable token: String,
        /// Whether to deliver pushes to branches, on by default.
        optional push_events: bool,
        /// Whether to deliver pushes of tags.
        optional tag_push_events: bool,
        /// Whether to verify TLS certificates, on by default.
        optional enable_ssl_verification: bool,
    }
}

impl Attributes {
    fn into_changes(self, url: Option<String>) -> HookChanges {
        HookChanges {
            url,
            token: self.token,
            push_events: self.push_events,
            tag_push_events: self.tag_push_events,
            enable_ssl_verification: self.enable_ssl_verification,
            ..HookChanges::default()
        }
    }
}

params! {
    struct CreateHook {
        /// HTTP or HTTPS URL that receives the deliveries.
        required url: String,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateHook) -> ApiResult<Created<InstanceHook>> {
    let changes = params.attributes.into_changes(Some(params.url));
    let created = hook::create(context.app(), &context.actor, &HookScope::Instance, changes).await?;
    Ok(Created(present_system_hook(created)))
}

params! {
    struct UpdateHook {
        required id: HookId,
        /// New URL. By default the URL does not change.
        nullable url: String,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateHook) -> ApiResult<Body<InstanceHook>> {
    let url = match params.url {
        Field::Value(url) => Some(url),
        Field::Null => Some(String::new()),
        Field::Absent => None,
    };
    let changes = params.attributes.into_changes(url);
    let updated = hook::update_in(context.app(), &context.actor, &HookScope::Instance, params.id, changes).await?;
    Ok(Body(present_system_hook(updated)))
}

async fn delete(context: RequestContext, params: OneHook) -> ApiResult<NoContent> {
    let deleted = hook::delete(context.app(), &context.actor, &HookScope::Instance, params.id).await?;
    deleted.ok_or(Error::NotFound(Resource::Record))?;
    Ok(NoContent)
}

/// Enqueues a test delivery and returns its payload. The outcome is among the events of the hook.
async fn test(context: RequestContext, params: OneHook) -> ApiResult<Created<TestPayloadBody>> {
    Ok(Created(test_payload(hook::test(context.app(), &context.actor, params.id).await?)))
}

async fn list_events(context: RequestContext, params: OneHook) -> ApiResult<PageBody<HookEvent>> {
    let scope = HookScope::Instance;
    let page = delivery::list_details(context.app(), &context.actor, &scope, params.id, context.page).await?;
    Ok(PageBody(page.map(present_delivery)))
}

params! {
    struct OneEvent {
        required id: HookId,
        /// Sequence number of the delivery among those of the hook.
        required event_id: i64,
    }
}

/// Enqueues a delivery again, and returns the new one.
async fn resend(context: RequestContext, params: OneEvent) -> ApiResult<Created<HookEvent>> {
    let scope = HookScope::Instance;
    let new = delivery::replay(context.app(), &context.actor, &scope, params.id, params.event_id).await?;
    let shown = delivery::show(context.app(), &context.actor, &scope, params.id, new.sequence).await?;
    Ok(Created(present_delivery(shown)))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/hooks";
    const ONE: &str = "/hooks/:id";
    let manage = Access::Instance(ManageHooks);
    routes.add(Method::GET, ALL, manage, "List system hooks", list);
    routes.add(Method::POST, ALL, manage, "Create a system hook", create);
    routes.add(Method::GET, ONE, manage, "Get a system hook", show);
    routes.add(Method::PUT, ONE, manage, "Update a system hook", update);
    routes.add(Method::POST, ONE, manage, "Test a system hook", test);
    routes.add(Method::DELETE, ONE, manage, "Delete a system hook", delete);
    routes.add(Method::GET, "/hooks/:id/events", manage, "List the deliveries of a system hook", list_events);
    routes.add(
        Method::POST,
        "/hooks/:id/events/:event_id/resend",
        manage,
        "Send a delivery of a system hook again",
        resend,
    );
}
