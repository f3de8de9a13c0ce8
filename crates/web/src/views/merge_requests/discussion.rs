//! Notes and discussions of a merge request, as its pages show them.

use holdfast_app::merge_requests::discussion::{CurrentLine, DiscussionWithNotes};
use holdfast_app::planning::note::Note;

use super::frame::RequestViewer;
use crate::views::planning::issue::{EntryContent, TimelineEntry};
use crate::views::planning::label::LabelChips;
use crate::views::planning::system_note::system_note_parts;
use crate::views::prose::Prose;
use crate::views::{Person, ProjectLinks, links as page_links};
use crate::words::Time;

/// A discussion with its notes.
#[derive(Clone, Debug)]
pub struct DiscussionView {
    pub id: i64,
    pub author: Person,
    pub created: Time,
    /// The file and line, and the address of the changes of the version that has it. None beside the line.
    pub line: Option<(String, String)>,
    /// Whether the line was changed or removed since.
    pub is_outdated: bool,
    pub is_resolved: bool,
    pub resolved_by: Option<Person>,
    pub notes: Vec<TimelineEntry>,
    /// The address to which a reply is sent, for viewers who may comment.
    pub reply_url: Option<String>,
    /// The address that resolves it or opens it again, for viewers who may.
    pub resolve_url: Option<String>,
    /// The address of the page to which these forms lead back, unless it is the overview.
    pub back: Option<String>,
}

/// What the notes and discussions of one merge request have in common.
pub struct DiscussionContext<'a, R> {
    pub iid: i64,
    pub links: &'a ProjectLinks,
    pub chips: &'a LabelChips<'a>,
    pub viewer: RequestViewer,
    /// Turns Markdown into sanitized HTML; texts that it does not render are shown as they are.
    pub render: R,
}

impl<R: Fn(&str) -> Option<String>> DiscussionContext<'_, R> {
    /// Builds the view of a note.
    pub fn entry(&self, note: &Note) -> TimelineEntry {
        let abilities = self.viewer.abilities;
        TimelineEntry {
            anchor: format!("note_{}", note.id),
            author: Person::from_user(&note.author),
            created: Time::ago(note.created_at, self.viewer.now),
            is_edited: !note.system && note.updated_at > note.created_at,
            edit_url: {
                let is_own = Some(note.author.id) == self.viewer.user && abilities.can_comment_on_merge_requests;
                let can_edit = !note.system && (is_own || abilities.can_moderate_notes);
                can_edit.then(|| self.links.merge_request_note_form(self.iid, note.id))
            },
            content: if note.system {
                EntryContent::System(system_note_parts(&note.body, self.chips))
            } else {
                EntryContent::Note(Prose::new(&note.body, (self.render)(&note.body)))
            },
        }
    }

    /// Builds the view of a discussion. Returns None for one without notes.
    pub fn discussion(&self, discussion: &DiscussionWithNotes) -> Option<DiscussionView> {
        let first = discussion.notes.first()?;
        let action = |name| self.links.discussion_action(self.iid, discussion.discussion.id, name);
        let is_resolved = discussion.discussion.resolved().is_some();
        let resolve = if is_resolved { "unresolve" } else { "resolve" };
        let can_comment = self.viewer.abilities.can_comment_on_merge_requests;
        Some(DiscussionView {
            id: discussion.discussion.id.get(),
            author: Person::from_user(&first.author),
            created: Time::ago(first.created_at, self.viewer.now),
            line: discussion.shown_line.as_ref().map(|line| {
                let changes = self.links.merge_request_page(self.iid, "changes");
                let number = line.version.number.to_string();
                let query = page_links::query(&[("version", &number), ("file", &line.line.path)]);
                let url = format!("{changes}{query}#discussion_{}", discussion.discussion.id);
                (format!("{}:{}", line.line.path, line.line.number), url)
            }),
            is_outdated: discussion.current == CurrentLine::Gone,
            is_resolved,
            resolved_by: discussion.resolved_by.as_ref().map(Person::from_user),
            notes: discussion.notes.iter().map(|note| self.entry(note)).collect(),
            reply_url: can_comment.then(|| action("notes")),
            resolve_url: (self.viewer.can_resolve && can_comment).then(|| action(resolve)),
            back: None,
        })
    }
}
