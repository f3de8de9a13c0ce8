//! The start page of a user.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::activity::inbox::{Failure, FailureKind, Inbox, OwnProject, PendingRequest, TaskList};

use super::feed::OwnEvent;
use super::frame::{DashboardTab, dashboard_frame};
use super::target_row::TargetRow;
use crate::icons::{self, Icon};
use crate::layout::Layout;
use crate::views::projects::row::{ProjectRow, rows};
use crate::views::repository::commit_line::title;
use crate::views::status::StatusView;
use crate::views::{Person, ProjectLinks, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "activity/inbox.html")]
pub struct InboxPage {
    pub layout: Layout,
    /// Assigned merge requests, assigned issues and todos, each if there are any.
    pub sections: Vec<Section>,
    pub pipelines: Vec<PipelineRow>,
    pub hooks: Vec<HookRow>,
    pub requests: Vec<RequestRow>,
    pub projects: Vec<OwnProjectRow>,
    pub events: Vec<OwnEvent>,
}

impl InboxPage {
    fn needs_nothing(&self) -> bool {
        self.sections.is_empty() && self.pipelines.is_empty() && self.hooks.is_empty() && self.requests.is_empty()
    }
}

/// Issues or merge requests that need attention for one reason.
#[derive(Clone, Debug)]
pub struct Section {
    pub id: &'static str,
    pub icon: Icon,
    pub title: &'static str,
    pub rows: Vec<TargetRow>,
    /// Whether there are more than are shown.
    pub has_more: bool,
    /// The address of the list with all of them, and the text of its link.
    pub url: &'static str,
    pub more: &'static str,
}

impl Section {
    fn with_tasks(mut self, tasks: &TaskList, now: DateTime<Utc>) -> Option<Self> {
        self.rows = tasks.items.iter().map(|task| TargetRow::from_task(task, now)).collect();
        self.has_more = tasks.has_more;
        (!self.rows.is_empty()).then_some(self)
    }
}

/// Returns the sections without their rows: merge requests, issues and todos.
fn empty_sections() -> [Section; 3] {
    let section =
        |id, icon, title, url, more| Section { id, icon, title, rows: Vec::new(), has_more: false, url, more };
    [
        section(
            "merge-requests",
            icons::MERGE_REQUEST,
            "Merge requests assigned to you",
            "/dashboard/merge_requests",
            "All your merge requests",
        ),
        section("issues", icons::ISSUE_OPEN, "Issues assigned to you", "/dashboard/issues", "All your issues"),
        section("todos", icons::CHECK, "Todos", "/dashboard/todos", "All your todos"),
    ]
}

/// A failed pipeline.
#[derive(Clone, Debug)]
pub struct PipelineRow {
    pub id: i64,
    pub url: String,
    pub project: String,
    pub project_url: String,
    pub ref_name: String,
    /// The first line of the commit's message.
    pub title: String,
    pub time: Time,
}

impl PipelineRow {
    fn new(pipeline: &Failure, now: DateTime<Utc>) -> Self {
        let links = ProjectLinks::new(&pipeline.project_path);
        Self {
            id: pipeline.id,
            url: links.pipeline(pipeline.id),
            project: pipeline.project_path.clone(),
            project_url: links.home().to_owned(),
            ref_name: pipeline.name.clone(),
            title: title(pipeline.message.as_deref().unwrap_or_default()).to_owned(),
            time: Time::age(pipeline.failed_at, now),
        }
    }
}

/// A hook whose deliveries fail.
#[derive(Clone, Debug)]
pub struct HookRow {
    /// The address of the page with the hooks of the project.
    pub url: String,
    /// The host that does not accept the deliveries. The rest of its URL can contain secrets.
    pub receiver: String,
    pub project: String,
    pub project_url: String,
    pub is_paused: bool,
    /// Since when it fails.
    pub time: Time,
}

impl HookRow {
    fn new(hook: &Failure, now: DateTime<Utc>) -> Self {
        let links = ProjectLinks::new(&hook.project_path);
        Self {
            url: links.settings_page("hooks"),
            receiver: host(&hook.name).to_owned(),
            project: hook.project_path.clone(),
            project_url: links.home().to_owned(),
            is_paused: hook.kind() == FailureKind::PausedHook,
            time: Time::age(hook.failed_at, now),
        }
    }
}

/// Returns the host of a URL with its port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// A request for access.
#[derive(Clone, Debug)]
pub struct RequestRow {
    pub person: Person,
    /// The path of the group or the project.
    pub path: String,
    /// The address of its members, where the request is decided.
    pub url: String,
    pub time: Time,
}

impl RequestRow {
    fn new(request: &PendingRequest, now: DateTime<Utc>) -> Self {
        let url = match request.is_group {
            true => links::group_page(&request.path, "members"),
            false => ProjectLinks::new(&request.path).members(),
        };
        let time = Time::age(request.requested_at, now);
        Self { person: Person::from_user(&request.user), path: request.path.clone(), url, time }
    }
}

/// A project with the state of its newest pipeline.
#[derive(Clone, Debug)]
pub struct OwnProjectRow {
    pub row: ProjectRow,
    pub pipeline: Option<(StatusView, String)>,
}

impl OwnProjectRow {
    fn new(own: &OwnProject, now: DateTime<Utc>) -> Option<Self> {
        let links = ProjectLinks::new(&own.project.full_path());
        let row = rows(std::slice::from_ref(&own.project), now).into_iter().next()?;
        let pipeline = own.pipeline.as_ref();
        let pipeline = pipeline.map(|pipeline| (pipeline.status.into(), links.pipeline(pipeline.id.get())));
        Some(Self { row, pipeline })
    }
}

/// Builds the start page.
pub fn inbox_page(layout: Layout, inbox: &Inbox, now: DateTime<Utc>) -> InboxPage {
    let mut layout = dashboard_frame(layout, DashboardTab::Dashboard);
    "Dashboard".clone_into(&mut layout.title);
    let tasks = [&inbox.merge_requests, &inbox.issues, &inbox.todos];
    let sections = empty_sections().into_iter().zip(tasks);
    let (pipelines, hooks): (Vec<_>, Vec<_>) =
        inbox.failures.iter().partition(|failure| failure.kind() == FailureKind::Pipeline);
    InboxPage {
        layout,
        sections: sections.filter_map(|(section, tasks)| section.with_tasks(tasks, now)).collect(),
        pipelines: pipelines.into_iter().map(|pipeline| PipelineRow::new(pipeline, now)).collect(),
        hooks: hooks.into_iter().map(|hook| HookRow::new(hook, now)).collect(),
        requests: inbox.access_requests.iter().map(|request| RequestRow::new(request, now)).collect(),
        projects: inbox.projects.iter().filter_map(|own| OwnProjectRow::new(own, now)).collect(),
        events: inbox.events.iter().map(|event| OwnEvent::new(event, now)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn only_the_host_of_a_hook_is_shown() {
        assert_eq!(host("https://ada:secret@hooks.example:8443/token?a=b"), "hooks.example:8443");
        assert_eq!(host("http://[::1]:9/x"), "[::1]:9");
        assert_eq!(host(""), "");
    }
}
