//! What hooks were told.

use axum::http::Method;
use holdfast_app::hooks::delivery;
use holdfast_app::hooks::hook::Whose;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::HookId;
use holdfast_domain::policy::{InstanceAction, ProjectAction};

use super::ApiResult;
use crate::answer::{Body, Created, Listed};
use crate::present::delivery::{DeliveryBody, ReplayBody, ShownDeliveryBody, delivery as present, shown};
use crate::{Access, Cx, Routes, params};

params! {
    struct HookOfProject {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required hook_id: HookId,
    }
}

impl HookOfProject {
    fn split(self) -> (Whose, HookId) {
        (Whose::Project(self.id), self.hook_id)
    }
}

params! {
    struct HookOfInstance {
        required id: HookId,
    }
}

impl HookOfInstance {
    fn split(self) -> (Whose, HookId) {
        (Whose::Instance, self.id)
    }
}

/// The same endpoints for hooks of projects and of the instance.
macro_rules! endpoints {
    ($place:ident, $Hook:ty) => {
        mod $place {
            use super::*;

            pub async fn list(cx: Cx, hook: $Hook) -> ApiResult<Listed<DeliveryBody>> {
                let (whose, hook) = hook.split();
                Ok(Listed(delivery::list(cx.app(), &cx.actor, &whose, hook, cx.page).await?.map(present)))
            }

            params! {
                pub struct OneDelivery {
                    including hook: $Hook,
                    /// Its number among the deliveries of the hook.
                    required delivery_id: i64,
                }
            }

            pub async fn show(cx: Cx, params: OneDelivery) -> ApiResult<Body<ShownDeliveryBody>> {
                let (whose, hook) = params.hook.split();
                Ok(Body(shown(delivery::show(cx.app(), &cx.actor, &whose, hook, params.delivery_id).await?)))
            }

            pub async fn replay(cx: Cx, params: OneDelivery) -> ApiResult<Created<DeliveryBody>> {
                let (whose, hook) = params.hook.split();
                let again = delivery::replay(cx.app(), &cx.actor, &whose, hook, params.delivery_id).await?;
                Ok(Created(present(again)))
            }

            params! {
                pub struct ReplayFrom {
                    including hook: $Hook,
                    /// The number of the first delivery that is sent again.
                    required from: i64,
                }
            }

            pub async fn replay_from(cx: Cx, params: ReplayFrom) -> ApiResult<Created<ReplayBody>> {
                let (whose, hook) = params.hook.split();
                let deliveries = delivery::replay_from(cx.app(), &cx.actor, &whose, hook, params.from).await?;
                Ok(Created(ReplayBody { from: params.from, deliveries }))
            }
        }
    };
}

endpoints!(of_project, HookOfProject);
endpoints!(of_instance, HookOfInstance);

pub fn routes(routes: &mut Routes) {
    const LIST: &str = "Lists what a hook was told and is to be told, the last first";
    const SHOW: &str = "Shows a delivery with what was sent and what was answered";
    const REPLAY: &str = "Sends a delivery again, behind everything that waits";
    const REPLAY_FROM: &str = "Lets a hook go on from a delivery: it and all after it are sent, again if need be";

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
