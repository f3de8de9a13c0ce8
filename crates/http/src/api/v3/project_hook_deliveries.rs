use axum::http::Method;
use holdfast_app::hooks::delivery;
use holdfast_app::hooks::hook::HookScope;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::ProjectAction;

use super::ApiResult;
use crate::present::delivery::{DeliveryBody, ReplayBody, ShownDeliveryBody, detail, present_delivery};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct OneHook {
        required id: ProjectRef,
        required hook_id: HookId,
    }
}

async fn list(context: RequestContext, params: OneHook) -> ApiResult<PageBody<DeliveryBody>> {
    let scope = HookScope::Project(params.id);
    let page = delivery::list(context.app(), &context.actor, &scope, params.hook_id, context.page).await?;
    Ok(PageBody(page.map(present_delivery)))
}

params! {
    struct OneDelivery {
        required id: ProjectRef,
        required hook_id: HookId,
        /// Sequence number of the delivery among those of the hook.
        required delivery_id: i64,
    }
}

async fn show(context: RequestContext, params: OneDelivery) -> ApiResult<Body<ShownDeliveryBody>> {
    let scope = HookScope::Project(params.id);
    let shown = delivery::show(context.app(), &context.actor, &scope, params.hook_id, params.delivery_id).await?;
    Ok(Body(detail(shown)))
}

async fn replay(context: RequestContext, params: OneDelivery) -> ApiResult<Created<DeliveryBody>> {
    let scope = HookScope::Project(params.id);
    let replayed = delivery::replay(context.app(), &context.actor, &scope, params.hook_id, params.delivery_id).await?;
    Ok(Created(present_delivery(replayed)))
}

params! {
    struct ReplayFrom {
        required id: ProjectRef,
        required hook_id: HookId,
        /// Sequence number of the first delivery to send. Pending deliveries before it are skipped.
        required from: i64,
    }
}

async fn replay_from(context: RequestContext, params: ReplayFrom) -> ApiResult<Created<ReplayBody>> {
    let (scope, from) = (HookScope::Project(params.id), params.from);
    let deliveries = delivery::replay_from(context.app(), &context.actor, &scope, params.hook_id, from).await?;
    Ok(Created(ReplayBody { from, deliveries }))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/hooks/:hook_id/deliveries";
    const ONE: &str = "/projects/:id/hooks/:hook_id/deliveries/:delivery_id";
    const REPLAY: &str = "/projects/:id/hooks/:hook_id/deliveries/:delivery_id/replay";
    const REPLAY_FROM: &str = "/projects/:id/hooks/:hook_id/replay";
    let manage = Access::Project(ProjectAction::ManageHooks);
    routes.add(Method::GET, ALL, manage, "List the deliveries of a hook", list);
    routes.add(Method::GET, ONE, manage, "Get a delivery with its request and response", show);
    routes.add(Method::POST, REPLAY, manage, "Replay a delivery", replay);
    routes.add(Method::POST, REPLAY_FROM, manage, "Replay deliveries from a sequence number on", replay_from);
}
