//! The pages that ask before an issue is deleted or moved.

use askama::Template;
use holdfast_app::planning::issue_action::ProjectIssue;
use holdfast_domain::Violations;

use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::form::{self, FormError, FormField};
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::words;

#[derive(Template)]
#[template(path = "planning/issue_delete.html")]
pub struct IssueDeletePage {
    pub layout: Layout,
    pub iid: i64,
    pub title: String,
    /// The number of comments, with their noun.
    pub notes: String,
    pub action: String,
    pub issue_url: String,
}

/// Builds the page that asks before an issue is deleted.
pub fn issue_delete_page(layout: Layout, abilities: Abilities, found: &ProjectIssue) -> IssueDeletePage {
    let ProjectIssue { project, issue } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Delete #{} · {}", issue.iid, project.full_path());
    IssueDeletePage {
        layout,
        iid: issue.iid,
        title: issue.title.clone(),
        notes: words::comments(issue.notes_count),
        action: links.issue_action(issue.iid, "delete"),
        issue_url: links.issue(issue.iid),
    }
}

#[derive(Template)]
#[template(path = "planning/issue_move.html")]
pub struct IssueMovePage {
    pub layout: Layout,
    pub iid: i64,
    pub title: String,
    pub action: String,
    pub issue_url: String,
    pub target: FormField,
    pub errors: Vec<FormError>,
}

/// Builds the form that moves an issue, with the path of the project that was entered.
pub fn issue_move_page(
    layout: Layout,
    abilities: Abilities,
    found: &ProjectIssue,
    target: &str,
    violations: &Violations,
) -> IssueMovePage {
    let ProjectIssue { project, issue } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Move #{} · {}", issue.iid, project.full_path());
    let target = FormField::new("target", "Project", target).with_violations(violations);
    IssueMovePage {
        layout,
        iid: issue.iid,
        title: issue.title.clone(),
        action: links.issue_action(issue.iid, "move"),
        issue_url: links.issue(issue.iid),
        errors: form::errors([&target]),
        target,
    }
}
