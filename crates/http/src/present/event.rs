use holdfast_app::activity::feed::Event;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

/// Something that somebody did in a project.
#[derive(Serialize, ToSchema)]
pub struct EventBody {
    pub title: Option<String>,
    pub project_id: i64,
    pub action_name: &'static str,
    pub target_id: Option<i64>,
    pub target_type: Option<String>,
    pub author_id: i64,
    /// Details of a push.
    pub data: Option<serde_json::Map<String, serde_json::Value>>,
    pub target_title: Option<String>,
    pub created_at: Timestamp,
    pub author: UserSummary,
    pub author_username: String,
}

pub fn event(event: Event, site: &Site) -> EventBody {
    EventBody {
        title: None,
        project_id: event.project_id.get(),
        action_name: event.action.name(),
        target_id: None,
        target_type: None,
        author_id: event.author.id.get(),
        data: None,
        target_title: None,
        created_at: event.created_at.into(),
        author: user::summary(&event.author, site),
        author_username: event.author.username,
    }
}
