//! Presents discussions of issues and merge requests.

use holdfast_app::merge_requests::discussion::{DiscussionWithNotes, VersionedLine};
use holdfast_app::merge_requests::thread::Thread;
use holdfast_app::planning::note::{Note, NoteTarget};
use serde::Serialize;
use utoipa::ToSchema;

use super::note::{NoteDetail, present_note, present_note_in};
use crate::InstanceUrls;

/// A discussion of a merge request, or a note that belongs to none.
#[derive(Serialize, ToSchema)]
pub struct DiscussionDetail {
    /// 40 hexadecimal digits.
    pub id: String,
    /// Whether it is a note that belongs to no discussion. All notes of issues are such.
    pub individual_note: bool,
    /// Notes, oldest first.
    pub notes: Vec<NoteDetail>,
}

/// A line of a version of a merge request.
#[derive(Serialize, ToSchema)]
pub struct DiffPosition {
    /// Merge base of the version, null if it has none or it was not computed yet.
    pub base_sha: Option<String>,
    /// Last commit of the target branch when the version was created.
    pub start_sha: Option<String>,
    /// Last commit of the version.
    pub head_sha: String,
    pub old_path: String,
    pub new_path: String,
    /// Always `text`.
    pub position_type: &'static str,
    /// Number of a removed line. Null for other lines.
    pub old_line: Option<i64>,
    /// Number of a line of the head. Null for removed lines.
    pub new_line: Option<i64>,
}

pub fn present_position(shown: &VersionedLine) -> DiffPosition {
    let number = shown.line.number;
    DiffPosition {
        base_sha: shown.version.comparison.and_then(|it| it.base).map(|id| id.to_string()),
        start_sha: shown.version.start.map(|id| id.to_string()),
        head_sha: shown.version.head.to_string(),
        old_path: shown.line.path.clone(),
        new_path: shown.line.path.clone(),
        position_type: "text",
        old_line: shown.is_in_base.then_some(number),
        new_line: (!shown.is_in_base).then_some(number),
    }
}

/// The id of a discussion in requests and responses. It has 40 decimal digits, because clients expect 40 hexadecimal
/// ones; in requests, zeros at the beginning can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscussionKey {
    /// The id of a discussion of a merge request, or of a note of an issue.
    Number(i64),
    /// The id of a note of a merge request that belongs to no discussion. The first of the 40 digits is a one.
    Note(i64),
}

impl DiscussionKey {
    /// Returns None if the text is no id of a discussion.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match text.strip_prefix('1').filter(|_| text.len() == 40) {
            Some(rest) => rest.parse().ok().map(Self::Note),
            None => text.parse().ok().map(Self::Number),
        }
    }
}

impl std::fmt::Display for DiscussionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(id) => write!(f, "{id:040}"),
            Self::Note(id) => write!(f, "1{id:039}"),
        }
    }
}

/// Presents a note that belongs to no discussion.
pub fn present_individual(note: Note, site: &InstanceUrls) -> DiscussionDetail {
    let id = note.id.get();
    let key = match note.target() {
        NoteTarget::Issue(_) => DiscussionKey::Number(id),
        NoteTarget::MergeRequest(_) => DiscussionKey::Note(id),
    };
    DiscussionDetail { id: key.to_string(), individual_note: true, notes: vec![present_note(note, site)] }
}

pub fn present_discussion(mut found: DiscussionWithNotes, site: &InstanceUrls) -> DiscussionDetail {
    let notes = std::mem::take(&mut found.notes);
    DiscussionDetail {
        id: DiscussionKey::Number(found.discussion.id.get()).to_string(),
        individual_note: false,
        notes: notes.into_iter().map(|note| present_note_in(note, Some(&found), site)).collect(),
    }
}

pub fn present_thread(thread: Thread, site: &InstanceUrls) -> DiscussionDetail {
    match thread {
        Thread::Note(note) => present_individual(*note, site),
        Thread::Discussion(found) => present_discussion(*found, site),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_forty_digits_and_read_back() {
        for key in [DiscussionKey::Number(7), DiscussionKey::Number(i64::MAX), DiscussionKey::Note(7)] {
            let text = key.to_string();
            assert_eq!(text.len(), 40);
            assert_eq!(DiscussionKey::parse(&text), Some(key));
        }
        assert_eq!(DiscussionKey::parse("17"), Some(DiscussionKey::Number(17)));
        for wrong in ["", "-7", "+7", "7 ", "abc", "99999999999999999999"] {
            assert_eq!(DiscussionKey::parse(wrong), None, "{wrong:?}");
        }
    }
}
