//! The page of a commit with its changes.

use askama::Template;
use holdfast_app::ci::build::Build;
use holdfast_app::repository::browse::commit_page;

use super::commit_line::{body, short_id, title};
use super::commit_list::PipelineLink;
use super::diff::{DiffAddress, DiffHead};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::status::StatusView;
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
    pub parents: Vec<TextLink>,
    /// Whether a ref reaches the commit, so that its parents have pages.
    pub is_reachable: bool,
    /// The first branches and tags that contain the commit.
    pub branches: Vec<TextLink>,
    pub tags: Vec<TextLink>,
    /// The number of branches and tags that contain the commit and are not listed.
    pub more_refs: usize,
    /// Whether not all refs were searched.
    pub is_search_partial: bool,
    pub pipeline: Option<PipelineLink>,
    pub statuses: Vec<StatusRow>,
    /// The address of the files, if a ref reaches the commit.
    pub tree_url: Option<String>,
    pub patch_url: String,
    pub diff_url: String,
    pub is_merge: bool,
    pub diff: DiffHead,
}

/// A short text with its address.
#[derive(Clone, Debug)]
pub struct TextLink {
    pub text: String,
    pub url: String,
}

/// A status of the commit: a build, or the status of another system.
#[derive(Clone, Debug)]
pub struct StatusRow {
    pub name: String,
    pub status: StatusView,
    pub description: Option<String>,
    pub url: Option<String>,
    pub is_external: bool,
}

/// Number of branches, and of tags, that are listed.
const MAX_REFS: usize = 10;

/// Builds the page of a commit. `address` is that of its diff.
pub fn commit_page(
    layout: Layout,
    abilities: Abilities,
    found: &commit_page::CommitPage,
    address: &DiffAddress,
) -> CommitPage {
    let commit_page::CommitPage { project, commit, refs, .. } = found;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Code);
    let id = commit.id.to_string();
    layout.title = format!("{} · {}", title(&commit.message), project.full_path());
    let is_committer_other = commit.committer.email != commit.author.email;
    let ref_links = |names: &[(String, String)]| {
        let first = names.iter().take(MAX_REFS);
        first.map(|(name, address)| TextLink { text: name.clone(), url: links.tree(address, "") }).collect::<Vec<_>>()
    };
    let (branches, tags) = (ref_links(&refs.branches), ref_links(&refs.tags));
    let update = address.query();
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
            .map(|parent| TextLink { text: short_id(&parent.to_string()).to_owned(), url: links.commit(parent) })
            .collect(),
        more_refs: refs.branches.len() + refs.tags.len() - branches.len() - tags.len(),
        branches,
        tags,
        is_search_partial: refs.is_partial,
        pipeline: found.pipeline.as_ref().map(|pipeline| PipelineLink::new(pipeline, &links)),
        statuses: found.statuses.items.iter().map(|status| status_row(status, &links)).collect(),
        tree_url: address.revision.as_deref().map(|revision| links.tree(revision, "")),
        patch_url: format!("{}.patch{update}", links.commit(&id)),
        diff_url: format!("{}.diff{update}", links.commit(&id)),
        is_reachable: found.is_reachable,
        is_merge: commit.parents.len() > 1,
        diff: DiffHead::new(&found.changes, address),
        id,
    }
}

fn status_row(build: &Build, links: &ProjectLinks) -> StatusRow {
    let is_web_url = |url: &&String| url.starts_with("https://") || url.starts_with("http://");
    StatusRow {
        name: build.name.clone(),
        status: StatusView::for_build(build),
        description: build.description.clone().filter(|text| !text.trim().is_empty()),
        url: if build.external {
            build.target_url.as_ref().filter(is_web_url).cloned()
        } else {
            Some(links.build(build.id.get()))
        },
        is_external: build.external,
    }
}
