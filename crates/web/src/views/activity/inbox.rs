//! The start page of a user.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::activity::inbox::{FailedPipeline, Inbox, OwnProject, PendingRequest};

use super::feed::OwnEvent;
use super::frame::{DashboardTab, dashboard_frame};
use super::issue_row::OwnIssueRow;
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
    pub issues: Vec<OwnIssueRow>,
    /// Whether more issues are assigned than are shown.
    pub has_more_issues: bool,
    pub pipelines: Vec<PipelineRow>,
    pub requests: Vec<RequestRow>,
    pub projects: Vec<OwnProjectRow>,
    pub events: Vec<OwnEvent>,
}

impl InboxPage {
    fn needs_nothing(&self) -> bool {
        self.issues.is_empty() && self.pipelines.is_empty() && self.requests.is_empty()
    }
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
    fn new(pipeline: &FailedPipeline, now: DateTime<Utc>) -> Self {
        let links = ProjectLinks::new(&pipeline.project_path);
        Self {
            id: pipeline.id.get(),
            url: links.pipeline(pipeline.id.get()),
            project: pipeline.project_path.clone(),
            project_url: links.home().to_owned(),
            ref_name: pipeline.ref_name.clone(),
            title: title(pipeline.message.as_deref().unwrap_or_default()).to_owned(),
            time: Time::age(pipeline.finished_at.unwrap_or(pipeline.created_at), now),
        }
    }
}

/// A request for access.
#[derive(Clone, Debug)]
pub struct RequestRow {
    pub person: Person,
    /// The path of the group or the project.
    pub path: String,
    pub url: String,
    pub time: Time,
}

impl RequestRow {
    fn new(request: &PendingRequest, now: DateTime<Utc>) -> Self {
        let url = match request.is_group {
            true => links::group(&request.path),
            false => ProjectLinks::new(&request.path).home().to_owned(),
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
    InboxPage {
        layout,
        issues: inbox.issues.items.iter().map(|issue| OwnIssueRow::new(issue, now)).collect(),
        has_more_issues: inbox.issues.has_next,
        pipelines: inbox.failed_pipelines.iter().map(|pipeline| PipelineRow::new(pipeline, now)).collect(),
        requests: inbox.access_requests.iter().map(|request| RequestRow::new(request, now)).collect(),
        projects: inbox.projects.iter().filter_map(|own| OwnProjectRow::new(own, now)).collect(),
        events: inbox.events.iter().map(|event| OwnEvent::new(event, now)).collect(),
    }
}
