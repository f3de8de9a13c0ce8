use axum::http::Method;
use holdfast_app::hooks::hook::{self, HookChanges, HookScope};
use holdfast_app::{Error, Resource};
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::InstanceAction::ManageHooks;

use super::ApiResult;
use crate::present::hook::{
    DeletedSystemHookBody, SystemHookBody, TestPayloadBody, deleted_system_hook, present_system_hook, test_payload,
};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

async fn list(context: RequestContext, (): ()) -> ApiResult<PageBody<SystemHookBody>> {
    Ok(PageBody(
        hook::list(context.app(), &context.actor, &HookScope::Instance, context.page).await?.map(present_system_hook),
    ))
}

params! {
    struct CreateHook {
        /// HTTP or HTTPS URL that receives the deliveries.
        required url: String,
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

async fn create(context: RequestContext, params: CreateHook) -> ApiResult<Created<Vec<SystemHookBody>>> {
    let changes = HookChanges {
        url: Some(params.url),
        token: params.token,
        push_events: params.push_events,
        tag_push_events: params.tag_push_events,
        enable_ssl_verification: params.enable_ssl_verification,
        ..HookChanges::default()
    };
    Ok(Created(vec![present_system_hook(
        hook::create(context.app(), &context.actor, &HookScope::Instance, changes).await?,
    )]))
}

params! {
    struct OneHook {
        required id: HookId,
    }
}

async fn test(context: RequestContext, params: OneHook) -> ApiResult<Body<TestPayloadBody>> {
    Ok(Body(test_payload(hook::test(context.app(), &context.actor, params.id).await?)))
}

async fn delete(context: RequestContext, params: OneHook) -> ApiResult<Body<DeletedSystemHookBody>> {
    let deleted = hook::delete(context.app(), &context.actor, &HookScope::Instance, params.id).await?;
    let deleted = deleted.ok_or(Error::NotFound(Resource::Literal("404 System hook Not Found")))?;
    Ok(Body(deleted_system_hook(deleted)))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/hooks";
    const ONE: &str = "/hooks/:id";
    let manage = Access::Instance(ManageHooks);
    routes.add(Method::GET, PATH, manage, "List system hooks", list);
    routes.add(Method::POST, PATH, manage, "Create a system hook", create);
    routes.add_get_with_effect(ONE, manage, "Test a system hook", test);
    routes.add(Method::DELETE, ONE, manage, "Delete a system hook", delete);
}
