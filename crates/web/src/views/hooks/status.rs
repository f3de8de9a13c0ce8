//! The states of hooks and deliveries, and the names of their events.

use chrono::{DateTime, Utc};
use holdfast_app::hooks::delivery::{Delivery, DeliveryState};
use holdfast_app::hooks::hook::{EventSubscriptions, Hook};

use crate::icons;
use crate::views::status::StatusView;

/// Returns the state of a hook.
pub fn hook_status(hook: &Hook) -> StatusView {
    match (hook.paused_at, hook.failing_since) {
        (Some(_), _) => StatusView::new(icons::CANCELED, "bad", "paused"),
        (None, Some(_)) => StatusView::new(icons::FAILED, "bad", "failing"),
        (None, None) => StatusView::new(icons::PASSED, "ok", "healthy"),
    }
}

/// Returns the time since which a hook fails or is paused.
pub fn unhealthy_since(hook: &Hook) -> Option<DateTime<Utc>> {
    hook.paused_at.or(hook.failing_since)
}

/// Returns the state of a delivery.
pub fn delivery_status(delivery: &Delivery) -> StatusView {
    match delivery.state() {
        DeliveryState::Delivered => StatusView::new(icons::PASSED, "ok", "delivered"),
        DeliveryState::Pending => StatusView::new(icons::PENDING, "wait", "pending"),
        DeliveryState::Parked => StatusView::new(icons::SKIPPED, "off", "parked"),
    }
}

/// Returns the kind of the event of a delivery in words, such as `tag push`.
pub fn event_name(delivery: &Delivery) -> String {
    delivery.kind.replace('_', " ")
}

/// The status of the response to the last attempt.
#[derive(Clone, Copy, Debug)]
pub struct ResponseStatus {
    pub code: i16,
    /// The class of its color.
    pub color: &'static str,
}

/// Returns the status of the response to the last attempt, if there was a response.
pub fn response_status(delivery: &Delivery) -> Option<ResponseStatus> {
    let code = delivery.status?;
    Some(ResponseStatus { code, color: if (200..300).contains(&code) { "ok" } else { "bad" } })
}

/// Returns the events that a hook subscribes to, as a list in words.
pub fn subscription_list(hook: &Hook) -> String {
    let EventSubscriptions {
        push_events,
        tag_push_events,
        issues_events,
        merge_requests_events,
        note_events,
        build_events,
        pipeline_events,
        ..
    } = hook.subscriptions;
    let is_system = hook.project_id().is_none();
    let names = [
        (push_events, "pushes"),
        (tag_push_events, "tags"),
        (issues_events && !is_system, "issues"),
        (merge_requests_events && !is_system, "merge requests"),
        (note_events && !is_system, "comments"),
        (build_events && !is_system, "builds"),
        (pipeline_events && !is_system, "pipelines"),
        (is_system, "projects, groups, users, members and SSH keys"),
    ];
    let names: Vec<&str> =
        names.into_iter().filter(|(is_subscribed, _)| *is_subscribed).map(|(_, name)| name).collect();
    if names.is_empty() { "no events".to_owned() } else { names.join(", ") }
}
