//! Endpoints for the deliveries of project hooks and system hooks.

use axum::http::Method;
use holdfast_app::hooks::delivery;
use holdfast_app::hooks::hook::HookScope;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};

use super::ApiResult;
use crate::present::delivery::{DeliveryBody, ReplayBody, ShownDeliveryBody, delivery as present, detail};
use crate::response::{Body, Created, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct HookOfProject {
        /// Project id, or its path as NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required hook_id: HookId,
    }
}

impl HookOfProject {
    fn split(self) -> (HookScope, HookId) {
        (HookScope::Project(self.id), self.hook_id)
    }
}

params! {
    struct HookOfInstance {
        required id: HookId,
    }
}

impl HookOfInstance {
    fn split(self) -> (HookScope, HookId) {
        (HookScope::Instance, self.id)
    }
}

/// Defines the same endpoints for project hooks and for system hooks.
macro_rules! endpoints {
    ($place:ident, $Hook:ty) => {
        mod $place {
            use super::*;

            pub async fn list(context: RequestContext, hook: $Hook) -> ApiResult<PageBody<DeliveryBody>> {
                let (scope, hook) = hook.split();
                Ok(PageBody(
                    delivery::list(context.app(), &context.actor, &scope, hook, context.page).await?.map(present),
                ))
            }

            params! {
                pub struct OneDelivery {
                    flatten hook: $Hook,
                    /// Sequence number of the delivery among those of the hook.
                    required delivery_id: i64,
                }
            }

            pub async fn show(context: RequestContext, params: OneDelivery) -> ApiResult<Body<ShownDeliveryBody>> {
                let (scope, hook) = params.hook.split();
                Ok(Body(detail(delivery::show(context.app(), &context.actor, &scope, hook, params.delivery_id).await?)))
            }

            pub async fn replay(context: RequestContext, params: OneDelivery) -> ApiResult<Created<DeliveryBody>> {
                let (scope, hook) = params.hook.split();
                let replayed =
                    delivery::replay(context.app(), &context.actor, &scope, hook, params.delivery_id).await?;
                Ok(Created(present(replayed)))
            }

            params! {
                pub struct ReplayFrom {
                    flatten hook: $Hook,
                    /// Sequence number of the first delivery to send. Pending deliveries before it are skipped.
                    required from: i64,
                }
            }

            pub async fn replay_from(context: RequestContext, params: ReplayFrom) -> ApiResult<Created<ReplayBody>> {
                let (scope, hook) = params.hook.split();
                let deliveries =
                    delivery::replay_from(context.app(), &context.actor, &scope, hook, params.from).await?;
                Ok(Created(ReplayBody { from: params.from, deliveries }))
            }
        }
    };
}

endpoints!(of_project, HookOfProject);
endpoints!(of_instance, HookOfInstance);

pub fn routes(routes: &mut Routes) {
    const LIST: &str = "List the deliveries of a hook";
    const SHOW: &str = "Get a delivery with its request and response";
    const REPLAY: &str = "Replay a delivery";
    const REPLAY_FROM: &str = "Replay deliveries from a sequence number on";

    const ALL: &str = "/projects/:id/hooks/:hook_id/deliveries";
    const ONE: &str = "/projects/:id/hooks/:hook_id/deliveries/:delivery_id";
    const AGAIN: &str = "/projects/:id/hooks/:hook_id/deliveries/:delivery_id/replay";
    const FROM: &str = "/projects/:id/hooks/:hook_id/replay";
    let manage = Access::Project(ProjectAction::ManageHooks);
    routes.add(Method::GET, ALL, manage, LIST, of_project::list);
    routes.add(Method::GET, ONE, manage, SHOW, of_project::show);
    routes.add(Method::POST, AGAIN, manage, REPLAY, of_project::replay);
    routes.add(Method::POST, FROM, manage, REPLAY_FROM, of_project::replay_from);

    const SYSTEM_ALL: &str = "/hooks/:id/deliveries";
    const SYSTEM_ONE: &str = "/hooks/:id/deliveries/:delivery_id";
    const SYSTEM_AGAIN: &str = "/hooks/:id/deliveries/:delivery_id/replay";
    const SYSTEM_FROM: &str = "/hooks/:id/replay";
    let manage = Access::Instance(InstanceAction::ManageHooks);
    routes.add(Method::GET, SYSTEM_ALL, manage, LIST, of_instance::list);
    routes.add(Method::GET, SYSTEM_ONE, manage, SHOW, of_instance::show);
    routes.add(Method::POST, SYSTEM_AGAIN, manage, REPLAY, of_instance::replay);
    routes.add(Method::POST, SYSTEM_FROM, manage, REPLAY_FROM, of_instance::replay_from);
}
