//! The forms that create and edit an issue.

use askama::Template;
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::issue_form::{FormChoices, IssueFields, IssueForm};
use holdfast_app::planning::label::Label;
use holdfast_domain::Violations;

use super::choices::{PersonChoice, people};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::prose::Prose;

#[derive(Template)]
#[template(path = "planning/issue_form.html")]
pub struct IssueFormPage {
    pub layout: Layout,
    /// The number of the issue that is edited, or None for a new one.
    pub iid: Option<i64>,
    pub action: String,
    pub cancel_url: String,
    pub preview_url: String,
    pub errors: Vec<FormError>,
    pub title: FormField,
    pub description: FormField,
    pub preview: Option<Prose>,
    pub due_date: FormField,
    pub confidentiality: Confidentiality,
    /// The fields for viewers who manage issues.
    pub managed: Option<ManagedFields>,
}

/// The field of a confidential issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidentiality {
    /// A box, and whether it is checked.
    Choice(bool),
    /// The issue stays confidential, because the viewer may not publish it.
    Fixed,
}

/// The fields that only viewers who manage issues or merge requests may set.
#[derive(Clone, Debug)]
pub struct ManagedFields {
    pub labels: Vec<LabelBox>,
    pub other_labels: FormField,
    pub assignee: FormField,
    pub people: Vec<PersonChoice>,
    pub milestone: FormField,
    /// The titles of the milestones that are offered.
    pub milestones: Vec<String>,
}

/// What was entered in the fields for viewers who manage issues or merge requests.
#[derive(Clone, Copy, Debug)]
pub struct EnteredFields<'a> {
    pub labels: &'a [String],
    pub assignee: &'a str,
    pub milestone: &'a str,
}

impl ManagedFields {
    pub fn new(choices: &FormChoices, entered: &EnteredFields<'_>, violations: &Violations) -> Self {
        // The use case names some fields as the API does.
        let field = |name, key, label, value: &str| {
            let error = FormField::new(key, label, "").with_violations(violations).error;
            FormField { error, ..FormField::new(name, label, value) }
        };
        let EnteredFields { labels, assignee, milestone } = *entered;
        let is_offered = |title: &&String| choices.labels.iter().any(|label| label.title == **title);
        let others: Vec<&str> = labels.iter().filter(|title| !is_offered(title)).map(String::as_str).collect();
        let label = |label: &Label| LabelBox {
            title: label.title.clone(),
            color: label.color.clone(),
            is_checked: labels.contains(&label.title),
        };
        let mut milestones: Vec<String> = choices.milestones.iter().map(|milestone| milestone.title.clone()).collect();
        // The milestone may be closed, or not among the first.
        if !milestone.is_empty() && !milestones.iter().any(|title| title == milestone) {
            milestones.insert(0, milestone.to_owned());
        }
        Self {
            labels: choices.labels.iter().map(label).collect(),
            other_labels: field("other_labels", "labels", "Other labels", &others.join(", ")),
            assignee: field("assignee", "assignee_id", "Assignee", assignee),
            people: people(&choices.people),
            milestone: field("milestone", "milestone_id", "Milestone", milestone),
            milestones,
        }
    }

    /// Returns the fields, in their order on the page.
    pub const fn fields(&self) -> [&FormField; 3] {
        [&self.other_labels, &self.assignee, &self.milestone]
    }
}

/// A label that can be chosen.
#[derive(Clone, Debug)]
pub struct LabelBox {
    pub title: String,
    pub color: String,
    pub is_checked: bool,
}

/// What the page of a form shows.
pub struct IssueFormInput<'a> {
    pub form: &'a IssueForm,
    /// What the fields contain: the values of the issue at first, and then what the user entered.
    pub fields: &'a IssueFields,
    pub violations: &'a Violations,
    /// The description as it will look, if that was requested.
    pub preview: Option<Prose>,
}

/// Returns the fields of an issue that is edited.
pub fn values_of(issue: &Issue) -> IssueFields {
    IssueFields {
        title: issue.title.clone(),
        description: issue.description.clone().unwrap_or_default(),
        labels: issue.labels.clone(),
        assignee: issue.assignee.as_ref().map(|user| user.username.clone()).unwrap_or_default(),
        milestone: issue.milestone.as_ref().map(|milestone| milestone.title.clone()).unwrap_or_default(),
        due_date: issue.due_date.map(|date| date.to_string()).unwrap_or_default(),
        is_confidential: issue.confidential,
    }
}

/// Builds the form.
pub fn issue_form_page(layout: Layout, abilities: Abilities, input: IssueFormInput<'_>) -> IssueFormPage {
    let IssueFormInput { form: IssueForm { project, issue, choices, .. }, fields, violations, preview } = input;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = match issue {
        Some(issue) => format!("Edit #{} · {}", issue.iid, project.full_path()),
        None => format!("New issue · {}", project.full_path()),
    };
    let field = |name, label, value: &str| FormField::new(name, label, value).with_violations(violations);
    let title = field("title", "Title", &fields.title);
    let description = field("description", "Description", &fields.description);
    let due_date = field("due_date", "Due date", &fields.due_date);
    let managed = abilities.can_manage_issues.then(|| {
        let IssueFields { labels, assignee, milestone, .. } = fields;
        ManagedFields::new(choices, &EnteredFields { labels, assignee, milestone }, violations)
    });
    let mut shown = vec![&title, &description];
    if let Some(managed) = &managed {
        shown.extend(managed.fields());
    }
    shown.push(&due_date);
    let errors = form::errors(shown);
    let is_fixed = issue.as_ref().is_some_and(|issue| issue.confidential) && !abilities.can_manage_issues;
    IssueFormPage {
        layout,
        iid: issue.as_ref().map(|issue| issue.iid),
        action: issue.as_ref().map_or_else(|| links.issues(), |issue| links.issue(issue.iid)),
        cancel_url: issue.as_ref().map_or_else(|| links.issues(), |issue| links.issue(issue.iid)),
        preview_url: links.preview(),
        errors,
        title,
        description,
        preview,
        due_date,
        confidentiality: if is_fixed {
            Confidentiality::Fixed
        } else {
            Confidentiality::Choice(fields.is_confidential)
        },
        managed,
    }
}
