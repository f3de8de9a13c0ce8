use axum::http::Method;
use holdfast_app::hooks::delivery;
use holdfast_app::hooks::hook::HookScope;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::InstanceAction;

use super::ApiResult;
use crate::present::delivery::{DeliveryBody, ReplayBody, ShownDeliveryBody, detail, present_delivery};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct OneHook {
        required id: HookId,
    }
}

async fn list(context: RequestContext, params: OneHook) -> ApiResult<PageBody<DeliveryBody>> {
    let page = delivery::list(context.app(), &context.actor, &HookScope::Instance, params.id, context.page).await?;
    Ok(PageBody(page.map(present_delivery)))
}

params! {
    struct OneDelivery {
        required id: HookId,
        /// Sequence number of the delivery among those of the hook.
        required delivery_id: i64,
    }
}

async fn show(context: RequestContext, params: OneDelivery) -> ApiResult<Body<ShownDeliveryBody>> {
    let shown =
        delivery::show(context.app(), &context.actor, &HookScope::Instance, params.id, params.delivery_id).await?;
    Ok(Body(detail(shown)))
}

async fn replay(context: RequestContext, params: OneDelivery) -> ApiResult<Created<DeliveryBody>> {
    let replayed =
        delivery::replay(context.app(), &context.actor, &HookScope::Instance, params.id, params.delivery_id).await?;
    Ok(Created(present_delivery(replayed)))
}

params! {
    struct ReplayFrom {
        required id: HookId,
        /// Sequence number of the first delivery to send. Pending deliveries before it are skipped.
        required from: i64,
    }
}

async fn replay_from(context: RequestContext, params: ReplayFrom) -> ApiResult<Created<ReplayBody>> {
    let from = params.from;
    let deliveries =
        delivery::replay_from(context.app(), &context.actor, &HookScope::Instance, params.id, from).await?;
    Ok(Created(ReplayBody { from, deliveries }))
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/hooks/:id/deliveries";
    const ONE: &str = "/hooks/:id/deliveries/:delivery_id";
    const REPLAY: &str = "/hooks/:id/deliveries/:delivery_id/replay";
    const REPLAY_FROM: &str = "/hooks/:id/replay";
    let manage = Access::Instance(InstanceAction::ManageHooks);
    routes.add(Method::GET, ALL, manage, "List the deliveries of a hook", list);
    routes.add(Method::GET, ONE, manage, "Get a delivery with its request and response", show);
    routes.add(Method::POST, REPLAY, manage, "Replay a delivery", replay);
    routes.add(Method::POST, REPLAY_FROM, manage, "Replay deliveries from a sequence number on", replay_from);
}
