//! Runners as rows of lists, and the form of one.

use chrono::{DateTime, Utc};
use holdfast_app::ci::runner::{Runner, RunnerStatus};
use holdfast_domain::Violations;
use holdfast_domain::ids::RunnerId;

use crate::icons::{self, Icon};
use crate::views::form::{self, FormError, FormField};
use crate::views::status::StatusView;
use crate::words::{self, Time};

/// A runner with its state.
#[derive(Clone, Debug)]
pub struct RunnerRow {
    pub id: RunnerId,
    /// The description, or the number of a runner without one.
    pub name: String,
    /// The page of the runner, or the address that its forms are sent to.
    pub url: String,
    pub state: StatusView,
    pub is_active: bool,
    pub is_shared: bool,
    pub is_locked: bool,
    pub tags: Vec<String>,
    pub run_untagged: bool,
    /// The maximum duration of a build on the runner.
    pub max_duration: Option<String>,
    /// Name and version of the program, and the platform.
    pub program: String,
    pub last_contact: Option<Time>,
    pub created: Time,
    pub builds: Vec<BuildLink>,
    /// Whether the viewer may disable the runner for the project of the page. It has another project.
    pub can_disable: bool,
}

/// A build that a runner executes.
#[derive(Clone, Debug)]
pub struct BuildLink {
    /// None if the viewer may not open the build.
    pub url: Option<String>,
    pub name: String,
}

impl RunnerRow {
    pub fn new(runner: &Runner, url: String, builds: Vec<BuildLink>, now: DateTime<Utc>) -> Self {
        let description = runner.description.clone().filter(|text| !text.trim().is_empty());
        let info = &runner.info;
        let program = [&info.name, &info.version, &info.platform, &info.architecture];
        Self {
            id: runner.id,
            name: description.unwrap_or_else(|| format!("Runner {}", runner.id)),
            url,
            state: state(runner, now),
            is_active: runner.active,
            is_shared: runner.shared,
            is_locked: runner.locked,
            tags: runner.tags.clone(),
            run_untagged: runner.run_untagged,
            max_duration: runner.max_run_seconds.map(|seconds| words::duration(seconds.into())),
            program: program.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" "),
            last_contact: runner.contacted_at.map(|at| Time::ago(at, now)),
            created: Time::date(runner.created_at),
            builds,
            can_disable: false,
        }
    }
}

/// Returns whether a runner is paused, and otherwise whether it contacts the server.
fn state(runner: &Runner, now: DateTime<Utc>) -> StatusView {
    let state = |icon: Icon, color, text| StatusView { icon: icon.colored(color), color, text };
    match RunnerStatus::of(runner, now) {
        _ if !runner.active => state(icons::SKIPPED, "off", "paused"),
        RunnerStatus::Online => state(icons::PASSED, "ok", "online"),
        RunnerStatus::Offline => state(icons::FAILED, "bad", "offline"),
        RunnerStatus::Stale => state(icons::WARNING, "wait", "offline for a week"),
        RunnerStatus::NeverContacted => state(icons::CREATED, "off", "never online"),
    }
}

/// The values of the form: those of the runner at first, and those that the user entered after a rejection.
#[derive(Clone, Debug)]
pub struct RunnerValues {
    pub description: String,
    /// Tags, separated by commas.
    pub tags: String,
    pub active: bool,
    pub run_untagged: bool,
    pub locked: bool,
}

impl From<&Runner> for RunnerValues {
    fn from(runner: &Runner) -> Self {
        Self {
            description: runner.description.clone().unwrap_or_default(),
            tags: runner.tags.join(", "),
            active: runner.active,
            run_untagged: runner.run_untagged,
            locked: runner.locked,
        }
    }
}

/// The form of a runner, as `parts/runner.html` shows it.
#[derive(Clone, Debug)]
pub struct RunnerForm {
    pub action: String,
    pub cancel_url: String,
    pub errors: Vec<FormError>,
    pub description: FormField,
    pub tags: FormField,
    pub active: bool,
    pub run_untagged: bool,
    pub locked: bool,
}

impl RunnerForm {
    pub fn new(action: String, cancel_url: String, values: RunnerValues, violations: &Violations) -> Self {
        let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
        let description = field("description", "Description", values.description);
        // The use case reports the field with this name.
        let tags = field("tags_list", "Tags", values.tags);
        let errors = form::errors([&description, &tags]);
        let RunnerValues { active, run_untagged, locked, .. } = values;
        Self { action, cancel_url, errors, description, tags, active, run_untagged, locked }
    }
}

/// Returns the command that registers a runner.
pub fn registration_command(server_url: &str, token: &str) -> String {
    format!("holdfast runner register --url {server_url} --registration-token {token}")
}
