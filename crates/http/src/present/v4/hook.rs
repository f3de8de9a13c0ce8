//! Presents the hooks of projects and of the instance, and their deliveries.

use holdfast_app::hooks::address;
use holdfast_app::hooks::delivery::DeliveryDetail;
use holdfast_app::hooks::hook::Hook;
use holdfast_domain::hooks::EventKind;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::present::Timestamp;

/// The state of a hook.
#[derive(Serialize, ToSchema)]
pub struct HookStatus {
    /// `executable`, or `disabled` if the hook is paused because its deliveries fail. A paused hook is tried once an
    /// hour.
    pub alert_status: &'static str,
    pub disabled_until: Option<Timestamp>,
}

fn status(hook: &Hook) -> HookStatus {
    let alert_status = if hook.paused_at.is_some() { "disabled" } else { "executable" };
    HookStatus { alert_status, disabled_until: None }
}

/// A project hook. Its token and the credentials in its URL are never returned. Flags of events that do not exist here
/// are always false.
#[derive(Serialize, ToSchema)]
pub struct ProjectHook {
    pub id: i64,
    pub url: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub project_id: Option<i64>,
    pub push_events: bool,
    /// Always empty: pushes to all branches are delivered.
    pub push_events_branch_filter: &'static str,
    pub branch_filter_strategy: &'static str,
    pub tag_push_events: bool,
    pub issues_events: bool,
    /// Always false: events of confidential issues are not delivered.
    pub confidential_issues_events: bool,
    pub note_events: bool,
    /// Always false: notes on confidential issues are not delivered.
    pub confidential_note_events: bool,
    pub merge_requests_events: bool,
    pub job_events: bool,
    pub pipeline_events: bool,
    pub wiki_page_events: bool,
    pub deployment_events: bool,
    pub releases_events: bool,
    pub milestone_events: bool,
    pub emoji_events: bool,
    pub feature_flag_events: bool,
    pub resource_access_token_events: bool,
    pub repository_update_events: bool,
    pub enable_ssl_verification: bool,
    pub custom_webhook_template: Option<String>,
    pub custom_headers: Vec<String>,
    pub url_variables: Vec<String>,
    #[serde(flatten)]
    pub status: HookStatus,
}

pub fn present_hook(hook: Hook) -> ProjectHook {
    let subscriptions = hook.subscriptions;
    ProjectHook {
        id: hook.id.get(),
        url: address::redact(&hook.url),
        name: None,
        description: None,
        created_at: hook.created_at.into(),
        project_id: hook.project_id().map(|id| id.get()),
        push_events: subscriptions.push_events,
        push_events_branch_filter: "",
        branch_filter_strategy: "all_branches",
        tag_push_events: subscriptions.tag_push_events,
        issues_events: subscriptions.issues_events,
        confidential_issues_events: false,
        note_events: subscriptions.note_events,
        confidential_note_events: false,
        merge_requests_events: subscriptions.merge_requests_events,
        job_events: subscriptions.build_events,
        pipeline_events: subscriptions.pipeline_events,
        wiki_page_events: subscriptions.wiki_page_events,
        deployment_events: false,
        releases_events: false,
        milestone_events: false,
        emoji_events: false,
        feature_flag_events: false,
        resource_access_token_events: false,
        repository_update_events: false,
        enable_ssl_verification: subscriptions.enable_ssl_verification,
        custom_webhook_template: None,
        custom_headers: Vec::new(),
        url_variables: Vec::new(),
        status: status(&hook),
    }
}

/// A system hook. Its token and the credentials in its URL are never returned.
#[derive(Serialize, ToSchema)]
pub struct InstanceHook {
    pub id: i64,
    pub url: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub push_events: bool,
    pub tag_push_events: bool,
    pub merge_requests_events: bool,
    pub repository_update_events: bool,
    pub enable_ssl_verification: bool,
    #[serde(flatten)]
    pub status: HookStatus,
}

pub fn present_system_hook(hook: Hook) -> InstanceHook {
    InstanceHook {
        id: hook.id.get(),
        url: address::redact(&hook.url),
        name: None,
        description: None,
        created_at: hook.created_at.into(),
        push_events: hook.subscriptions.push_events,
        tag_push_events: hook.subscriptions.tag_push_events,
        merge_requests_events: false,
        repository_update_events: false,
        enable_ssl_verification: hook.subscriptions.enable_ssl_verification,
        status: status(&hook),
    }
}

/// The confirmation of a test that was enqueued.
#[derive(Serialize, ToSchema)]
pub struct HookTested {
    pub message: &'static str,
}

pub const TESTED: HookTested = HookTested { message: "201 Created" };

/// A delivery of an event to a hook, without secrets.
#[derive(Serialize, ToSchema)]
pub struct HookEvent {
    /// Sequence number among the deliveries of the hook.
    pub id: i64,
    pub url: String,
    /// Type of the event, such as `push_hooks`.
    pub trigger: String,
    #[schema(value_type = Object)]
    pub request_headers: Map<String, Value>,
    /// Body of the request. Null before the first attempt, after the retention period, and in lists if it is very long.
    #[schema(value_type = Option<Object>)]
    pub request_data: Option<Value>,
    #[schema(value_type = Object)]
    pub response_headers: Value,
    /// Beginning of the body of the last response.
    pub response_body: String,
    /// Duration of the last attempt in seconds.
    pub execution_duration: Option<f64>,
    /// HTTP status of the last response, or the reason why there is none. Null before the first attempt.
    pub response_status: Option<String>,
}

pub fn present_delivery(detail: DeliveryDetail) -> HookEvent {
    let DeliveryDetail { delivery, url, headers, body } = detail;
    let response = delivery.response.unwrap_or_default();
    HookEvent {
        id: delivery.sequence,
        url,
        trigger: trigger(&delivery.kind),
        request_headers: headers.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
        request_data: body,
        response_headers: response.get("headers").cloned().unwrap_or_else(|| Map::new().into()),
        response_body: response.get("body").and_then(Value::as_str).unwrap_or_default().to_owned(),
        execution_duration: delivery.duration_ms.map(|duration| f64::from(duration) / 1000.0),
        response_status: delivery.status.map(|status| status.to_string()).or(delivery.error),
    }
}

/// Returns the word for the kind of an event. System events keep their names.
fn trigger(kind: &str) -> String {
    let word = match EventKind::from_str_opt(kind) {
        Some(EventKind::Push) => "push_hooks",
        Some(EventKind::TagPush) => "tag_push_hooks",
        Some(EventKind::Issue) => "issue_hooks",
        Some(EventKind::Note) => "note_hooks",
        Some(EventKind::MergeRequest) => "merge_request_hooks",
        Some(EventKind::Build) => "job_hooks",
        Some(EventKind::Pipeline) => "pipeline_hooks",
        _ => kind,
    };
    word.to_owned()
}
