//! Presents runners to users.

use chrono::{DateTime, Utc};
use holdfast_app::ci::runner::{Runner, RunnerStatus, RunnerWithProjects};
use holdfast_app::ci::runner_api::RegisteredRunner;
use serde::Serialize;
use utoipa::ToSchema;

use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::project_summary::{ProjectSummaryBody, present_project_summary};
use crate::present::runner::{RunnerBody, present_runner as present_fields};

/// A runner in lists and with jobs.
#[derive(Serialize, ToSchema)]
pub struct RunnerSummary {
    #[serde(flatten)]
    pub fields: RunnerBody,
    /// Always null: addresses of runners are not stored.
    pub ip_address: Option<String>,
    /// The opposite of `active`.
    pub paused: bool,
    /// `instance_type` for shared runners, otherwise `project_type`.
    pub runner_type: &'static str,
    /// Whether the runner contacted the server within the last hour.
    pub online: bool,
    /// Always null.
    pub created_by: Option<String>,
    pub created_at: Timestamp,
    /// `online`, `offline`, `stale` (offline for more than a week) or `never_contacted`.
    pub status: &'static str,
}

pub fn present_runner(runner: &Runner, now: DateTime<Utc>) -> RunnerSummary {
    let status = RunnerStatus::of(runner, now);
    RunnerSummary {
        fields: present_fields(runner),
        ip_address: None,
        paused: !runner.active,
        runner_type: if runner.shared { "instance_type" } else { "project_type" },
        online: status == RunnerStatus::Online,
        created_by: None,
        created_at: runner.created_at.into(),
        status: status.as_str(),
    }
}

/// A runner that is shown alone.
#[derive(Serialize, ToSchema)]
pub struct RunnerDetailBody {
    #[serde(flatten)]
    pub summary: RunnerSummary,
    pub tag_list: Vec<String>,
    pub run_untagged: bool,
    pub locked: bool,
    /// Maximum duration of a job on this runner, in seconds.
    pub maximum_timeout: Option<i32>,
    /// Always `not_protected`: the runner executes jobs of all branches.
    pub access_level: &'static str,
    pub version: Option<String>,
    pub revision: Option<String>,
    pub platform: Option<String>,
    pub architecture: Option<String>,
    pub contacted_at: Option<Timestamp>,
    /// Always null.
    pub maintenance_note: Option<String>,
    pub projects: Vec<ProjectSummaryBody>,
    /// Always empty: runners belong to projects or to the instance.
    pub groups: Vec<String>,
}

pub fn present_detail(detail: RunnerWithProjects, now: DateTime<Utc>, site: &InstanceUrls) -> RunnerDetailBody {
    let RunnerWithProjects { runner, projects } = detail;
    RunnerDetailBody {
        summary: present_runner(&runner, now),
        tag_list: runner.tags,
        run_untagged: runner.run_untagged,
        locked: runner.locked,
        maximum_timeout: runner.max_run_seconds,
        access_level: "not_protected",
        version: runner.info.version,
        revision: runner.info.revision,
        platform: runner.info.platform,
        architecture: runner.info.architecture,
        contacted_at: runner.contacted_at.map(Into::into),
        maintenance_note: None,
        projects: projects.into_iter().map(|project| present_project_summary(project, site)).collect(),
        groups: Vec::new(),
    }
}

/// A runner that was created, with its token. The token is shown only here.
#[derive(Serialize, ToSchema)]
pub struct CreatedRunnerBody {
    pub id: i64,
    pub token: String,
    /// Always null: tokens of runners do not expire.
    pub token_expires_at: Option<Timestamp>,
}

pub fn present_created(runner: RegisteredRunner) -> CreatedRunnerBody {
    CreatedRunnerBody { id: runner.id.get(), token: runner.token, token_expires_at: None }
}
