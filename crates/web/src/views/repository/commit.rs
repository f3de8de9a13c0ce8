//! The page of a commit with its changes.

use askama::Template;
use holdfast_app::projects::project::Project;
use holdfast_app::repository::browse::commit::Commit;
use holdfast_app::repository::browse::compare::FileDiff;

use super::commit_line::{body, short_id, title};
use super::diff::{DiffTotals, FileView, file_views};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Person, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "repository/commit.html")]
pub struct CommitPage {
    pub layout: Layout,
    pub id: String,
    pub title: String,
    pub body: String,
    pub author: Person,
    pub authored: Time,
    /// The committer with the time of the commit, if it is another person than the author.
    pub committer: Option<(Person, Time)>,
    pub parents: Vec<CommitLink>,
    pub tree_url: String,
    pub totals: DiffTotals,
    pub files: Vec<FileView>,
    /// Whether the commit changes more than is shown.
    pub is_cut: bool,
}

/// The id of a commit with its address.
#[derive(Clone, Debug)]
pub struct CommitLink {
    pub short_id: String,
    pub url: String,
}

/// Builds the page of a commit. `is_cut` tells that `files` are not all files it changes.
pub fn commit_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    commit: &Commit,
    files: &[FileDiff],
    is_cut: bool,
) -> CommitPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let id = commit.id.to_string();
    layout.title = format!("{} · {}", title(&commit.message), project.full_path());
    let (files, totals) = file_views(files, &links, &id);
    let is_committer_other = commit.committer.email != commit.author.email;
    CommitPage {
        layout,
        title: title(&commit.message).to_owned(),
        body: body(&commit.message).to_owned(),
        author: Person::from_signature(&commit.author.name, &commit.author.email),
        authored: Time::date(commit.author.date.to_utc()),
        committer: is_committer_other.then(|| {
            let committer = &commit.committer;
            (Person::from_signature(&committer.name, &committer.email), Time::date(committer.date.to_utc()))
        }),
        parents: commit
            .parents
            .iter()
            .map(|parent| CommitLink { short_id: short_id(&parent.to_string()).to_owned(), url: links.commit(parent) })
            .collect(),
        tree_url: links.tree(&id, ""),
        id,
        totals,
        files,
        is_cut,
    }
}
