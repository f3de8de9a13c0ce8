//! An issue or a merge request as a row of a list over several projects.

use chrono::{DateTime, Utc};
use holdfast_app::activity::inbox::InboxTask;
use holdfast_app::merge_requests::merge_request::MergeRequest;
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::todo::{TargetKind, TodoRow};
use holdfast_domain::merge_requests::{MergeRequestState, is_work_in_progress};
use holdfast_domain::planning::{IssueState, TodoAction};

use crate::icons::{self, Icon};
use crate::views::merge_requests::frame::RequestState;
use crate::views::{ProjectLinks, links};
use crate::words::{self, Time};

#[derive(Clone, Debug)]
pub struct TargetRow {
    /// The state, with a name.
    pub icon: Icon,
    /// The class of the icon's color.
    pub color: &'static str,
    pub url: String,
    pub project_url: String,
    /// The path of the project, with its namespace.
    pub project: String,
    /// The number with its sign, such as `#12` or `!3`.
    pub reference: String,
    pub title: String,
    pub is_draft: bool,
    pub is_confidential: bool,
    pub due_date: Option<String>,
    pub note_count: i64,
    pub time: Time,
    pub todo: Option<TodoView>,
}

/// Why a row is a todo, and the action that completes it.
#[derive(Clone, Debug)]
pub struct TodoView {
    pub reason: String,
    /// None if it is done.
    pub done_url: Option<String>,
}

impl TodoView {
    fn new(id: i64, reason: String, is_done: bool) -> Self {
        Self { reason, done_url: (!is_done).then(|| links::complete_todo(id)) }
    }
}

/// What identifies an issue or a merge request, and its state.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Issue(i64, IssueState),
    MergeRequest(i64, MergeRequestState),
    /// Only the kind is known: todos do not show the state.
    Unknown(i64, TargetKind),
}

impl TargetRow {
    /// Creates a row without notes, due date and marks.
    pub fn new(project: &str, target: Target, title: &str, time: Time) -> Self {
        let links = ProjectLinks::new(project);
        let state =
            |state: MergeRequestState| (RequestState::from(state).named_icon(), RequestState::from(state).color);
        let (icon, color) = match target {
            Target::Issue(_, IssueState::Closed) => (icons::ISSUE_CLOSED.named("closed"), "violet"),
            Target::Issue(..) => (icons::ISSUE_OPEN.named("open"), "ok"),
            Target::MergeRequest(_, merge_request) => state(merge_request),
            Target::Unknown(_, TargetKind::Issue) => (icons::ISSUE_OPEN.named("issue"), "soft"),
            Target::Unknown(_, TargetKind::MergeRequest) => (icons::MERGE_REQUEST.named("merge request"), "soft"),
        };
        let (url, reference) = match target {
            Target::Issue(iid, _) | Target::Unknown(iid, TargetKind::Issue) => (links.issue(iid), format!("#{iid}")),
            Target::MergeRequest(iid, _) | Target::Unknown(iid, TargetKind::MergeRequest) => {
                (links.merge_request(iid), format!("!{iid}"))
            }
        };
        let is_open_request = match target {
            Target::Issue(..) | Target::Unknown(_, TargetKind::Issue) => false,
            Target::MergeRequest(_, state) => state.is_open(),
            Target::Unknown(_, TargetKind::MergeRequest) => true,
        };
        Self {
            icon,
            color,
            url,
            project_url: links.home().to_owned(),
            project: project.to_owned(),
            reference,
            title: title.to_owned(),
            is_draft: is_open_request && is_work_in_progress(title),
            is_confidential: false,
            due_date: None,
            note_count: 0,
            time,
            todo: None,
        }
    }

    pub fn from_issue(issue: &Issue, now: DateTime<Utc>) -> Self {
        let target = Target::Issue(issue.iid, issue.state);
        Self {
            is_confidential: issue.confidential,
            due_date: issue.due_date.map(words::date),
            note_count: issue.notes_count.into(),
            ..Self::new(&issue.project_path, target, &issue.title, Time::age(issue.created_at, now))
        }
    }

    pub fn from_merge_request(request: &MergeRequest, now: DateTime<Utc>) -> Self {
        let target = Target::MergeRequest(request.iid, request.state);
        let time = Time::age(request.created_at, now);
        let row = Self::new(&request.project_path, target, &request.title, time);
        Self { note_count: request.notes_count.into(), ..row }
    }

    /// Creates the row of an open issue or merge request that needs attention.
    pub fn from_task(task: &InboxTask, now: DateTime<Utc>) -> Self {
        let target = match (task.todo(), task.target()) {
            (None, TargetKind::Issue) => Target::Issue(task.iid, IssueState::Opened),
            (None, TargetKind::MergeRequest) => Target::MergeRequest(task.iid, MergeRequestState::Opened),
            (Some(_), kind) => Target::Unknown(task.iid, kind),
        };
        let todo = task.todo().map(|(id, action)| TodoView::new(id.get(), own_reason(action).to_owned(), false));
        Self {
            is_confidential: task.confidential,
            due_date: task.due_date.map(words::date),
            note_count: task.notes_count.into(),
            todo,
            ..Self::new(&task.project_path, target, &task.title, Time::age(task.created_at, now))
        }
    }

    pub fn from_todo(todo: &TodoRow, now: DateTime<Utc>) -> Self {
        let target = Target::Unknown(todo.iid, todo.target());
        let row = Self::new(&todo.project_path, target, &todo.title, Time::age(todo.created_at, now));
        let url = match todo.note() {
            Some(note) => format!("{}#note_{note}", row.url),
            None => row.url.clone(),
        };
        let reason = match todo.action {
            TodoAction::Assigned => format!("{} assigned it to you", todo.author.name),
            TodoAction::Mentioned => format!("{} mentioned you", todo.author.name),
            action => own_reason(action).to_owned(),
        };
        let view = TodoView::new(todo.id.get(), reason, todo.done);
        Self { url, is_confidential: todo.confidential, todo: Some(view), ..row }
    }
}

/// Returns why a user has a todo, without the person that it comes from.
const fn own_reason(action: TodoAction) -> &'static str {
    match action {
        TodoAction::Assigned => "Assigned to you",
        TodoAction::Mentioned => "You were mentioned",
        TodoAction::BuildFailed => "The pipeline failed",
        TodoAction::Marked => "Marked by you",
    }
}
