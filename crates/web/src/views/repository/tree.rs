//! The page of a directory.

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::browse::tree::TreeEntry;
use holdfast_domain::page::Page;

use super::commit_line::CommitLine;
use super::path::PathView;
use super::tree_row::{self, TreeRow};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "repository/tree.html")]
pub struct TreePage {
    pub layout: Layout,
    pub path: PathView,
    /// The last commit of the revision.
    pub commit: Option<CommitLine>,
    pub entries: Vec<TreeRow>,
    pub pages: Pages,
}

/// Builds the page of a directory. `path` is empty for the root directory.
pub fn tree_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    revision: &str,
    path: &str,
    entries: &Page<TreeEntry>,
    commit: Option<&Commit>,
) -> TreePage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let place = if path.is_empty() { project.full_path() } else { format!("{path} · {}", project.full_path()) };
    layout.title = format!("{place} at {revision}");
    TreePage {
        layout,
        commit: commit.map(|commit| CommitLine::with_date(commit, &links)),
        entries: tree_row::rows(&entries.items, &links, revision),
        pages: Pages::new(entries, &links.tree(revision, path), &[]),
        path: PathView::new(&project.name, &links, revision, path),
    }
}
