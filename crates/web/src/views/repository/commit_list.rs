//! The commits of a revision, or those that changed a path, grouped by day.

use askama::Template;
use chrono::NaiveDate;
use holdfast_app::repository::browse::commit_list::{CommitList, CommitPipeline};

use super::commit_line::CommitLine;
use super::path::PathView;
use super::ref_switch::{CodeView, RefSwitch};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::status::StatusView;
use crate::views::{ProjectLinks, links};
use crate::words;

#[derive(Template)]
#[template(path = "repository/commits.html")]
pub struct CommitsPage {
    pub layout: Layout,
    pub refs: RefSwitch,
    pub path: PathView,
    /// The address of the form that compares two revisions.
    pub compare_url: String,
    /// The address of the first page, if this is not the first page.
    pub first_url: Option<String>,
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
    pub pipeline: Option<PipelineLink>,
}

/// The status of a pipeline with its address.
#[derive(Clone, Debug)]
pub struct PipelineLink {
    pub id: i64,
    pub url: String,
    pub status: StatusView,
}

impl PipelineLink {
    pub fn new(pipeline: &CommitPipeline, links: &ProjectLinks) -> Self {
        let id = pipeline.id.get();
        Self { id, url: links.pipeline(id), status: pipeline.status.into() }
    }
}

/// Builds a list of commits. `after` is the id of the commit that precedes them, unless they are the newest.
pub fn commits_page(layout: Layout, abilities: Abilities, list: &CommitList, after: Option<&str>) -> CommitsPage {
    let CommitList { project, revision, path, commits, pipelines, has_more, default_branch } = list;
    let project_links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let subject = if path.is_empty() { "Commits".to_owned() } else { format!("History of {path}") };
    layout.title = format!("{subject} · {} at {revision}", project.full_path());
    let mut days: Vec<(NaiveDate, CommitDay)> = Vec::new();
    for commit in commits {
        let date = commit.committer.date.to_utc().date_naive();
        let id = commit.id.to_string();
        let row = CommitRow {
            line: CommitLine::with_date(commit, &project_links),
            pipeline: pipelines.get(&id).map(|pipeline| PipelineLink::new(pipeline, &project_links)),
            tree_url: project_links.tree(&id, ""),
        };
        match days.last_mut() {
            Some((day, group)) if *day == date => group.commits.push(row),
            _ => days.push((date, CommitDay { date: words::date(date), commits: vec![row] })),
        }
    }
    let url = project_links.commits(revision, path);
    let last = commits.last().filter(|_| *has_more).map(|commit| commit.id.to_string());
    CommitsPage {
        layout,
        refs: RefSwitch::new(&project_links, default_branch.as_ref(), CodeView::Commits, revision, path),
        path: PathView::new(&project.name, &project_links, revision, path),
        days: days.into_iter().map(|(_, day)| day).collect(),
        next_url: last.map(|id| format!("{url}{}", links::query(&[("after", &id)]))),
        first_url: after.map(|_| url),
        compare_url: project_links.comparisons(),
    }
}
