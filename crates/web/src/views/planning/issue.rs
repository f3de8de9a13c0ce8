//! The page of an issue with its notes.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::label::Label;
use holdfast_app::planning::note::Note;
use holdfast_app::projects::project::Project;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::Page;
use holdfast_domain::planning::IssueState;

use super::comment_form::CommentForm;
use super::label::{LabelChip, LabelChips};
use super::system_note::{NotePart, system_note_parts};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "planning/issue.html")]
pub struct IssuePage {
    pub layout: Layout,
    pub iid: i64,
    pub title: String,
    pub is_closed: bool,
    pub is_confidential: bool,
    pub author: Person,
    pub created: Time,
    pub updated: Time,
    pub description: Option<Prose>,
    pub entries: Vec<TimelineEntry>,
    pub pages: Pages,
    pub labels: Vec<LabelChip>,
    pub assignee: Option<Person>,
    /// The title of the milestone, and its address if the viewer may see milestones.
    pub milestone: Option<(String, Option<String>)>,
    pub due: Option<String>,
    pub links: IssueLinks,
    pub controls: IssueControls,
    pub is_subscribed: bool,
    /// The form of a new comment, for viewers who may write one.
    pub comment: Option<CommentForm>,
}

/// The addresses of the forms and actions of an issue.
#[derive(Clone, Debug)]
pub struct IssueLinks {
    pub edit: String,
    pub close: String,
    pub reopen: String,
    pub subscribe: String,
    pub unsubscribe: String,
    pub move_to: String,
    pub delete: String,
    pub notes: String,
    pub preview: String,
}

/// What the page offers beside comments.
#[derive(Clone, Copy, Debug)]
pub struct IssueControls {
    pub can_edit: bool,
    pub can_subscribe: bool,
    pub can_move: bool,
    pub can_delete: bool,
}

/// A note of a person, or a system note about a change.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    /// The id of the element, such as `note_12`, which API bodies and hooks refer to.
    pub anchor: String,
    pub author: Person,
    pub created: Time,
    pub is_edited: bool,
    /// The address of the form of the note, if the viewer may edit it.
    pub edit_url: Option<String>,
    pub content: EntryContent,
}

#[derive(Clone, Debug)]
pub enum EntryContent {
    Note(Option<Prose>),
    System(Vec<NotePart>),
}

/// What the viewer of an issue may do with it.
#[derive(Clone, Copy, Debug)]
pub struct IssueViewer {
    pub abilities: Abilities,
    pub user: Option<UserId>,
    pub can_edit: bool,
}

impl IssueViewer {
    fn can_edit_note(&self, note: &Note) -> bool {
        let is_own = Some(note.author.id) == self.user && self.abilities.can_create_issues;
        !note.system && (is_own || self.abilities.can_moderate_notes)
    }
}

/// An issue with what its page shows.
#[derive(Clone, Debug)]
pub struct IssueInput<'a> {
    pub project: &'a Project,
    pub issue: &'a Issue,
    pub notes: &'a Page<Note>,
    /// The labels of the issue, for their colors.
    pub labels: &'a [Label],
    pub viewer: IssueViewer,
    pub comment: CommentForm,
}

/// Builds the page of an issue. `render` turns Markdown into sanitized HTML; texts that it does not render are shown as
/// they are.
pub fn issue_page(
    layout: Layout,
    input: IssueInput<'_>,
    render: impl Fn(&str) -> Option<String>,
    now: DateTime<Utc>,
) -> IssuePage {
    let IssueInput { project, issue, notes, labels, viewer, comment } = input;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, viewer.abilities, ProjectTab::Issues);
    layout.title = format!("{} · #{} · {}", issue.title, issue.iid, project.full_path());
    let chips = LabelChips::new(labels, &links);
    let entry = |note: &Note| TimelineEntry {
        anchor: format!("note_{}", note.id),
        author: Person::from_user(&note.author),
        created: Time::ago(note.created_at, now),
        is_edited: !note.system && note.updated_at > note.created_at,
        edit_url: viewer.can_edit_note(note).then(|| links.issue_note_form(issue.iid, note.id)),
        content: if note.system {
            EntryContent::System(system_note_parts(&note.body, &chips))
        } else {
            EntryContent::Note(Prose::new(&note.body, render(&note.body)))
        },
    };
    IssuePage {
        layout,
        iid: issue.iid,
        title: issue.title.clone(),
        is_closed: issue.state == IssueState::Closed,
        is_confidential: issue.confidential,
        author: Person::from_user(&issue.author),
        created: Time::ago(issue.created_at, now),
        updated: Time::ago(issue.updated_at, now),
        description: issue.description.as_deref().and_then(|text| Prose::new(text, render(text))),
        entries: notes.items.iter().map(entry).collect(),
        pages: Pages::new(notes, &links.issue(issue.iid), &[]),
        labels: chips.chips(&issue.labels),
        assignee: issue.assignee.as_ref().map(Person::from_user),
        milestone: issue.milestone.as_ref().map(|milestone| {
            let url = viewer.abilities.can_read_milestones.then(|| links.milestone(milestone.iid));
            (milestone.title.clone(), url)
        }),
        due: issue.due_date.map(words::date),
        links: issue_links(&links, issue.iid),
        controls: IssueControls {
            can_edit: viewer.can_edit,
            can_subscribe: viewer.abilities.can_create_issues,
            can_move: viewer.abilities.can_manage_issues && issue.moved_to_id.is_none(),
            can_delete: viewer.abilities.can_delete_issues,
        },
        is_subscribed: issue.subscribed,
        comment: viewer.abilities.can_create_issues.then_some(comment),
    }
}

fn issue_links(links: &ProjectLinks, iid: i64) -> IssueLinks {
    let action = |name| links.issue_action(iid, name);
    IssueLinks {
        edit: action("edit"),
        close: action("close"),
        reopen: action("reopen"),
        subscribe: action("subscribe"),
        unsubscribe: action("unsubscribe"),
        move_to: action("move"),
        delete: action("delete"),
        notes: action("notes"),
        preview: links.preview(),
    }
}
