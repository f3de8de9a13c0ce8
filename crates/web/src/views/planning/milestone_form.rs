//! The forms that create and edit a milestone.

use askama::Template;
use chrono::NaiveDate;
use holdfast_app::planning::milestone::Milestone;
use holdfast_app::projects::project::Project;
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};

#[derive(Template)]
#[template(path = "planning/milestone_form.html")]
pub struct MilestoneFormPage {
    pub layout: Layout,
    /// The title of the milestone that is edited, or None for a new one.
    pub edited_title: Option<String>,
    pub action: String,
    pub cancel_url: String,
    pub errors: Vec<FormError>,
    pub title: FormField,
    pub description: FormField,
    pub start_date: FormField,
    pub due_date: FormField,
}

/// The values of the form: those of the milestone at first, and those that the user entered after a rejection.
#[derive(Clone, Debug, Default)]
pub struct MilestoneValues {
    pub title: String,
    pub description: String,
    pub start_date: String,
    pub due_date: String,
}

impl From<&Milestone> for MilestoneValues {
    fn from(milestone: &Milestone) -> Self {
        let date = |date: Option<NaiveDate>| date.map(|date| date.to_string()).unwrap_or_default();
        Self {
            title: milestone.title.clone(),
            description: milestone.description.clone().unwrap_or_default(),
            start_date: date(milestone.start_date),
            due_date: date(milestone.due_date),
        }
    }
}

/// Builds the form for a new milestone. `violations` is empty when it is shown at first.
pub fn new_milestone_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    values: MilestoneValues,
    violations: &Violations,
) -> MilestoneFormPage {
    let milestones = ProjectLinks::new(&project.full_path()).milestones();
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("New milestone · {}", project.full_path());
    form_page(layout, milestones.clone(), milestones, values, violations)
}

/// Builds the form of a milestone that exists.
pub fn milestone_form_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    milestone: &Milestone,
    values: MilestoneValues,
    violations: &Violations,
) -> MilestoneFormPage {
    let url = ProjectLinks::new(&project.full_path()).milestone(milestone.iid);
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Edit {} · Milestones · {}", milestone.title, project.full_path());
    let edited_title = Some(milestone.title.clone());
    MilestoneFormPage { edited_title, ..form_page(layout, url.clone(), url, values, violations) }
}

fn form_page(
    layout: Layout,
    action: String,
    cancel_url: String,
    values: MilestoneValues,
    violations: &Violations,
) -> MilestoneFormPage {
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let title = field("title", "Title", values.title);
    let description = field("description", "Description", values.description);
    let start_date = field("start_date", "Start date", values.start_date);
    let due_date = field("due_date", "Due date", values.due_date);
    let errors = form::errors([&title, &description, &start_date, &due_date]);
    let edited_title = None;
    MilestoneFormPage { layout, edited_title, action, cancel_url, errors, title, description, start_date, due_date }
}
