//! The commits of a merge request.

use askama::Template;
use holdfast_app::merge_requests::page::RequestCommits;

use super::frame::{RequestHead, RequestTab, RequestViewer, request_frame};
use crate::layout::Layout;
use crate::views::ProjectLinks;
use crate::views::repository::commit_line::CommitLine;

#[derive(Template)]
#[template(path = "merge_requests/commits.html")]
pub struct RequestCommitsPage {
    pub layout: Layout,
    pub head: RequestHead,
    pub commits: Vec<CommitLine>,
    pub has_more: bool,
    /// Whether the commits have pages of their own.
    pub are_linked: bool,
}

pub fn request_commits_page(layout: Layout, found: &RequestCommits, viewer: RequestViewer) -> RequestCommitsPage {
    let links = ProjectLinks::new(&found.page.project.full_path());
    let (layout, head) = request_frame(layout, &found.page, viewer, RequestTab::Commits);
    RequestCommitsPage {
        layout,
        head,
        commits: found.commits.iter().map(|commit| CommitLine::with_age(commit, &links, viewer.now)).collect(),
        has_more: found.has_more,
        are_linked: found.are_reachable,
    }
}
