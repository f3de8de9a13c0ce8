//! The list of branches.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::projects::project::Project;
use holdfast_app::repository::refs::branch::Branch;
use holdfast_app::repository::refs::ref_address::RefAddresses;
use holdfast_domain::page::Page;

use super::commit_line::CommitLine;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "repository/branches.html")]
pub struct BranchesPage {
    pub layout: Layout,
    pub branches: Vec<BranchRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct BranchRow {
    pub name: String,
    pub url: String,
    pub commit: CommitLine,
    pub is_default: bool,
    /// Who may push, if the branch is protected.
    pub protection: Option<&'static str>,
}

/// Builds the list of branches. The default branch comes first on its page.
pub fn branches_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    branches: &Page<Branch>,
    refs: &RefAddresses,
    now: DateTime<Utc>,
) -> BranchesPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Branches · {}", project.full_path());
    let default_branch = project.repository.default_branch();
    let row = |branch: &Branch| BranchRow {
        name: branch.name.clone(),
        url: links.tree(&refs.branch(&branch.name).unwrap_or_else(|| branch.name.clone()), ""),
        commit: CommitLine::with_age(&branch.commit, &links, now),
        is_default: default_branch == Some(branch.name.as_str()),
        protection: branch.protection.is_protected.then_some(if branch.protection.developers_can_push {
            "Developers and masters can push"
        } else {
            "Masters can push"
        }),
    };
    let mut rows: Vec<BranchRow> = branches.items.iter().map(row).collect();
    rows.sort_by_key(|branch| !branch.is_default);
    BranchesPage { layout, branches: rows, pages: Pages::new(branches, &links.branches(), &[]) }
}
