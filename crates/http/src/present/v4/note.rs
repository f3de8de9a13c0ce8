//! Presents notes on issues and merge requests, and emoji.

use std::collections::BTreeMap;

use holdfast_app::merge_requests::discussion::DiscussionWithNotes;
use holdfast_app::merge_requests::thread::DiscussedNote;
use holdfast_app::planning::award::{Award, AwardAddress};
use holdfast_app::planning::note::Note;
use serde::Serialize;
use utoipa::ToSchema;

use super::discussion::{DiffPosition, present_position};
use super::user::{UserBasic, present_basic as present_user};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// A note on an issue or a merge request.
#[derive(Serialize, ToSchema)]
pub struct NoteDetail {
    pub id: i64,
    /// `DiffNote` in a discussion of a line, `DiscussionNote` in another discussion, null outside of discussions.
    pub r#type: Option<&'static str>,
    pub body: String,
    pub author: UserBasic,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Whether the server has written it about a change.
    pub system: bool,
    pub noteable_id: i64,
    /// `Issue` or `MergeRequest`.
    pub noteable_type: &'static str,
    pub project_id: i64,
    /// Number of the issue or the merge request within its project.
    pub noteable_iid: i64,
    /// Line that the discussion is about. Omitted if it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<DiffPosition>,
    /// Whether it belongs to a discussion that can be resolved.
    pub resolvable: bool,
    /// Whether the discussion is resolved. Omitted outside of discussions, as the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<bool>,
    /// User who resolved the discussion. Null if nobody did, or if the user was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<Option<UserBasic>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Option<Timestamp>>,
    pub confidential: bool,
    pub internal: bool,
    pub imported: bool,
    pub imported_from: &'static str,
    /// Always empty: notes of the API have no quick actions.
    pub commands_changes: BTreeMap<String, String>,
}

/// Presents a note outside of discussions.
pub fn present_note(note: Note, site: &InstanceUrls) -> NoteDetail {
    present_note_in(note, None, site)
}

/// Presents a note of a merge request with the discussion that it belongs to.
pub fn present_discussed_note(found: DiscussedNote, site: &InstanceUrls) -> NoteDetail {
    present_note_in(found.note, found.discussion.as_deref(), site)
}

/// Presents a note in a discussion, or outside of discussions.
pub fn present_note_in(note: Note, discussion: Option<&DiscussionWithNotes>, site: &InstanceUrls) -> NoteDetail {
    let (kind, noteable_id) = note.target().subject();
    let position = discussion.and_then(|it| it.shown_line.as_ref()).map(present_position);
    let resolved_at = discussion.map(|it| it.discussion.resolved().map(|(at, _)| at));
    NoteDetail {
        id: note.id.get(),
        r#type: match (discussion, &position) {
            (None, _) => None,
            (Some(_), None) => Some("DiscussionNote"),
            (Some(_), Some(_)) => Some("DiffNote"),
        },
        author: present_user(&note.author, site),
        created_at: note.created_at.into(),
        updated_at: note.updated_at.into(),
        system: note.system,
        noteable_id,
        noteable_type: kind.as_str(),
        project_id: note.project_id.get(),
        noteable_iid: note.target_iid,
        position,
        resolvable: discussion.is_some(),
        resolved: resolved_at.map(|at| at.is_some()),
        resolved_by: discussion.map(|it| it.resolved_by.as_ref().map(|user| present_user(user, site))),
        resolved_at: resolved_at.map(|at| at.map(Into::into)),
        confidential: false,
        internal: false,
        imported: false,
        imported_from: "none",
        commands_changes: BTreeMap::new(),
        body: note.body,
    }
}

/// An emoji that a user gave to an issue, a merge request or a note.
#[derive(Serialize, ToSchema)]
pub struct AwardEmoji {
    pub id: i64,
    /// Name of the emoji, without colons.
    pub name: String,
    pub user: UserBasic,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub awardable_id: i64,
    /// `Issue`, `MergeRequest` or `Note`.
    pub awardable_type: &'static str,
}

pub fn present_award(award: Award, address: AwardAddress, site: &InstanceUrls) -> AwardEmoji {
    let (awardable_id, awardable_type) = address.target().subject();
    AwardEmoji {
        id: award.id.get(),
        name: award.emoji,
        user: present_user(&award.user, site),
        created_at: award.created_at.into(),
        updated_at: award.created_at.into(),
        awardable_id,
        awardable_type,
    }
}
