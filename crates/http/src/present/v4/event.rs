//! Presents events of the activity feed.

use holdfast_app::activity::feed::{Comment, Event};
use holdfast_app::activity::push_details::PushDetails;
use holdfast_domain::activity::SubjectKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::user::{UserBasic, present_basic};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// An event in the feed of a project or a user.
#[derive(Serialize, ToSchema)]
pub struct FeedEvent {
    pub id: i64,
    pub project_id: i64,
    pub action_name: &'static str,
    pub target_id: Option<i64>,
    /// Number of the target within its project. For a note, its id.
    pub target_iid: Option<i64>,
    /// `Issue`, `MergeRequest`, `Milestone` or `Note`.
    pub target_type: Option<&'static str>,
    pub author_id: i64,
    pub target_title: Option<String>,
    pub created_at: Timestamp,
    pub author: UserBasic,
    pub imported: bool,
    pub imported_from: &'static str,
    /// Details of a push. Omitted for other events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_data: Option<PushData>,
    pub author_username: String,
    /// The note that the event is about. Omitted for other events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<EventNote>,
}

/// The update of a branch or a tag.
#[derive(Serialize, ToSchema)]
pub struct PushData {
    pub commit_count: i64,
    /// `created`, `pushed` or `removed`.
    pub action: &'static str,
    /// `branch` or `tag`.
    pub ref_type: &'static str,
    /// Id of the last commit before the push. Null if the ref was created.
    pub commit_from: Option<String>,
    /// Id of the last commit after the push. Null if the ref was removed.
    pub commit_to: Option<String>,
    /// Name of the branch or tag.
    pub r#ref: String,
    /// First line of the message of the newest commit.
    pub commit_title: Option<String>,
    pub ref_count: Option<i64>,
}

/// The note of an event.
#[derive(Serialize, ToSchema)]
pub struct EventNote {
    pub id: i64,
    pub r#type: Option<String>,
    pub body: String,
    pub author: UserBasic,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub system: bool,
    /// Id of the issue or merge request, null for a comment on a commit.
    pub noteable_id: Option<i64>,
    pub noteable_type: &'static str,
    pub noteable_iid: Option<i64>,
    pub project_id: i64,
    pub resolvable: bool,
    pub confidential: bool,
    pub internal: bool,
    pub imported: bool,
}

pub fn present_event(event: Event, site: &InstanceUrls) -> FeedEvent {
    let push_data = push_data(&event);
    let subject = event.subject();
    let action_name = match push_data.as_ref().map(|push| push.action) {
        Some("created") => "pushed new",
        Some("removed") => "deleted",
        Some(_) => "pushed to",
        None => event.action.feed_name(subject.is_some()),
    };
    let note = event.comment().zip(subject).map(|(comment, on)| present_note(&event, &comment, on, site));
    let (target_type, target_id, target_iid) = match (&note, subject) {
        (Some(note), _) => (Some("Note"), Some(note.id), Some(note.id)),
        (None, Some((kind, id))) => (Some(kind.as_str()), Some(id), event.subject_iid),
        (None, None) => (None, None, None),
    };
    FeedEvent {
        id: event.id,
        project_id: event.project_id.get(),
        action_name,
        target_id,
        target_iid,
        target_type,
        author_id: event.author.id.get(),
        target_title: event.subject_title,
        created_at: event.created_at.into(),
        author: present_basic(&event.author, site),
        imported: false,
        imported_from: "none",
        push_data,
        author_username: event.author.username,
        note,
    }
}

fn present_note(event: &Event, comment: &Comment<'_>, subject: (SubjectKind, i64), site: &InstanceUrls) -> EventNote {
    let (kind, id) = subject;
    EventNote {
        id: comment.id.get(),
        r#type: None,
        body: comment.body.to_owned(),
        author: present_basic(&event.author, site),
        created_at: comment.created_at.into(),
        updated_at: comment.updated_at.into(),
        system: false,
        noteable_id: Some(id).filter(|_| kind != SubjectKind::Commit),
        noteable_type: kind.as_str(),
        noteable_iid: event.subject_iid,
        project_id: event.project_id.get(),
        resolvable: false,
        confidential: false,
        internal: false,
        imported: false,
    }
}

fn push_data(event: &Event) -> Option<PushData> {
    let push = PushDetails::from_event(event)?;
    let id = |field: &str| event.data.as_ref().and_then(|data| data[field].as_str()).map(str::to_owned);
    let (ref_type, name) = match push.ref_name.strip_prefix("refs/tags/") {
        Some(tag) => ("tag", tag),
        None => ("branch", push.ref_name.strip_prefix("refs/heads/").unwrap_or(&push.ref_name)),
    };
    let newest = push.commits.first();
    Some(PushData {
        commit_count: push.commit_count,
        action: match (push.is_creation, push.is_deletion) {
            (true, _) => "created",
            (false, true) => "removed",
            (false, false) => "pushed",
        },
        ref_type,
        commit_from: id("before").filter(|_| !push.is_creation),
        commit_to: id("after").filter(|_| !push.is_deletion),
        r#ref: name.to_owned(),
        commit_title: newest.and_then(|commit| commit.message.lines().next()).map(str::to_owned),
        ref_count: None,
    })
}
