use holdfast_app::hooks::address;
use holdfast_app::hooks::hook::{Example, Hook};
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

/// A project's hook. Neither its token nor a name and a password in its address are ever shown.
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
    /// Since when nothing could be delivered.
    pub failing_since: Option<Timestamp>,
    /// Since when it is only tried once an hour.
    pub paused_at: Option<Timestamp>,
}

pub fn hook(hook: Hook) -> HookBody {
    let s = hook.switches;
    HookBody {
        id: hook.id.get(),
        project_id: hook.project_id().map(|id| id.get()),
        url: address::shown(&hook.url),
        created_at: hook.created_at.into(),
        push_events: s.push_events,
        tag_push_events: s.tag_push_events,
        issues_events: s.issues_events,
        merge_requests_events: s.merge_requests_events,
        note_events: s.note_events,
        build_events: s.build_events,
        pipeline_events: s.pipeline_events,
        wiki_page_events: s.wiki_page_events,
        enable_ssl_verification: s.enable_ssl_verification,
        failing_since: hook.failing_since.map(Into::into),
        paused_at: hook.paused_at.map(Into::into),
    }
}

/// A hook of the instance.
#[derive(Serialize, ToSchema)]
pub struct SystemHookBody {
    pub id: i64,
    pub url: String,
    pub created_at: Timestamp,
    pub push_events: bool,
    pub tag_push_events: bool,
    pub enable_ssl_verification: bool,
    /// Since when nothing could be delivered.
    pub failing_since: Option<Timestamp>,
    /// Since when it is only tried once an hour.
    pub paused_at: Option<Timestamp>,
}

pub fn system_hook(hook: Hook) -> SystemHookBody {
    SystemHookBody {
        id: hook.id.get(),
        url: address::shown(&hook.url),
        created_at: hook.created_at.into(),
        push_events: hook.switches.push_events,
        tag_push_events: hook.switches.tag_push_events,
        enable_ssl_verification: hook.switches.enable_ssl_verification,
        failing_since: hook.failing_since.map(Into::into),
        paused_at: hook.paused_at.map(Into::into),
    }
}

/// A hook of the instance that was, in its longer form.
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
    let (s, updated_at) = (hook.switches, hook.updated_at);
    DeletedSystemHookBody {
        hook: system_hook(hook),
        project_id: None,
        service_id: None,
        updated_at: updated_at.into(),
        issues_events: s.issues_events,
        merge_requests_events: s.merge_requests_events,
        note_events: s.note_events,
    }
}

/// What is delivered to try a hook.
#[derive(Serialize, ToSchema)]
pub struct ExampleBody {
    pub event_name: &'static str,
    pub name: &'static str,
    pub path: &'static str,
    pub project_id: i64,
    pub owner_name: &'static str,
    pub owner_email: &'static str,
}

pub fn example(example: Example) -> ExampleBody {
    let Example { event_name, name, path, project_id, owner_name, owner_email } = example;
    ExampleBody { event_name, name, path, project_id, owner_name, owner_email }
}
