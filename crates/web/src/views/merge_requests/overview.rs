//! The first page of a merge request: its discussions, and the box that merges it.

use askama::Template;
use holdfast_app::merge_requests::discussion::{CurrentLine, DiscussionWithNotes};
use holdfast_app::merge_requests::page::Overview;
use holdfast_app::merge_requests::thread::Thread;
use holdfast_app::planning::note::Note;
use holdfast_domain::ids::UserId;

use super::frame::{RequestHead, RequestTab, RequestViewer, request_frame};
use super::merge_box::{MergeAction, MergeBox, merge_box};
use crate::layout::Layout;
use crate::views::planning::comment_form::CommentForm;
use crate::views::planning::issue::{EntryContent, TimelineEntry};
use crate::views::planning::label::{LabelChip, LabelChips};
use crate::views::planning::system_note::{NotePart, system_note_parts};
use crate::views::prose::Prose;
use crate::views::{Pages, Person, ProjectLinks, links as page_links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "merge_requests/overview.html")]
pub struct OverviewPage {
    pub layout: Layout,
    pub head: RequestHead,
    pub description: Option<Prose>,
    pub items: Vec<TimelineItem>,
    pub pages: Pages,
    pub merge_box: MergeBox,
    pub labels: Vec<LabelChip>,
    pub assignee: Option<Person>,
    /// The title of the milestone, and its address if the viewer may see milestones.
    pub milestone: Option<(String, Option<String>)>,
    /// The addresses of the forms for viewers who may comment.
    pub forms: Option<CommentForms>,
    pub is_subscribed: bool,
}

/// What viewers who may comment are offered.
#[derive(Clone, Debug)]
pub struct CommentForms {
    pub comment: CommentForm,
    pub notes: String,
    pub preview: String,
    pub subscribe: String,
    pub unsubscribe: String,
}

/// An item of the timeline.
#[derive(Clone, Debug)]
pub enum TimelineItem {
    Entry(TimelineEntry),
    Discussion(DiscussionView),
}

/// A discussion with its notes.
#[derive(Clone, Debug)]
pub struct DiscussionView {
    pub id: i64,
    pub author: Person,
    pub created: Time,
    /// The file and line, and the address of the changes of the version that has it.
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
}

/// Who looks at the page, and what was entered there.
pub struct OverviewInput<'a> {
    pub found: &'a Overview,
    pub viewer: RequestViewer,
    pub user: Option<UserId>,
    pub can_resolve: bool,
    pub can_cancel: bool,
    pub comment: CommentForm,
}

/// Builds the page. `render` turns Markdown into sanitized HTML; texts that it does not render are shown as they are.
pub fn overview_page(
    layout: Layout,
    input: OverviewInput<'_>,
    render: impl Fn(&str) -> Option<String>,
) -> OverviewPage {
    let OverviewInput { found, viewer, user, can_resolve, can_cancel, comment } = input;
    let Overview { page, labels, threads, .. } = found;
    let (request, abilities, now) = (&page.request, viewer.abilities, viewer.now);
    let links = ProjectLinks::new(&page.project.full_path());
    let chips = LabelChips::new(labels, &links).of_merge_requests();
    let (layout, head) = request_frame(layout, page, viewer, RequestTab::Overview);
    let can_comment = abilities.can_comment_on_merge_requests;
    let entry = |note: &Note| TimelineEntry {
        anchor: format!("note_{}", note.id),
        author: Person::from_user(&note.author),
        created: Time::ago(note.created_at, now),
        is_edited: !note.system && note.updated_at > note.created_at,
        edit_url: {
            let is_own = Some(note.author.id) == user && can_comment;
            let can_edit = !note.system && (is_own || abilities.can_moderate_notes);
            can_edit.then(|| links.merge_request_note_form(request.iid, note.id))
        },
        content: if note.system {
            EntryContent::System(system_note_parts(&note.body, &chips))
        } else {
            EntryContent::Note(Prose::new(&note.body, render(&note.body)))
        },
    };
    let discussion = |discussion: &DiscussionWithNotes| {
        let first = discussion.notes.first()?;
        let action = |name| links.discussion_action(request.iid, discussion.discussion.id, name);
        let is_resolved = discussion.discussion.resolved().is_some();
        let resolve = if is_resolved { "unresolve" } else { "resolve" };
        Some(DiscussionView {
            id: discussion.discussion.id.get(),
            author: Person::from_user(&first.author),
            created: Time::ago(first.created_at, now),
            line: discussion.shown_line.as_ref().map(|line| {
                let changes = links.merge_request_page(request.iid, "changes");
                let number = line.version.number.to_string();
                let query = page_links::query(&[("version", &number), ("file", &line.line.path)]);
                (format!("{}:{}", line.line.path, line.line.number), format!("{changes}{query}"))
            }),
            is_outdated: discussion.current == CurrentLine::Gone,
            is_resolved,
            resolved_by: discussion.resolved_by.as_ref().map(Person::from_user),
            notes: discussion.notes.iter().map(&entry).collect(),
            reply_url: can_comment.then(|| action("notes")),
            resolve_url: (can_resolve && can_comment).then(|| action(resolve)),
        })
    };
    let item = |thread: &Thread| match thread {
        Thread::Note(note) => Some(TimelineItem::Entry(entry(note))),
        Thread::Discussion(found) => discussion(found).map(TimelineItem::Discussion),
    };
    let action = |name| links.merge_request_page(request.iid, name);
    OverviewPage {
        description: request.description.as_deref().and_then(|text| Prose::new(text, render(text))),
        items: threads.items.iter().filter_map(item).collect(),
        pages: Pages::new(threads, &links.merge_request(request.iid), &[]),
        merge_box: merge_box(found, &links, can_cancel, now),
        labels: chips.chips(&request.labels),
        assignee: request.assignee.as_ref().map(Person::from_user),
        milestone: request.milestone.as_ref().map(|milestone| {
            let url = abilities.can_read_milestones.then(|| links.milestone(milestone.iid));
            (milestone.title.clone(), url)
        }),
        forms: can_comment.then(|| CommentForms {
            comment,
            notes: action("notes"),
            preview: links.preview(),
            subscribe: action("subscribe"),
            unsubscribe: action("unsubscribe"),
        }),
        is_subscribed: request.subscribed,
        layout,
        head,
    }
}
