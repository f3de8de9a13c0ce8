//! The general settings of a project.

use askama::Template;
use holdfast_app::projects::project::{FeatureChanges, Project};
use holdfast_domain::{Violations, Visibility};

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::visibility_choice::VisibilityChoice;

#[derive(Template)]
#[template(path = "projects/settings.html")]
pub struct SettingsPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub abilities: Abilities,
    pub action: String,
    pub archive_action: String,
    pub transfer_url: String,
    pub delete_url: String,
    pub is_archived: bool,
    pub has_branches: bool,
    pub errors: Vec<FormError>,
    pub name: FormField,
    pub path: FormField,
    pub description: FormField,
    pub default_branch: FormField,
    pub visibility: VisibilityChoice,
    pub features: Vec<FeatureBox>,
}

/// A box of the form.
#[derive(Clone, Debug)]
pub struct FeatureBox {
    pub name: &'static str,
    pub label: &'static str,
    pub meaning: &'static str,
    pub is_checked: bool,
}

/// The values of the form: those of the project at first, and those that the user entered after a rejection.
#[derive(Clone, Debug)]
pub struct SettingsValues {
    pub name: String,
    pub path: String,
    pub description: String,
    pub default_branch: String,
    pub visibility: Visibility,
    pub features: FeatureChanges,
}

impl From<&Project> for SettingsValues {
    fn from(project: &Project) -> Self {
        let features = project.features;
        Self {
            name: project.name.clone(),
            path: project.path.clone(),
            description: project.description.clone().unwrap_or_default(),
            default_branch: project.repository.default_branch().unwrap_or_default().to_owned(),
            visibility: project.visibility,
            features: FeatureChanges {
                issues_enabled: Some(features.issues_enabled),
                builds_enabled: Some(features.builds_enabled),
                shared_runners_enabled: Some(features.shared_runners_enabled),
                public_builds: Some(features.public_builds),
                request_access_enabled: Some(features.request_access_enabled),
                only_allow_merge_if_build_succeeds: Some(features.only_allow_merge_if_build_succeeds),
                only_allow_merge_if_all_discussions_are_resolved: Some(
                    features.only_allow_merge_if_all_discussions_are_resolved,
                ),
                ..FeatureChanges::default()
            },
        }
    }
}

fn feature_boxes(features: FeatureChanges) -> Vec<FeatureBox> {
    let row = |name, label, meaning, value: Option<bool>| FeatureBox {
        name,
        label,
        meaning,
        is_checked: value.unwrap_or_default(),
    };
    vec![
        row("issues_enabled", "Issues", "with the board, labels and milestones", features.issues_enabled),
        row("builds_enabled", "Pipelines", "pushes start the builds of .gitlab-ci.yml", features.builds_enabled),
        row(
            "shared_runners_enabled",
            "Shared runners",
            "runners of the instance execute the builds",
            features.shared_runners_enabled,
        ),
        row("public_builds", "Public builds", "all who can read the code also see builds", features.public_builds),
        row(
            "request_access_enabled",
            "Requests for access",
            "users who are not members may ask to become one",
            features.request_access_enabled,
        ),
        row(
            "only_allow_merge_if_build_succeeds",
            "Merge only after a successful pipeline",
            "the pipeline of the last commit of a merge request must succeed",
            features.only_allow_merge_if_build_succeeds,
        ),
        row(
            "only_allow_merge_if_all_discussions_are_resolved",
            "Merge only without open discussions",
            "all discussions of a merge request must be resolved",
            features.only_allow_merge_if_all_discussions_are_resolved,
        ),
    ]
}

/// Builds the form.
pub fn settings_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    values: SettingsValues,
    violations: &Violations,
) -> SettingsPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Settings · {}", project.full_path());
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let name = field("name", "Name", values.name);
    // The path of the page has a parameter `project`, and the use case reports the field `path`.
    let path = FormField { name: "new_path", ..field("path", "Path", values.path) };
    let description = field("description", "Description", values.description);
    let default_branch = field("default_branch", "Default branch", values.default_branch);
    let visibility = VisibilityChoice::new(values.visibility, violations);
    let errors = form::errors([&name, &path, &description, &default_branch, &visibility.field]);
    SettingsPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        abilities,
        action: links.settings(),
        archive_action: links.settings_page(if project.archived { "unarchive" } else { "archive" }),
        transfer_url: links.settings_page("transfer"),
        delete_url: links.settings_page("delete_project"),
        is_archived: project.archived,
        has_branches: project.repository.head.is_some(),
        errors,
        name,
        path,
        description,
        default_branch,
        visibility,
        features: feature_boxes(values.features),
    }
}
