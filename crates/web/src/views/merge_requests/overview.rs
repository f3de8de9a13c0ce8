//! The first page of a merge request: its discussions, and the box that merges it.

use askama::Template;
use holdfast_app::merge_requests::page::Overview;
use holdfast_app::merge_requests::thread::Thread;

use super::discussion::{DiscussionContext, DiscussionView};
use super::frame::{RequestHead, RequestTab, RequestViewer, request_frame};
use super::merge_box::{MergeAction, MergeBox, merge_box};
use crate::layout::Layout;
use crate::views::planning::comment_form::CommentForm;
use crate::views::planning::issue::{EntryContent, TimelineEntry};
use crate::views::planning::label::{LabelChip, LabelChips};
use crate::views::planning::system_note::NotePart;
use crate::views::prose::Prose;
use crate::views::{Pages, Person, ProjectLinks};

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

/// Who looks at the page, and what was entered there.
pub struct OverviewInput<'a> {
    pub found: &'a Overview,
    pub viewer: RequestViewer,
    pub can_cancel: bool,
    pub comment: CommentForm,
}

/// Builds the page. `render` turns Markdown into sanitized HTML; texts that it does not render are shown as they are.
pub fn overview_page(
    layout: Layout,
    input: OverviewInput<'_>,
    render: impl Fn(&str) -> Option<String>,
) -> OverviewPage {
    let OverviewInput { found, viewer, can_cancel, comment } = input;
    let Overview { page, labels, threads, .. } = found;
    let (request, abilities, now) = (&page.request, viewer.abilities, viewer.now);
    let links = ProjectLinks::new(&page.project.full_path());
    let chips = LabelChips::new(labels, &links).of_merge_requests();
    let (layout, head) = request_frame(layout, page, viewer, RequestTab::Overview);
    let can_comment = abilities.can_comment_on_merge_requests;
    let context = DiscussionContext { iid: request.iid, links: &links, chips: &chips, viewer, render: &render };
    let item = |thread: &Thread| match thread {
        Thread::Note(note) => Some(TimelineItem::Entry(context.entry(note))),
        Thread::Discussion(found) => context.discussion(found).map(TimelineItem::Discussion),
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
