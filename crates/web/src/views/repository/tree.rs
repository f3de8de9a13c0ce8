//! The page of a directory.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::repository::browse::tree::Directory;

use super::archive_links::{ArchiveLink, archive_links};
use super::commit_line::CommitLine;
use super::file_form::AdditionLinks;
use super::path::PathView;
use super::readme::ReadmeView;
use super::ref_switch::{CodeView, RefSwitch};
use super::tree_row::{self, TreeRow};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, ProjectLinks, links};

#[derive(Template)]
#[template(path = "repository/tree.html")]
pub struct TreePage {
    pub layout: Layout,
    pub refs: RefSwitch,
    pub path: PathView,
    /// The last commit of the revision.
    pub commit: CommitLine,
    pub entries: Vec<TreeRow>,
    pub pages: Pages,
    pub last_commits: LastCommitsState,
    pub archives: Vec<ArchiveLink>,
    pub find_url: String,
    /// The address of the commits that changed the directory.
    pub commits_url: String,
    pub readme: Option<ReadmeView>,
    /// None if the viewer may not add files, or the revision is not a branch.
    pub additions: Option<AdditionLinks>,
}

/// Whether the last commits of all entries are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastCommitsState {
    Complete,
    /// A search that takes longer is offered at this address.
    Incomplete(String),
    /// The longer search has not found all of them, either.
    TooLong,
}

/// The parameter of the query that asks for all last commits, with its value.
pub const COMPLETE: (&str, &str) = ("last_commits", "complete");

/// Builds the page of a directory. `readme_html` is the README as sanitized HTML; without it, the text is shown.
/// `was_long` says that the viewer has asked for all last commits.
pub fn tree_page(
    layout: Layout,
    directory: &Directory,
    abilities: Abilities,
    readme_html: Option<String>,
    was_long: bool,
    now: DateTime<Utc>,
) -> TreePage {
    let (project, revision, path) = (&directory.project, directory.revision.as_str(), directory.path.as_str());
    let project_links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let place = if path.is_empty() { project.full_path() } else { format!("{path} · {}", project.full_path()) };
    layout.title = format!("{place} at {revision}");
    let url = project_links.tree(revision, path);
    let entries = tree_row::rows(&directory.entries.items, &directory.last_commits, &project_links, revision, now);
    let number = directory.entries.request.number();
    let page = if number > 1 { number.to_string() } else { String::new() };
    let has_all = directory.last_commits.is_complete || entries.iter().all(|row| row.last_commit.is_some());
    TreePage {
        layout,
        commit: CommitLine::with_age(&directory.commit, &project_links, now),
        last_commits: match was_long {
            _ if has_all => LastCommitsState::Complete,
            true => LastCommitsState::TooLong,
            false => LastCommitsState::Incomplete(format!("{url}{}", links::query(&[COMPLETE, ("page", &page)]))),
        },
        entries,
        pages: Pages::new(&directory.entries, &url, if was_long { &[COMPLETE] } else { &[] }),
        additions: (directory.is_branch && abilities.can_write_code)
            .then(|| AdditionLinks::new(&project_links, revision, path)),
        archives: archive_links(&project_links, revision),
        find_url: project_links.find(revision),
        commits_url: project_links.commits(revision, path),
        readme: directory.readme.as_ref().map(|it| ReadmeView::new(it, &project_links, revision, readme_html)),
        refs: RefSwitch::new(&project_links, directory.default_branch.as_ref(), CodeView::Tree, revision, path),
        path: PathView::new(&project.name, &project_links, revision, path),
    }
}
