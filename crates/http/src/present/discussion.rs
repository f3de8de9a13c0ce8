//! Presents discussions of merge requests.

use holdfast_app::merge_requests::blocker::Blocker;
use holdfast_app::merge_requests::discussion::{CurrentLine, DiscussionWithNotes};
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::note::{NoteBody, present_note};
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// A line of a version of a merge request.
#[derive(Serialize, ToSchema)]
pub struct PositionBody {
    pub version_id: i64,
    pub path: String,
    /// Number of the line, from 1 on.
    pub line: i64,
    /// `new` for a line of the head, `old` for a line of the merge base.
    pub side: &'static str,
}

/// A discussion of a merge request.
#[derive(Serialize, ToSchema)]
pub struct DiscussionBody {
    pub id: i64,
    pub merge_request_id: i64,
    pub created_at: Timestamp,
    pub resolved: bool,
    pub resolved_at: Option<Timestamp>,
    /// Null if the user was deleted.
    pub resolved_by: Option<UserSummaryBody>,
    /// Line that the discussion was started on, null if it is about the whole merge request.
    pub position: Option<PositionBody>,
    /// Head of the version of `position`.
    pub head_commit_sha: Option<String>,
    /// Same line in the newest version, null if it was changed or removed, or was not searched yet.
    pub current_position: Option<PositionBody>,
    /// Whether the line was changed or removed.
    pub outdated: bool,
    /// Notes, oldest first.
    pub notes: Vec<NoteBody>,
}

pub fn present_discussion(found: DiscussionWithNotes, site: &InstanceUrls) -> DiscussionBody {
    let position = found.discussion.position();
    let side = if position.as_ref().is_some_and(|it| it.is_in_base) { "old" } else { "new" };
    let resolved_at = found.discussion.resolved().map(|(at, _)| at);
    DiscussionBody {
        id: found.discussion.id.get(),
        merge_request_id: found.discussion.merge_request_id.get(),
        created_at: found.discussion.created_at.into(),
        resolved: resolved_at.is_some(),
        resolved_at: resolved_at.map(Into::into),
        resolved_by: found.resolved_by.as_ref().map(|user| user::summary(user, site)),
        position: position.map(|it| PositionBody {
            version_id: it.version.get(),
            path: it.line.path,
            line: it.line.number,
            side,
        }),
        head_commit_sha: found.head.map(|head| head.to_string()),
        outdated: found.current == CurrentLine::Gone,
        current_position: match found.current {
            CurrentLine::Found(version, line) => {
                Some(PositionBody { version_id: version.get(), path: line.path, line: line.number, side })
            }
            CurrentLine::Gone | CurrentLine::Unknown => None,
        },
        notes: found.notes.into_iter().map(|note| present_note(note, site)).collect(),
    }
}

/// A reason why a merge request cannot be merged now.
#[derive(Serialize, ToSchema)]
pub struct BlockerBody {
    /// Such as `conflicts` or `work_in_progress`.
    pub name: &'static str,
    /// Reason, and what can be done about it.
    pub message: String,
    /// Paths that conflict.
    pub paths: Vec<String>,
}

pub fn present_blocker(blocker: Blocker) -> BlockerBody {
    let (name, message) = (blocker.as_str(), blocker.message());
    let paths = if let Blocker::Conflicts(paths) = blocker { paths } else { Vec::new() };
    BlockerBody { name, message, paths }
}
