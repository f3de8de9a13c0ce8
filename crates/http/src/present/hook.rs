use holdfast_app::projects::hook::Hook;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;

/// A project's hook. Its token is never shown.
#[derive(Serialize, ToSchema)]
pub struct HookBody {
    pub id: i64,
    pub url: String,
    pub created_at: Timestamp,
    pub project_id: i64,
    pub push_events: bool,
    pub tag_push_events: bool,
    pub issues_events: bool,
    pub merge_requests_events: bool,
    pub note_events: bool,
    pub build_events: bool,
    pub pipeline_events: bool,
    pub wiki_page_events: bool,
    pub enable_ssl_verification: bool,
}

pub fn hook(hook: Hook) -> HookBody {
    let s = hook.switches;
    HookBody {
        id: hook.id.get(),
        url: hook.url,
        created_at: hook.created_at.into(),
        project_id: hook.project_id.get(),
        push_events: s.push_events,
        tag_push_events: s.tag_push_events,
        issues_events: s.issues_events,
        merge_requests_events: s.merge_requests_events,
        note_events: s.note_events,
        build_events: s.build_events,
        pipeline_events: s.pipeline_events,
        wiki_page_events: s.wiki_page_events,
        enable_ssl_verification: s.enable_ssl_verification,
    }
}
