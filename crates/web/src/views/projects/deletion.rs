//! The form that deletes a project.

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_domain::Violations;

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};

#[derive(Template)]
#[template(path = "projects/deletion.html")]
pub struct ProjectDeletionPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub action: String,
    pub cancel_url: String,
    /// The text that confirms the deletion.
    pub path: String,
    pub open_issues: i32,
    pub star_count: i32,
    pub fork_count: i32,
    pub errors: Vec<FormError>,
    pub confirm: FormField,
}

/// Builds the form.
pub fn project_deletion_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    typed: String,
    violations: &Violations,
) -> ProjectDeletionPage {
    let path = project.full_path();
    let links = ProjectLinks::new(&path);
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Delete · {path}");
    let confirm = FormField::new("confirm_path", "Path of the project", typed).with_violations(violations);
    ProjectDeletionPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        action: links.settings_page("delete_project"),
        cancel_url: links.settings(),
        path,
        open_issues: project.open_issues(true),
        star_count: project.star_count,
        fork_count: project.forks_count,
        errors: form::errors([&confirm]),
        confirm,
    }
}
