//! The job token allow list of a project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::ci::job_token_allowlist::{AllowedProject, ProjectAllowlist};
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::{Pages, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "ci/job_token_allowlist.html")]
pub struct AllowlistPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    /// The address that the form is sent to.
    pub action: String,
    pub allowed: Vec<AllowedRow>,
    pub pages: Pages,
    pub errors: Vec<FormError>,
    pub source: FormField,
}

#[derive(Clone, Debug)]
pub struct AllowedRow {
    pub id: i64,
    /// The path of the project, or its number if the viewer may not see it.
    pub name: String,
    /// None if the viewer may not see the project.
    pub url: Option<String>,
    pub added: Time,
}

/// Builds the list with the form that adds a project.
pub fn allowlist_page(
    layout: Layout,
    found: &ProjectAllowlist,
    abilities: Abilities,
    source: String,
    violations: &Violations,
    now: DateTime<Utc>,
) -> AllowlistPage {
    let project = &found.project;
    let action = ProjectLinks::new(&project.full_path()).settings_page("job_token");
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Job token · {}", project.full_path());
    let row = |entry: &AllowedProject| {
        let path = found.visible.iter().find(|project| project.id == entry.id).map(|project| project.full_path());
        AllowedRow {
            id: entry.id.get(),
            url: path.as_ref().map(|path| ProjectLinks::new(path).home().to_owned()),
            name: path.unwrap_or_else(|| format!("Project {}", entry.id)),
            added: Time::ago(entry.created_at, now),
        }
    };
    let source = FormField::new("source", "Project", source).with_violations(violations);
    AllowlistPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        allowed: found.allowed.items.iter().map(row).collect(),
        pages: Pages::new(&found.allowed, &action, &[]),
        errors: form::errors([&source]),
        source,
        action,
    }
}
