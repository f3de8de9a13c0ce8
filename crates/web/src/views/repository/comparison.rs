//! The form that compares two revisions, and the comparison.

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::browse::comparison_page::{ComparedRevisions, Comparison, ComparisonBase};

use super::commit_line::CommitLine;
use super::diff::{DiffAddress, DiffHead};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};

#[derive(Template)]
#[template(path = "repository/compare.html")]
pub struct ComparePage {
    pub layout: Layout,
    pub form_url: String,
    pub from: String,
    pub to: String,
    pub suggestions: Vec<String>,
    /// The revision that does not exist.
    pub unknown: Option<String>,
    pub comparison: Option<ComparisonView>,
}

/// The differences between two revisions.
pub struct ComparisonView {
    /// The address of the comparison in the other direction.
    pub swap_url: String,
    pub is_direct: bool,
    /// The address of the comparison with the other base.
    pub other_base_url: String,
    /// Whether the commits have pages of their own.
    pub are_linked: bool,
    pub commits: Vec<CommitLine>,
    pub has_more_commits: bool,
    pub diff: DiffHead,
}

/// Builds the form. `revisions` are those that were entered.
pub fn compare_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    revisions: Option<&ComparedRevisions>,
    suggestions: Vec<String>,
) -> ComparePage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = match revisions {
        Some(revisions) => format!("{} and {} · {}", revisions.from, revisions.to, project.full_path()),
        None => format!("Compare · {}", project.full_path()),
    };
    let default = suggestions.first().cloned().unwrap_or_default();
    ComparePage {
        layout,
        form_url: links.comparisons(),
        from: revisions.map_or(default, |revisions| revisions.from.clone()),
        to: revisions.map(|revisions| revisions.to.clone()).unwrap_or_default(),
        suggestions,
        unknown: None,
        comparison: None,
    }
}

/// Builds the comparison of two revisions.
pub fn comparison_view(
    revisions: &ComparedRevisions,
    comparison: &Comparison,
    address: &DiffAddress,
) -> ComparisonView {
    let ComparedRevisions { from, to, base } = revisions;
    let (operator, other) = match base {
        ComparisonBase::MergeBase => ("...", ".."),
        ComparisonBase::First => ("..", "..."),
    };
    let links = &address.links;
    let update = address.query();
    ComparisonView {
        swap_url: format!("{}{update}", links.compare(to, operator, from)),
        is_direct: *base == ComparisonBase::First,
        other_base_url: format!("{}{update}", links.compare(from, other, to)),
        are_linked: comparison.is_reachable,
        commits: comparison.commits.iter().map(|commit| CommitLine::with_date(commit, links)).collect(),
        has_more_commits: comparison.has_more_commits,
        diff: DiffHead::new(&comparison.changes, address),
    }
}
