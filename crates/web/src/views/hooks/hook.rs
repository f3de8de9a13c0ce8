//! The page of a hook: its state, its deliveries, its form and its test.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};
use holdfast_app::hooks::address;
use holdfast_app::hooks::delivery::Delivery;
use holdfast_app::hooks::page::{HookDetail, NextDelivery};
use holdfast_domain::Violations;
use holdfast_domain::ids::HookId;

use super::fields::{HookFields, HookSecrets, HookValues};
use super::frame::{HookFrame, HookProject, hook_frame};
use super::status::{
    ResponseStatus, delivery_status, event_name, hook_status, response_status, subscription_list, unhealthy_since,
};
use crate::layout::Layout;
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::status::StatusView;
use crate::views::{HookLinks, Pages};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "hooks/hook.html")]
pub struct HookPage {
    pub layout: Layout,
    pub nav: Option<SettingsNav>,
    /// The URL of the receiver, without user name and password.
    pub address: String,
    pub status: StatusView,
    /// Since when the hook fails or is paused.
    pub since: Option<Time>,
    pub events: String,
    /// How long deliveries are kept, such as `30 days`.
    pub retention: String,
    pub is_paused: bool,
    pub blocking: Option<BlockingDelivery>,
    pub deliveries: Vec<DeliveryRow>,
    pub pages: Pages,
    pub test_action: String,
    pub delete_action: String,
    pub fields: HookFields,
    /// Whether the form is open at first, because it was rejected.
    pub is_form_open: bool,
}

/// The failed delivery that the deliveries behind it wait for.
#[derive(Clone, Debug)]
pub struct BlockingDelivery {
    pub url: String,
    pub sequence: i64,
    /// How often it failed, such as `3 times`.
    pub failures: String,
    /// What the receiver responded, or why there was no response.
    pub reason: Option<String>,
    /// The time until the next attempt, or None if it is due.
    pub wait: Option<String>,
    /// The action that sends it at once.
    pub retry_action: String,
    /// The action that continues with the next delivery.
    pub skip_action: String,
}

#[derive(Clone, Debug)]
pub struct DeliveryRow {
    pub url: String,
    pub replay_action: String,
    pub sequence: i64,
    pub replay_of: Option<i64>,
    pub status: StatusView,
    pub event: String,
    /// The time of the last attempt, or that of the event if there was none.
    pub time: Time,
    pub attempts: i32,
    pub response: Option<ResponseStatus>,
    pub has_error: bool,
    pub duration: Option<String>,
}

fn delivery_row(links: &HookLinks, hook: HookId, delivery: &Delivery, now: DateTime<Utc>) -> DeliveryRow {
    DeliveryRow {
        url: links.delivery(hook, delivery.sequence),
        replay_action: links.delivery_action(hook, delivery.sequence, "replay"),
        sequence: delivery.sequence,
        replay_of: delivery.replay_of,
        status: delivery_status(delivery),
        event: event_name(delivery),
        time: Time::ago(delivery.attempted_at.unwrap_or(delivery.created_at), now),
        attempts: delivery.attempts,
        response: response_status(delivery),
        has_error: delivery.error.is_some(),
        duration: delivery.duration_ms.map(words::milliseconds),
    }
}

fn blocking_delivery(links: &HookLinks, hook: HookId, next: &NextDelivery, now: DateTime<Utc>) -> BlockingDelivery {
    let delivery = &next.delivery;
    let reason = delivery.error.as_ref().map(|error| format!("{}.", error.trim_end_matches('.')));
    let wait = next.due_at.map(|due| (due - now).num_seconds()).filter(|seconds| *seconds > 0);
    BlockingDelivery {
        url: links.delivery(hook, delivery.sequence),
        sequence: delivery.sequence,
        failures: words::times(delivery.attempts),
        reason,
        wait: wait.map(words::duration),
        retry_action: links.delivery_action(hook, delivery.sequence, "resume"),
        skip_action: links.delivery_action(hook, delivery.sequence + 1, "resume"),
    }
}

/// The form of the page: its values, and what is wrong with them.
pub struct HookFormState<'a> {
    pub values: HookValues,
    pub violations: &'a Violations,
    pub is_open: bool,
}

/// Builds the page. `retention` is how long deliveries are kept.
pub fn hook_page(
    layout: Layout,
    project: HookProject<'_>,
    found: &HookDetail,
    form: HookFormState<'_>,
    retention: TimeDelta,
    now: DateTime<Utc>,
) -> HookPage {
    let hook = &found.hook;
    let address = address::redact(&hook.url);
    let HookFrame { layout, nav, links } = hook_frame(layout, project, &format!("Hook {address}"));
    let secrets = HookSecrets { has_token: found.has_token, has_credentials: found.has_credentials };
    let blocking = found.next.as_ref().filter(|next| hook.failing_since.is_some() && next.delivery.attempts > 0);
    HookPage {
        layout,
        nav,
        address,
        status: hook_status(hook),
        since: unhealthy_since(hook).map(|since| Time::ago(since, now)),
        events: subscription_list(hook),
        retention: words::days(retention.num_days()),
        is_paused: hook.paused_at.is_some(),
        blocking: blocking.map(|next| blocking_delivery(&links, hook.id, next, now)),
        deliveries: found.deliveries.items.iter().map(|it| delivery_row(&links, hook.id, it, now)).collect(),
        pages: Pages::new(&found.deliveries, &links.hook(hook.id), &[]),
        test_action: links.hook_action(hook.id, "test"),
        delete_action: links.hook_action(hook.id, "delete"),
        fields: HookFields::new(links.hook(hook.id), project, form.values, Some(secrets), form.violations),
        is_form_open: form.is_open,
    }
}
