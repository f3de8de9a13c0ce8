//! The list of branches.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::repository::refs::branch::{Branch, ProjectBranches};

use super::commit_line::CommitLine;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::form::FormField;
use crate::views::links::query;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "repository/branches.html")]
pub struct BranchesPage {
    pub layout: Layout,
    pub branches: Vec<BranchRow>,
    pub pages: Pages,
    pub abilities: Abilities,
    pub url: String,
    pub name: FormField,
    pub from: FormField,
    /// Whether the form for a new branch is open at first.
    pub is_form_open: bool,
}

/// The values of the form for a new branch. They are empty at first.
#[derive(Clone, Debug, Default)]
pub struct BranchValues {
    pub name: String,
    pub from: String,
    pub is_open: bool,
}

#[derive(Clone, Debug)]
pub struct BranchRow {
    pub name: String,
    pub url: String,
    pub commit: CommitLine,
    pub is_default: bool,
    /// Who may push, if the branch is protected.
    pub protection: Option<&'static str>,
    pub developers_can_push: bool,
    pub developers_can_merge: bool,
    pub can_delete: bool,
    /// The form that proposes the branch for the default branch.
    pub propose_url: Option<String>,
}

/// Builds the list of branches.
pub fn branches_page(
    layout: Layout,
    found: &ProjectBranches,
    abilities: Abilities,
    values: BranchValues,
    now: DateTime<Utc>,
) -> BranchesPage {
    let project = &found.project;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Branches · {}", project.full_path());
    let default_branch = project.repository.default_branch();
    let propose_url = |name: &str| {
        let target = default_branch.filter(|default| abilities.can_create_merge_requests && *default != name)?;
        Some(format!("{}{}", links.new_merge_request(), query(&[("source", name), ("target", target)])))
    };
    let row = |branch: &Branch| {
        let (protection, is_default) = (branch.protection, default_branch == Some(branch.name.as_str()));
        BranchRow {
            name: branch.name.clone(),
            url: links.tree(&found.refs.branch(&branch.name).unwrap_or_else(|| branch.name.clone()), ""),
            commit: CommitLine::with_age(&branch.commit, &links, now),
            is_default,
            protection: protection.is_protected.then_some(if protection.developers_can_push {
                "Developers and masters can push"
            } else {
                "Masters can push"
            }),
            developers_can_push: protection.developers_can_push,
            developers_can_merge: protection.developers_can_merge,
            can_delete: abilities.can_write_code && !is_default && !protection.is_protected,
            propose_url: propose_url(&branch.name),
        }
    };
    let rows = found.branches.items.iter().map(row).collect();
    let from = if values.from.is_empty() { default_branch.unwrap_or_default().to_owned() } else { values.from };
    BranchesPage {
        layout,
        branches: rows,
        pages: Pages::new(&found.branches, &links.branches(), &[]),
        abilities,
        url: links.branches(),
        name: FormField::new("name", "Name", values.name),
        from: FormField::new("from", "Create from", from),
        is_form_open: values.is_open,
    }
}
