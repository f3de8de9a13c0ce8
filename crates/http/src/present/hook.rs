//! Presents the hooks of projects and of the instance.

use holdfast_app::hooks::address;
use holdfast_app::hooks::hook::{Hook, TestPayload};
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

/// A project hook. Its token and the credentials in its URL are never returned.
#[derive(Serialize, ToSchema)]
pub struct HookBody {
    pub id: i64,
    pub url: String,
    pub created_at: Timestamp,
    pub project_id: Option<i64>,
    pub push_events: bool,
    pub tag_push_events: bool,
    pub issues_events: bool,
    pub merge_requests_events: bool,
    pub note_events: bool,
    pub build_events: bool,
    pub pipeline_events: bool,
    pub wiki_page_events: bool,
    pub enable_ssl_verification: bool,
    /// Time of the first failed attempt since the last success. Null if deliveries succeed.
    pub failing_since: Option<Timestamp>,
    /// Time at which the hook was paused. A paused hook is tried once an hour.
    pub paused_at: Option<Timestamp>,
}

pub fn present_hook(hook: Hook) -> HookBody {
    let subscriptions = hook.subscriptions;
    HookBody {
        id: hook.id.get(),
        project_id: hook.project_id().map(|id| id.get()),
        url: address::redact(&hook.url),
        created_at: hook.created_at.into(),
        push_events: subscriptions.push_events,
        tag_push_events: subscriptions.tag_push_events,
        issues_events: subscriptions.issues_events,
        merge_requests_events: subscriptions.merge_requests_events,
        note_events: subscriptions.note_events,
        build_events: subscriptions.build_events,
        pipeline_events: subscriptions.pipeline_events,
        wiki_page_events: subscriptions.wiki_page_events,
        enable_ssl_verification: subscriptions.enable_ssl_verification,
        failing_since: hook.failing_since.map(Into::into),
        paused_at: hook.paused_at.map(Into::into),
    }
}

/// A system hook.
#[derive(Serialize, ToSchema)]
pub struct SystemHookBody {
    pub id: i64,
    pub url: String,
    pub created_at: Timestamp,
    pub push_events: bool,
    pub tag_push_events: bool,
    pub enable_ssl_verification: bool,
    /// Time of the first failed attempt since the last success. Null if deliveries succeed.
    pub failing_since: Option<Timestamp>,
    /// Time at which the hook was paused. A paused hook is tried once an hour.
    pub paused_at: Option<Timestamp>,
}

pub fn present_system_hook(hook: Hook) -> SystemHookBody {
    SystemHookBody {
        id: hook.id.get(),
        url: address::redact(&hook.url),
        created_at: hook.created_at.into(),
        push_events: hook.subscriptions.push_events,
        tag_push_events: hook.subscriptions.tag_push_events,
        enable_ssl_verification: hook.subscriptions.enable_ssl_verification,
        failing_since: hook.failing_since.map(Into::into),
        paused_at: hook.paused_at.map(Into::into),
    }
}

/// A deleted system hook, with all its fields.
#[derive(Serialize, ToSchema)]
pub struct DeletedSystemHookBody {
    #[serde(flatten)]
    pub hook: SystemHookBody,
    pub project_id: Option<i64>,
    pub service_id: Option<i64>,
    pub updated_at: Timestamp,
    pub issues_events: bool,
    pub merge_requests_events: bool,
    pub note_events: bool,
}

pub fn deleted_system_hook(hook: Hook) -> DeletedSystemHookBody {
    let (subscriptions, updated_at) = (hook.subscriptions, hook.updated_at);
    DeletedSystemHookBody {
        hook: present_system_hook(hook),
        project_id: None,
        service_id: None,
        updated_at: updated_at.into(),
        issues_events: subscriptions.issues_events,
        merge_requests_events: subscriptions.merge_requests_events,
        note_events: subscriptions.note_events,
    }
}

/// The payload of a test delivery.
#[derive(Serialize, ToSchema)]
pub struct TestPayloadBody {
    pub event_name: &'static str,
    pub name: &'static str,
    pub path: &'static str,
    pub project_id: i64,
    pub owner_name: &'static str,
    pub owner_email: &'static str,
}

pub fn test_payload(payload: TestPayload) -> TestPayloadBody {
    let TestPayload { event_name, name, path, project_id, owner_name, owner_email } = payload;
    TestPayloadBody { event_name, name, path, project_id, owner_name, owner_email }
}
