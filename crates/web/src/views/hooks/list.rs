//! The list of the hooks of a project or of the instance.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::hooks::address;
use holdfast_app::hooks::hook::Hook;
use holdfast_app::hooks::page::HookList;

use super::frame::{HookFrame, HookProject, hook_frame};
use super::status::{delivery_status, hook_status, subscription_list, unhealthy_since};
use crate::layout::Layout;
use crate::views::Pages;
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::status::StatusView;
use crate::words::Time;

#[derive(Template)]
#[template(path = "hooks/list.html")]
pub struct HooksPage {
    pub layout: Layout,
    pub nav: Option<SettingsNav>,
    pub new_url: String,
    pub hooks: Vec<HookRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct HookRow {
    pub url: String,
    /// The URL of the receiver, without user name and password.
    pub address: String,
    pub events: String,
    pub status: StatusView,
    /// Since when the hook fails or is paused.
    pub since: Option<Time>,
    pub latest: Option<LatestDelivery>,
}

/// The latest delivery of a hook.
#[derive(Clone, Debug)]
pub struct LatestDelivery {
    pub url: String,
    pub sequence: i64,
    pub status: StatusView,
    pub time: Time,
}

/// Builds the list.
pub fn hooks_page(layout: Layout, project: HookProject<'_>, found: &HookList, now: DateTime<Utc>) -> HooksPage {
    let title = if project.is_some() { "Webhooks" } else { "System hooks" };
    let HookFrame { layout, nav, links } = hook_frame(layout, project, title);
    let row = |hook: &Hook| HookRow {
        url: links.hook(hook.id),
        address: address::redact(&hook.url),
        events: subscription_list(hook),
        status: hook_status(hook),
        since: unhealthy_since(hook).map(|since| Time::ago(since, now)),
        latest: found.latest.get(&hook.id).map(|delivery| LatestDelivery {
            url: links.delivery(hook.id, delivery.sequence),
            sequence: delivery.sequence,
            status: delivery_status(delivery),
            time: Time::ago(delivery.attempted_at.unwrap_or(delivery.created_at), now),
        }),
    };
    let hooks = found.hooks.items.iter().map(row).collect();
    HooksPage { layout, nav, new_url: links.new_hook(), hooks, pages: Pages::new(&found.hooks, links.list(), &[]) }
}
