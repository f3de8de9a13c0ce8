//! The CI variables of a project, and the form of one.

use askama::Template;
use holdfast_app::ci::variable::{ListedVariable, ProjectVariable, ProjectVariables};
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::projects::settings_nav::SettingsNav;
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "ci/variables.html")]
pub struct VariablesPage {
    pub layout: Layout,
    pub nav: SettingsNav,
    /// The address that the form is sent to.
    pub action: String,
    pub variables: Vec<VariableRow>,
    pub pages: Pages,
    pub can_create: bool,
    pub errors: Vec<FormError>,
    pub key: FormField,
    pub value: FormField,
}

#[derive(Clone, Debug)]
pub struct VariableRow {
    pub key: String,
    pub url: String,
    /// Whether traces show the value: `masked`, `shown in traces`, or that it cannot be decrypted.
    pub note: &'static str,
}

/// The values of the form that creates a variable.
#[derive(Clone, Debug, Default)]
pub struct VariableValues {
    pub key: String,
    pub value: String,
}

/// Builds the list of variables with the form that creates one.
pub fn variables_page(
    layout: Layout,
    found: &ProjectVariables,
    abilities: Abilities,
    values: VariableValues,
    violations: &Violations,
) -> VariablesPage {
    let project = &found.project;
    let action = ProjectLinks::new(&project.full_path()).settings_page("variables");
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Variables · {}", project.full_path());
    let row = |variable: &ListedVariable| VariableRow {
        key: variable.key.clone(),
        url: format!("{action}/{}", variable.key),
        note: match variable.is_masked {
            Some(true) => "masked",
            Some(false) => "too short to be masked",
            None => "cannot be decrypted",
        },
    };
    let key = FormField::new("key", "Key", values.key).with_violations(violations);
    let value = FormField::new("value", "Value", values.value).with_violations(violations);
    VariablesPage {
        layout,
        nav: SettingsNav::new(project, abilities),
        variables: found.variables.items.iter().map(row).collect(),
        pages: Pages::new(&found.variables, &action, &[]),
        can_create: found.can_encrypt,
        errors: form::errors([&key, &value]),
        key,
        value,
        action,
    }
}

#[derive(Template)]
#[template(path = "ci/variable.html")]
pub struct VariablePage {
    pub layout: Layout,
    pub nav: SettingsNav,
    pub key: String,
    pub action: String,
    pub list_url: String,
    /// Whether the stored value could be decrypted.
    pub is_readable: bool,
    pub can_save: bool,
    pub errors: Vec<FormError>,
    pub value: FormField,
}

/// Builds the page that shows the value of a variable.
pub fn variable_page(
    layout: Layout,
    found: ProjectVariable,
    abilities: Abilities,
    violations: &Violations,
) -> VariablePage {
    let project = &found.project;
    let list_url = ProjectLinks::new(&project.full_path()).settings_page("variables");
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("{} · Variables · {}", found.key, project.full_path());
    let is_readable = found.value.is_some();
    let nav = SettingsNav::new(project, abilities);
    let value = FormField::new("value", "Value", found.value.unwrap_or_default()).with_violations(violations);
    VariablePage {
        layout,
        nav,
        action: format!("{list_url}/{}", found.key),
        list_url,
        key: found.key,
        is_readable,
        can_save: found.can_encrypt,
        errors: form::errors([&value]),
        value,
    }
}
