//! Presents runners to users. Responses to runners themselves are in `runner` of this crate.

use holdfast_app::ci::runner::{Runner, RunnerWithProjects};
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::project_summary::{ProjectSummaryBody, present_project_summary};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct RunnerBody {
    pub id: i64,
    pub description: Option<String>,
    pub active: bool,
    pub is_shared: bool,
    /// Name of the runner program, as the runner reports it.
    pub name: Option<String>,
}

pub fn present_runner(runner: &Runner) -> RunnerBody {
    RunnerBody {
        id: runner.id.get(),
        description: runner.description.clone(),
        active: runner.active,
        is_shared: runner.shared,
        name: runner.info.name.clone(),
    }
}

#[derive(Serialize, ToSchema)]
pub struct RunnerDetail {
    #[serde(flatten)]
    pub summary: RunnerBody,
    pub tag_list: Vec<String>,
    pub run_untagged: bool,
    pub locked: bool,
    pub version: Option<String>,
    pub revision: Option<String>,
    pub platform: Option<String>,
    pub architecture: Option<String>,
    pub contacted_at: Option<Timestamp>,
    pub projects: Vec<ProjectSummaryBody>,
}

pub fn detail(detail: RunnerWithProjects, site: &InstanceUrls) -> RunnerDetail {
    let RunnerWithProjects { runner: loaded_runner, projects } = detail;
    RunnerDetail {
        summary: present_runner(&loaded_runner),
        tag_list: loaded_runner.tags,
        run_untagged: loaded_runner.run_untagged,
        locked: loaded_runner.locked,
        version: loaded_runner.info.version,
        revision: loaded_runner.info.revision,
        platform: loaded_runner.info.platform,
        architecture: loaded_runner.info.architecture,
        contacted_at: loaded_runner.contacted_at.map(Into::into),
        projects: projects.into_iter().map(|project| present_project_summary(project, site)).collect(),
    }
}
