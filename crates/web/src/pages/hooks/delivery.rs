//! The page of a delivery, and the actions that send deliveries again.

use holdfast_app::hooks::{delivery, page};
use holdfast_domain::ids::HookId;
use holdfast_http_core::params;

use super::{HookPlace, ensure_hook_address, hook_project, hook_values, layout};
use crate::flash::FlashCode;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::hooks::delivery::delivery_page;

params! {
    pub(super) struct OneDelivery {
        required hook_id: HookId,
        required sequence: i64,
    }
}

pub(super) async fn show<P: HookPlace>(
    context: RequestContext,
    (place, OneDelivery { hook_id, sequence }): (P, OneDelivery),
) -> PageResult {
    let found = page::show_delivery(context.app(), &context.actor, &place.scope(), hook_id, sequence).await?;
    ensure_hook_address(&context, found.project.as_ref())?;
    let project = hook_project(&context, found.project.as_ref());
    let values = [&hook_values(hook_id)[..], &[(":delivery_id", sequence)]].concat();
    let layout = layout(&context, found.project.as_ref(), &values);
    respond::html(&delivery_page(layout, project, &found))
}

pub(super) async fn replay<P: HookPlace>(
    context: RequestContext,
    (place, OneDelivery { hook_id, sequence }): (P, OneDelivery),
) -> PageResult {
    delivery::replay(context.app(), &context.actor, &place.scope(), hook_id, sequence).await?;
    Ok(respond::see_other(place.links().hook(hook_id)).with_flash(FlashCode::DeliveryReplayed))
}

/// Continues with a delivery. The one after the last skips all that are pending.
pub(super) async fn resume<P: HookPlace>(
    context: RequestContext,
    (place, OneDelivery { hook_id, sequence }): (P, OneDelivery),
) -> PageResult {
    delivery::replay_from(context.app(), &context.actor, &place.scope(), hook_id, sequence).await?;
    Ok(respond::see_other(place.links().hook(hook_id)).with_flash(FlashCode::DeliveriesResumed))
}
