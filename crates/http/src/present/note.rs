//! Presents notes on issues and merge requests, and comments in the activity feed.

use holdfast_app::accounts::user::UserSummary;
use holdfast_app::activity::feed::Comment;
use holdfast_app::planning::note::Note;
use holdfast_domain::activity::SubjectKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// A note on an issue or a merge request.
#[derive(Serialize, ToSchema)]
pub struct NoteBody {
    pub id: i64,
    pub body: String,
    pub attachment: Option<String>,
    pub author: UserSummaryBody,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Whether this is a system note.
    pub system: bool,
    /// The id of the issue or merge request, null for a comment on a commit.
    pub noteable_id: Option<i64>,
    pub noteable_type: &'static str,
    pub upvote: bool,
    pub downvote: bool,
}

pub fn present_note(note: Note, site: &InstanceUrls) -> NoteBody {
    let (kind, id) = note.target().subject();
    NoteBody {
        id: note.id.get(),
        body: note.body,
        attachment: None,
        author: user::summary(&note.author, site),
        created_at: note.created_at.into(),
        updated_at: note.updated_at.into(),
        system: note.system,
        noteable_id: Some(id),
        noteable_type: kind.as_str(),
        upvote: false,
        downvote: false,
    }
}

/// A note in the form of the older routes.
#[derive(Serialize, ToSchema)]
pub struct CommentBody {
    pub id: i64,
    pub note: String,
    pub author: UserSummaryBody,
    pub created_at: Timestamp,
}

pub fn present_comment(note: Note, site: &InstanceUrls) -> CommentBody {
    CommentBody {
        id: note.id.get(),
        author: user::summary(&note.author, site),
        created_at: note.created_at.into(),
        note: note.body,
    }
}

/// Presents the note of an event.
pub fn from_comment(
    comment: &Comment<'_>,
    subject: (SubjectKind, i64),
    author: &UserSummary,
    site: &InstanceUrls,
) -> NoteBody {
    NoteBody {
        id: comment.id.get(),
        body: comment.body.to_owned(),
        attachment: None,
        author: user::summary(author, site),
        created_at: comment.created_at.into(),
        updated_at: comment.updated_at.into(),
        system: false,
        noteable_id: Some(subject.1).filter(|_| subject.0 != SubjectKind::Commit),
        noteable_type: subject.0.as_str(),
        upvote: false,
        downvote: false,
    }
}
