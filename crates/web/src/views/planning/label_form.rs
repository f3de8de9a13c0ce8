//! The forms that create and edit a label.

use askama::Template;
use holdfast_app::planning::label::Label;
use holdfast_app::projects::project::Project;
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::words;

#[derive(Template)]
#[template(path = "planning/label_form.html")]
pub struct LabelFormPage {
    pub layout: Layout,
    /// The label that is edited, or None for a new one.
    pub label: Option<EditedLabel>,
    pub action: String,
    pub cancel_url: String,
    pub errors: Vec<FormError>,
    pub title: FormField,
    pub color: FormField,
    pub description: FormField,
    pub priority: FormField,
}

/// What the form says about a label that exists.
#[derive(Clone, Debug)]
pub struct EditedLabel {
    pub title: String,
    /// The number of its issues, with their noun.
    pub issues: String,
}

/// The values of the form: those of the label at first, and those that the user entered after a rejection.
#[derive(Clone, Debug)]
pub struct LabelValues {
    pub title: String,
    pub color: String,
    pub description: String,
    pub priority: String,
}

/// The values of the form for a new label.
impl Default for LabelValues {
    fn default() -> Self {
        let color = "#0d7a94".to_owned();
        Self { title: String::new(), color, description: String::new(), priority: String::new() }
    }
}

impl From<&Label> for LabelValues {
    fn from(label: &Label) -> Self {
        Self {
            title: label.title.clone(),
            color: label.color.clone(),
            description: label.description.clone().unwrap_or_default(),
            priority: label.priority.map(|priority| priority.to_string()).unwrap_or_default(),
        }
    }
}

/// Builds the form for a new label. `violations` is empty when it is shown at first.
pub fn new_label_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    values: LabelValues,
    violations: &Violations,
) -> LabelFormPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("New label · {}", project.full_path());
    form_page(layout, links.labels(), &links, values, violations)
}

/// Builds the form of a label that exists.
pub fn label_form_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    label: &Label,
    values: LabelValues,
    violations: &Violations,
) -> LabelFormPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Edit {} · Labels · {}", label.title, project.full_path());
    let issues = words::issues(i64::from(label.open_issues) + i64::from(label.closed_issues));
    let edited = EditedLabel { title: label.title.clone(), issues };
    LabelFormPage { label: Some(edited), ..form_page(layout, links.label(label.id), &links, values, violations) }
}

fn form_page(
    layout: Layout,
    action: String,
    links: &ProjectLinks,
    values: LabelValues,
    violations: &Violations,
) -> LabelFormPage {
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let title = field("title", "Title", values.title);
    let color = field("color", "Color", values.color);
    let description = field("description", "Description", values.description);
    let priority = field("priority", "Priority", values.priority);
    let errors = form::errors([&title, &color, &description, &priority]);
    let cancel_url = links.labels();
    LabelFormPage { layout, label: None, action, cancel_url, errors, title, color, description, priority }
}
