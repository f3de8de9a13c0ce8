//! The form of a hook, which creates or changes it.

use askama::Template;
use holdfast_app::hooks::address;
use holdfast_app::hooks::hook::{DEFAULT_SUBSCRIPTIONS, EventSubscriptions, Hook};
use holdfast_domain::Violations;

use super::frame::{HookFrame, HookProject, hook_frame};
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::settings_nav::SettingsNav;

/// The values of the form: those of the hook at first, and those that the user entered after a rejection. The token is
/// never among them.
#[derive(Clone, Debug)]
pub struct HookValues {
    pub url: String,
    pub subscriptions: EventSubscriptions,
    pub removes_token: bool,
}

impl Default for HookValues {
    fn default() -> Self {
        Self { url: String::new(), subscriptions: DEFAULT_SUBSCRIPTIONS, removes_token: false }
    }
}

impl From<&Hook> for HookValues {
    fn from(hook: &Hook) -> Self {
        Self { url: address::redact(&hook.url), subscriptions: hook.subscriptions, removes_token: false }
    }
}

/// The secrets that a hook has. They are not shown.
#[derive(Clone, Copy, Debug)]
pub struct HookSecrets {
    pub has_token: bool,
    pub has_credentials: bool,
}

/// The form as `hooks/fields.html` shows it.
#[derive(Clone, Debug)]
pub struct HookFields {
    pub action: String,
    pub errors: Vec<FormError>,
    pub url: FormField,
    pub token: FormField,
    pub removes_token: bool,
    pub events: Vec<EventBox>,
    pub is_system: bool,
    pub verifies_certificate: bool,
    /// The secrets of the hook, or None for a new one.
    pub secrets: Option<HookSecrets>,
}

/// A box of the form.
#[derive(Clone, Debug)]
pub struct EventBox {
    pub name: &'static str,
    pub label: &'static str,
    pub meaning: &'static str,
    pub is_checked: bool,
}

fn event_boxes(events: EventSubscriptions, is_system: bool) -> Vec<EventBox> {
    let event = |name, label, meaning, is_checked| EventBox { name, label, meaning, is_checked };
    let mut boxes = vec![
        event("push_events", "Pushes", "a branch is created, updated or deleted", events.push_events),
        event("tag_push_events", "Tags", "a tag is created, updated or deleted", events.tag_push_events),
    ];
    if !is_system {
        boxes.extend([
            event("issues_events", "Issues", "opened, updated, closed or reopened", events.issues_events),
            event(
                "merge_requests_events",
                "Merge requests",
                "opened, updated, closed, reopened or merged",
                events.merge_requests_events,
            ),
            event("note_events", "Comments", "on issues, merge requests and commits", events.note_events),
            event("build_events", "Builds", "created, started or ended", events.build_events),
            event("pipeline_events", "Pipelines", "the status changes", events.pipeline_events),
        ]);
    }
    boxes
}

impl HookFields {
    /// Creates the form of a hook, or of a new one without secrets.
    pub fn new(
        action: String,
        project: HookProject<'_>,
        values: HookValues,
        secrets: Option<HookSecrets>,
        violations: &Violations,
    ) -> Self {
        let url = FormField::new("url", "URL", values.url).with_violations(violations);
        let token = FormField::new("token", "Secret token", "").with_violations(violations);
        Self {
            action,
            errors: form::errors([&url, &token]),
            url,
            token,
            removes_token: values.removes_token,
            events: event_boxes(values.subscriptions, project.is_none()),
            is_system: project.is_none(),
            verifies_certificate: values.subscriptions.enable_ssl_verification,
            secrets,
        }
    }
}

#[derive(Template)]
#[template(path = "hooks/new.html")]
pub struct NewHookPage {
    pub layout: Layout,
    pub nav: Option<SettingsNav>,
    pub fields: HookFields,
    pub cancel_url: String,
}

/// Builds the form for a new hook. `violations` is empty when it is shown at first.
pub fn new_hook_page(
    layout: Layout,
    project: HookProject<'_>,
    values: HookValues,
    violations: &Violations,
) -> NewHookPage {
    let title = if project.is_some() { "New webhook" } else { "New system hook" };
    let HookFrame { layout, nav, links } = hook_frame(layout, project, title);
    let fields = HookFields::new(links.list().to_owned(), project, values, None, violations);
    NewHookPage { layout, nav, fields, cancel_url: links.list().to_owned() }
}
