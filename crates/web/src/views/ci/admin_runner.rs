//! All runners of the instance, one of them, and the registration token of the instance.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::all_runners::{MAX_LISTED_PROJECTS, RunnerDetails, RunnersWithBuilds};
use holdfast_app::ci::project_runner::CurrentBuild;
use holdfast_app::ci::runner::Runner;
use holdfast_app::projects::project::Project;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::{InstanceUrls, Violations};

use super::runner::{BuildLink, RunnerForm, RunnerRow, RunnerValues, registration_command};
use crate::layout::Layout;
use crate::views::instance::admin_nav::admin_frame;
use crate::views::{Pages, ProjectLinks, links};
use crate::words;

/// The filters of the list: the value of the parameter, and its label.
const FILTERS: [(&str, &str); 7] = [
    ("", "All"),
    ("online", "Online"),
    ("offline", "Offline"),
    ("stale", "Offline for a week"),
    ("never", "Never online"),
    ("paused", "Paused"),
    ("shared", "Shared"),
];

#[derive(Template)]
#[template(path = "ci/admin_runners.html")]
pub struct AdminRunnersPage {
    pub layout: Layout,
    pub filters: Vec<FilterLink>,
    pub is_filtered: bool,
    pub runners: Vec<RunnerRow>,
    pub pages: Pages,
    pub token_url: String,
}

/// A link to the runners with a state.
#[derive(Clone, Debug)]
pub struct FilterLink {
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
}

/// Returns the builds that a runner executes, with the names of their projects.
fn build_links(builds: &[CurrentBuild], projects: &[Project], runner: RunnerId) -> Vec<BuildLink> {
    let link = |build: &CurrentBuild| {
        let project = projects.iter().find(|project| project.id == build.project_id)?;
        let path = project.full_path();
        let url = project.features.builds_enabled.then(|| ProjectLinks::new(&path).build(build.id));
        Some(BuildLink { url, name: format!("{path}: {}", build.name) })
    };
    builds.iter().filter(|build| build.runner_id == runner).filter_map(link).collect()
}

/// Builds the list of all runners. `state` is the value of the filter.
pub fn admin_runners_page(
    layout: Layout,
    found: &RunnersWithBuilds,
    state: &str,
    now: DateTime<Utc>,
) -> AdminRunnersPage {
    let layout = admin_frame(layout, "Runners");
    let path = links::all_runners();
    let state = FILTERS.into_iter().find(|(name, _)| *name == state).map_or("", |(name, _)| name);
    let filter = |(name, label): (&'static str, &'static str)| FilterLink {
        label,
        url: format!("{path}{}", links::query(&[("state", name)])),
        is_current: name == state,
    };
    let row = |runner: &Runner| {
        let builds = build_links(&found.builds, &found.projects, runner.id);
        RunnerRow::new(runner, links::runner(runner.id), builds, now)
    };
    AdminRunnersPage {
        layout,
        filters: FILTERS.into_iter().map(filter).collect(),
        is_filtered: !state.is_empty(),
        runners: found.runners.items.iter().map(row).collect(),
        pages: Pages::new(&found.runners, path, &[("state", state)]),
        token_url: links::runner("token"),
    }
}

#[derive(Template)]
#[template(path = "ci/admin_runner.html")]
pub struct AdminRunnerPage {
    pub layout: Layout,
    pub runner: RunnerRow,
    pub projects: Vec<ProjectLink>,
    /// The number of projects that are listed at most, if there may be more.
    pub limit: Option<String>,
    /// The number of its projects, with their noun.
    pub project_count: String,
    pub form: RunnerForm,
}

/// A link to a project.
#[derive(Clone, Debug)]
pub struct ProjectLink {
    pub name: String,
    pub url: String,
}

/// Builds the page of a runner.
pub fn admin_runner_page(
    layout: Layout,
    found: &RunnerDetails,
    values: RunnerValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> AdminRunnerPage {
    let url = links::runner(found.runner.id);
    let builds = build_links(&found.builds, &found.projects, found.runner.id);
    let runner = RunnerRow::new(&found.runner, url.clone(), builds, now);
    let layout = admin_frame(layout, &format!("{} · Runners", runner.name));
    let assigned = found.assigned.iter().filter_map(|id| found.projects.iter().find(|project| project.id == *id));
    let link = |project: &Project| {
        let name = project.full_path();
        ProjectLink { url: ProjectLinks::new(&name).home().to_owned(), name }
    };
    let is_cut = i64::try_from(found.assigned.len()).is_ok_and(|count| count >= MAX_LISTED_PROJECTS);
    let more = if is_cut { "at least " } else { "" };
    AdminRunnerPage {
        layout,
        runner,
        projects: assigned.map(link).collect(),
        limit: is_cut.then(|| words::number(MAX_LISTED_PROJECTS)),
        project_count: format!("{more}{}", words::projects(found.assigned.len())),
        form: RunnerForm::new(url, links::all_runners().to_owned(), values, violations),
    }
}

#[derive(Template)]
#[template(path = "ci/admin_runner_token.html")]
pub struct AdminTokenPage {
    pub layout: Layout,
    pub list_url: &'static str,
    /// The address that resets the token.
    pub action: String,
    pub token: String,
    pub command: String,
}

/// Builds the page that shows the registration token of the instance.
pub fn admin_token_page(layout: Layout, token: String, site: &InstanceUrls) -> AdminTokenPage {
    let layout = admin_frame(layout, "Registration token · Runners");
    let command = registration_command(&site.url(""), &token);
    AdminTokenPage { layout, list_url: links::all_runners(), action: links::runner("token"), token, command }
}
