//! The runners of a project, one of them, and the registration token of the project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::project_runner::{
    AssignedRunner, CurrentBuild, MAX_COUNTED_PROJECTS, MAX_OTHER_RUNNERS, ProjectRunners,
};
use holdfast_app::ci::runner::Runner;
use holdfast_app::projects::project::Project;
use holdfast_domain::ids::RunnerId;
use holdfast_domain::{InstanceUrls, Violations};

use super::runner::{BuildLink, RunnerForm, RunnerRow, RunnerValues, registration_command};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::{Pages, ProjectLinks};
use crate::words;

#[derive(Template)]
#[template(path = "ci/runners.html")]
pub struct RunnersPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub assigned: Vec<RunnerRow>,
    pub pages: Pages,
    pub available: Vec<RunnerRow>,
    /// Whether more runners can be enabled than are listed.
    pub has_more_available: bool,
    pub shared: Vec<RunnerRow>,
    pub uses_shared_runners: bool,
    /// Whether there may be more shared runners than are listed.
    pub has_more_shared: bool,
    pub max_others: String,
    /// The command that registers a runner, without the token.
    pub command: String,
    /// The page of the registration token, if the viewer may see it.
    pub token_url: Option<String>,
}

/// Returns the links to the builds that a runner executes.
fn build_links(builds: &[CurrentBuild], runner: RunnerId, links: &ProjectLinks) -> Vec<BuildLink> {
    let own = builds.iter().filter(|build| build.runner_id == runner);
    own.map(|build| BuildLink { url: Some(links.build(build.id)), name: build.name.clone() }).collect()
}

/// Builds the page of the runners of a project.
pub fn runners_page(
    layout: Layout,
    found: &ProjectRunners,
    abilities: Abilities,
    site: &InstanceUrls,
    now: DateTime<Utc>,
) -> RunnersPage {
    let project = &found.project;
    let links = ProjectLinks::new(&project.full_path());
    let list_url = links.settings_page("runners");
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Runners · {}", project.full_path());
    let row = |runner: &Runner| {
        let builds = build_links(&found.builds, runner.id, &links);
        let can_disable = found.project_counts.get(&runner.id).is_some_and(|count| *count > 1);
        RunnerRow { can_disable, ..RunnerRow::new(runner, format!("{list_url}/{}", runner.id), builds, now) }
    };
    let rows = |runners: &[Runner]| runners.iter().map(row).collect::<Vec<_>>();
    let shared = rows(&found.shared);
    RunnersPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        assigned: rows(&found.assigned.items),
        pages: Pages::new(&found.assigned, &list_url, &[]),
        available: rows(&found.available.items),
        has_more_available: found.available.has_next,
        uses_shared_runners: project.features.shared_runners_enabled,
        has_more_shared: i64::try_from(shared.len()).is_ok_and(|count| count >= MAX_OTHER_RUNNERS),
        shared,
        max_others: words::number(MAX_OTHER_RUNNERS),
        command: registration_command(&site.url(""), "TOKEN"),
        token_url: found.can_see_token.then(|| format!("{list_url}/token")),
    }
}

#[derive(Template)]
#[template(path = "ci/runner.html")]
pub struct RunnerPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub runner: RunnerRow,
    /// The number of its projects, with their noun.
    pub projects: String,
    pub can_delete: bool,
    pub form: RunnerForm,
}

/// Builds the page of a runner that is assigned to a project.
pub fn runner_page(
    layout: Layout,
    found: &AssignedRunner,
    abilities: Abilities,
    values: RunnerValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> RunnerPage {
    let project = &found.project;
    let links = ProjectLinks::new(&project.full_path());
    let list_url = links.settings_page("runners");
    let url = format!("{list_url}/{}", found.runner.id);
    let builds = build_links(&found.builds, found.runner.id, &links);
    let can_disable = found.project_count > 1;
    let runner = RunnerRow { can_disable, ..RunnerRow::new(&found.runner, url.clone(), builds, now) };
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("{} · Runners · {}", runner.name, project.full_path());
    let more = if found.project_count >= MAX_COUNTED_PROJECTS { "at least " } else { "" };
    RunnerPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        runner,
        projects: format!("{more}{}", words::projects(found.project_count)),
        can_delete: found.can_delete,
        form: RunnerForm::new(url, list_url, values, violations),
    }
}

#[derive(Template)]
#[template(path = "ci/runner_token.html")]
pub struct RunnerTokenPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub list_url: String,
    /// Empty if the project has none.
    pub token: String,
    pub command: String,
}

/// Builds the page that shows the registration token of a project.
pub fn runner_token_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    site: &InstanceUrls,
) -> RunnerTokenPage {
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Registration token · {}", project.full_path());
    RunnerTokenPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        list_url: ProjectLinks::new(&project.full_path()).settings_page("runners"),
        token: project.runners_token.clone(),
        command: registration_command(&site.url(""), &project.runners_token),
    }
}
