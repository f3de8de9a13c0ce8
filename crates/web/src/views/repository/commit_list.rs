//! The commits of a revision, or those that changed a path, grouped by day.

use askama::Template;
use chrono::NaiveDate;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::browse::commit::Commit;

use super::commit_line::CommitLine;
use super::path::PathView;
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::words;

#[derive(Template)]
#[template(path = "repository/commits.html")]
pub struct CommitsPage {
    pub layout: Layout,
    pub path: PathView,
    pub days: Vec<CommitDay>,
    pub next_url: Option<String>,
}

/// The commits of one day, in the order of the history.
#[derive(Clone, Debug)]
pub struct CommitDay {
    pub date: String,
    pub commits: Vec<CommitRow>,
}

#[derive(Clone, Debug)]
pub struct CommitRow {
    pub line: CommitLine,
    pub tree_url: String,
}

/// Builds a list of commits. `next_url` leads to the commits that follow, if there are more.
pub fn commits_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    revision: &str,
    path: &str,
    commits: &[Commit],
    next_url: Option<String>,
) -> CommitsPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    layout.title = format!("Commits · {} at {revision}", project.full_path());
    let mut days: Vec<(NaiveDate, CommitDay)> = Vec::new();
    for commit in commits {
        let date = commit.committer.date.to_utc().date_naive();
        let row =
            CommitRow { line: CommitLine::with_date(commit, &links), tree_url: links.tree(&commit.id.to_string(), "") };
        match days.last_mut() {
            Some((day, group)) if *day == date => group.commits.push(row),
            _ => days.push((date, CommitDay { date: words::date(date), commits: vec![row] })),
        }
    }
    CommitsPage {
        layout,
        path: PathView::new(&project.name, &links, revision, path),
        days: days.into_iter().map(|(_, day)| day).collect(),
        next_url,
    }
}
