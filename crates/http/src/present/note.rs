use holdfast_app::accounts::user::Person;
use holdfast_app::activity::feed::Comment;
use holdfast_app::planning::note::Note;
use holdfast_domain::activity::SubjectKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

/// What was said about an issue.
#[derive(Serialize, ToSchema)]
pub struct NoteBody {
    pub id: i64,
    pub body: String,
    pub attachment: Option<String>,
    pub author: UserSummary,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Whether the service wrote it.
    pub system: bool,
    pub noteable_id: i64,
    pub noteable_type: &'static str,
    pub upvote: bool,
    pub downvote: bool,
}

pub fn note(note: Note, site: &Site) -> NoteBody {
    NoteBody {
        id: note.id.get(),
        body: note.body,
        attachment: None,
        author: user::summary(&note.author, site),
        created_at: note.created_at.into(),
        updated_at: note.updated_at.into(),
        system: note.system,
        noteable_id: note.issue_id.get(),
        noteable_type: SubjectKind::Issue.name(),
        upvote: false,
        downvote: false,
    }
}

/// As an event tells it.
pub fn commented(comment: &Comment<'_>, on: (SubjectKind, i64), author: &Person, site: &Site) -> NoteBody {
    NoteBody {
        id: comment.id.get(),
        body: comment.body.to_owned(),
        attachment: None,
        author: user::summary(author, site),
        created_at: comment.created_at.into(),
        updated_at: comment.updated_at.into(),
        system: false,
        noteable_id: on.1,
        noteable_type: on.0.name(),
        upvote: false,
        downvote: false,
    }
}
