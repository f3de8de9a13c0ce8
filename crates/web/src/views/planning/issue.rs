//! The page of an issue with its notes.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::label::Label;
use holdfast_app::planning::note::Note;
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;
use holdfast_domain::planning::IssueState;

use super::label::{LabelChip, LabelChips};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::links::query;
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
    /// The title of the milestone, and the address of its issues.
    pub milestone: Option<(String, String)>,
    pub due: Option<String>,
}

/// A note of a person, or a system note about a change.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    /// The id of the element, such as `note_12`, which API bodies and hooks refer to.
    pub anchor: String,
    pub author: Person,
    pub created: Time,
    pub is_edited: bool,
    pub content: EntryContent,
}

#[derive(Clone, Debug)]
pub enum EntryContent {
    Note(Option<Prose>),
    System(String),
}

/// An issue with what its page shows.
#[derive(Clone, Copy, Debug)]
pub struct IssueInput<'a> {
    pub issue: &'a Issue,
    pub notes: &'a Page<Note>,
    /// The labels of the issue, for their colors.
    pub labels: &'a [Label],
}

/// Builds the page of an issue. `render` turns Markdown into sanitized HTML; texts that it does not render are shown as
/// they are.
pub fn issue_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    input: IssueInput<'_>,
    render: impl Fn(&str) -> Option<String>,
    now: DateTime<Utc>,
) -> IssuePage {
    let IssueInput { issue, notes, labels } = input;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("{} · #{} · {}", issue.title, issue.iid, project.full_path());
    let entry = |note: &Note| TimelineEntry {
        anchor: format!("note_{}", note.id),
        author: Person::from_user(&note.author),
        created: Time::ago(note.created_at, now),
        is_edited: !note.system && note.updated_at > note.created_at,
        content: if note.system {
            EntryContent::System(note.body.clone())
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
        labels: LabelChips::new(labels, &links).chips(&issue.labels),
        assignee: issue.assignee.as_ref().map(Person::from_user),
        milestone: issue.milestone.as_ref().map(|milestone| {
            let query = query(&[("state", "all"), ("milestone", &milestone.title)]);
            (milestone.title.clone(), format!("{}{query}", links.issues()))
        }),
        due: issue.due_date.map(words::date),
    }
}
