//! Presents events of the activity feed.

use holdfast_app::accounts::user::UserSummary;
use holdfast_app::activity::feed::Event;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::Timestamp;
use super::note::{self, NoteBody};
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// An event in the feed of a project.
#[derive(Serialize, ToSchema)]
pub struct EventBody {
    pub title: Option<String>,
    pub project_id: i64,
    pub action_name: &'static str,
    pub target_id: Option<i64>,
    /// `Issue`, `MergeRequest`, `Milestone` or `Note`.
    pub target_type: Option<&'static str>,
    pub author_id: i64,
    /// Details of a push, null for other events.
    pub data: Option<Map<String, Value>>,
    pub target_title: Option<String>,
    pub created_at: Timestamp,
    pub author: UserSummaryBody,
    pub author_username: String,
    /// The note that the event is about, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteBody>,
}

pub fn present_event(mut event: Event, site: &InstanceUrls) -> EventBody {
    let data = event.data.take().and_then(|details| push_details(details, &event.author, site));
    let subject = event.subject();
    let action_name = data.as_ref().map_or(event.action.feed_name(subject.is_some()), push_action_name);
    let note = event.comment().zip(subject).map(|(comment, on)| note::from_comment(&comment, on, &event.author, site));
    let (target_type, target_id) = match (&note, subject) {
        (Some(note), _) => (Some("Note"), Some(note.id)),
        (None, Some((kind, id))) => (Some(kind.as_str()), Some(id)),
        (None, None) => (None, None),
    };
    EventBody {
        title: None,
        project_id: event.project_id.get(),
        action_name,
        target_id,
        target_type,
        author_id: event.author.id.get(),
        data,
        target_title: event.subject_title,
        created_at: event.created_at.into(),
        author: user::summary(&event.author, site),
        author_username: event.author.username,
        note,
    }
}

/// Returns the details of a push, with URLs. Commit messages can be long, so the commits are moved and not copied. The
/// user name is the one at the time of the push, unless the author has been deleted since.
fn push_details(mut details: Value, author: &UserSummary, site: &InstanceUrls) -> Option<Map<String, Value>> {
    if details["user_id"] != author.id.get() {
        details["user_id"] = author.id.get().into();
        details["user_name"] = author.name.as_str().into();
    }
    let mut commits = details["commits"].take();
    let project = &details["project"];
    let path = project["path_with_namespace"].as_str()?;
    let homepage = site.url(&format!("/{path}"));
    for commit in commits.as_array_mut()? {
        commit["url"] = format!("{homepage}/commit/{}", commit["id"].as_str().unwrap_or_default()).into();
    }
    let repository = json!({
        "name": project["name"],
        "url": site.ssh_url(path),
        "description": project["description"],
        "homepage": homepage,
    });
    let copied = ["before", "after", "ref", "user_id", "user_name", "total_commits_count"];
    let mut body: Map<String, Value> = copied.iter().map(|name| ((*name).to_owned(), details[name].take())).collect();
    body.extend([("repository".to_owned(), repository), ("commits".to_owned(), commits)]);
    Some(body)
}

fn push_action_name(data: &Map<String, Value>) -> &'static str {
    let is_zero_id = |name: &str| data[name].as_str().is_some_and(|id| id.bytes().all(|digit| digit == b'0'));
    match (is_zero_id("before"), is_zero_id("after")) {
        (true, _) => "pushed new",
        (_, true) => "deleted",
        _ => "pushed to",
    }
}
