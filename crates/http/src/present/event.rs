use holdfast_app::accounts::user::Person;
use holdfast_app::activity::feed::Event;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::Timestamp;
use super::note::{self, NoteBody};
use super::user::{self, UserSummary};
use crate::Site;

/// Something that somebody did in a project.
#[derive(Serialize, ToSchema)]
pub struct EventBody {
    pub title: Option<String>,
    pub project_id: i64,
    pub action_name: &'static str,
    pub target_id: Option<i64>,
    /// `Issue`, `Milestone`, `Note`.
    pub target_type: Option<&'static str>,
    pub author_id: i64,
    /// Details of a push.
    pub data: Option<Map<String, Value>>,
    pub target_title: Option<String>,
    pub created_at: Timestamp,
    pub author: UserSummary,
    pub author_username: String,
    /// What was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<NoteBody>,
}

pub fn event(mut event: Event, site: &Site) -> EventBody {
    let data = event.data.take().and_then(|details| push(details, &event.author, site));
    let subject = event.subject();
    let action_name = data.as_ref().map_or(event.action.name(subject.is_some()), push_name);
    let note = event.comment().zip(subject).map(|(comment, on)| note::commented(&comment, on, &event.author, site));
    let (target_type, target_id) = match (&note, subject) {
        (Some(note), _) => (Some("Note"), Some(note.id)),
        (None, Some((kind, id))) => (Some(kind.name()), Some(id)),
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

/// The details of a push, with addresses. The messages of its commits, which may be long, are not copied. The name is the one
/// that its author had then, unless the author was deleted since.
fn push(mut details: Value, author: &Person, site: &Site) -> Option<Map<String, Value>> {
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
    let same = ["before", "after", "ref", "user_id", "user_name", "total_commits_count"];
    let mut body: Map<String, Value> = same.iter().map(|name| ((*name).to_owned(), details[name].take())).collect();
    body.extend([("repository".to_owned(), repository), ("commits".to_owned(), commits)]);
    Some(body)
}

fn push_name(data: &Map<String, Value>) -> &'static str {
    let is_none = |name: &str| data[name].as_str().is_some_and(|id| id.bytes().all(|digit| digit == b'0'));
    match (is_none("before"), is_none("after")) {
        (true, _) => "pushed new",
        (_, true) => "deleted",
        _ => "pushed to",
    }
}
