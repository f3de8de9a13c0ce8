//! The settings of a group, and the form that deletes it.

use askama::Template;
use holdfast_app::namespaces::group::Group;
use holdfast_app::namespaces::group_settings::{GroupSettings, MAX_COUNTED_PROJECTS};
use holdfast_domain::{Violations, Visibility};

use super::frame::{GroupTab, group_frame};
use crate::abilities::GroupAbilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::links;
use crate::views::visibility::VisibilityView;
use crate::views::visibility_choice::VisibilityChoice;
use crate::words;

#[derive(Template)]
#[template(path = "namespaces/settings.html")]
pub struct GroupSettingsPage {
    pub layout: Layout,
    pub action: String,
    pub errors: Vec<FormError>,
    pub name: FormField,
    pub path: FormField,
    pub description: FormField,
    pub visibility: VisibilityChoice,
    /// Why the group cannot have some of the visibilities.
    pub limits: Vec<String>,
    pub accepts_requests: bool,
    /// The address of the form that deletes the group, if the viewer may.
    pub delete_url: Option<String>,
    pub consequence: String,
}

/// The values of the form: those of the group at first, and those that the user entered after a rejection.
#[derive(Clone, Debug)]
pub struct GroupSettingsValues {
    pub name: String,
    pub path: String,
    pub description: String,
    pub visibility: Visibility,
    pub accepts_requests: bool,
}

impl From<&Group> for GroupSettingsValues {
    fn from(group: &Group) -> Self {
        Self {
            name: group.name.clone(),
            path: group.path.clone(),
            description: group.description.clone(),
            visibility: group.visibility,
            accepts_requests: group.request_access_enabled,
        }
    }
}

/// Builds the form.
pub fn group_settings_page(
    layout: Layout,
    found: &GroupSettings,
    abilities: GroupAbilities,
    values: GroupSettingsValues,
    violations: &Violations,
) -> GroupSettingsPage {
    let path = &found.group.path;
    let mut layout = group_frame(layout, &found.group, abilities, GroupTab::Settings);
    layout.title = format!("Settings · {}", found.group.name);
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let visibility = VisibilityChoice::new(values.visibility, violations);
    let name = field("name", "Name", values.name);
    let path_field = field("path", "Path", values.path);
    let description = field("description", "Description", values.description);
    GroupSettingsPage {
        layout,
        action: links::group_page(path, "settings"),
        errors: form::errors([&name, &path_field, &description, &visibility.field]),
        name,
        path: path_field,
        description,
        visibility,
        limits: limits(found),
        accepts_requests: values.accepts_requests,
        delete_url: abilities.can_delete.then(|| links::group_page(path, "settings/delete_group")),
        consequence: deletion_consequence(found),
    }
}

/// Returns why the group cannot become less visible: its projects are never more visible than the group.
fn limits(found: &GroupSettings) -> Vec<String> {
    let lower = Visibility::ALL.into_iter().filter(|visibility| *visibility < found.group.visibility);
    let limit = |visibility: Visibility| {
        let count = found.count_more_visible_than(visibility);
        let level = VisibilityView::from(visibility).text;
        (count > 0).then(|| format!("{level} is possible when {} less visible.", projects_become(count)))
    };
    lower.filter_map(limit).collect()
}

fn projects_become(count: i64) -> String {
    let verb = if count == 1 { "has become" } else { "have become" };
    format!("{} {verb}", words::projects(count))
}

/// Returns what is deleted with the group.
fn deletion_consequence(found: &GroupSettings) -> String {
    let projects = match found.project_count() {
        0 => "It has no projects.".to_owned(),
        MAX_COUNTED_PROJECTS => format!("{} and more are deleted with it.", words::projects(MAX_COUNTED_PROJECTS)),
        1 => "1 project is deleted with it.".to_owned(),
        count => format!("{} are deleted with it.", words::projects(count)),
    };
    format!("The group is deleted with its memberships and shares. {projects} It cannot be restored.")
}

#[derive(Template)]
#[template(path = "namespaces/deletion.html")]
pub struct GroupDeletionPage {
    pub layout: Layout,
    pub action: String,
    pub cancel_url: String,
    /// The text that confirms the deletion.
    pub path: String,
    pub consequence: String,
    pub errors: Vec<FormError>,
    pub confirm: FormField,
}

/// Builds the form that deletes a group.
pub fn group_deletion_page(
    layout: Layout,
    found: &GroupSettings,
    abilities: GroupAbilities,
    typed: String,
    violations: &Violations,
) -> GroupDeletionPage {
    let path = &found.group.path;
    let mut layout = group_frame(layout, &found.group, abilities, GroupTab::Settings);
    layout.title = format!("Delete · {}", found.group.name);
    let confirm = FormField::new("confirm_path", "Path of the group", typed).with_violations(violations);
    GroupDeletionPage {
        layout,
        action: links::group_page(path, "settings/delete_group"),
        cancel_url: links::group_page(path, "settings"),
        path: path.clone(),
        consequence: deletion_consequence(found),
        errors: form::errors([&confirm]),
        confirm,
    }
}
