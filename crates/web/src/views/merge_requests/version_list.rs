//! The versions of a merge request.

use askama::Template;
use holdfast_app::merge_requests::page::RequestPage;
use holdfast_app::merge_requests::version::ComparedVersion;

use super::frame::{RequestHead, RequestTab, RequestViewer, request_frame};
use crate::layout::Layout;
use crate::views::repository::commit_line::short_id;
use crate::views::{ProjectLinks, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "merge_requests/versions.html")]
pub struct VersionsPage {
    pub layout: Layout,
    pub head: RequestHead,
    pub versions: Vec<VersionRow>,
    /// The address of the form that compares two versions.
    pub compare_url: String,
    pub range_diff_url: String,
}

#[derive(Clone, Debug)]
pub struct VersionRow {
    pub number: i32,
    pub short_id: String,
    pub files: Option<u64>,
    pub created: Time,
    pub changes_url: String,
    /// The addresses of the comparisons with the version before.
    pub since_url: Option<String>,
    pub range_diff_url: Option<String>,
}

pub fn versions_page(
    layout: Layout,
    page: &RequestPage,
    versions: &[ComparedVersion],
    viewer: RequestViewer,
) -> VersionsPage {
    let project_links = ProjectLinks::new(&page.project.full_path());
    let (layout, head) = request_frame(layout, page, viewer, RequestTab::Versions);
    let iid = page.request.iid;
    let compare_url = project_links.merge_request_page(iid, "changes");
    let range_diff_url = project_links.merge_request_page(iid, "range_diff");
    let row = |compared: &ComparedVersion| {
        let version = &compared.version;
        let (number, before) = (version.number.to_string(), (version.number - 1).to_string());
        let before_version = versions.iter().find(|it| it.version.number == version.number - 1);
        let has_before = before_version.is_some();
        // Commits are those that the target branch did not have.
        let has_commits = before_version.is_some_and(|it| it.version.start.is_some()) && version.start.is_some();
        let url =
            |path: &str, since: &str| format!("{path}{}", links::query(&[("version", &number), ("since", since)]));
        VersionRow {
            number: version.number,
            short_id: short_id(&version.head.to_string()).to_owned(),
            files: compared.comparison.map(|comparison| u64::try_from(comparison.files).unwrap_or_default()),
            created: Time::ago(version.created_at, viewer.now),
            changes_url: url(&compare_url, ""),
            since_url: has_before.then(|| url(&compare_url, &before)),
            range_diff_url: has_commits.then(|| url(&range_diff_url, &before)),
        }
    };
    VersionsPage { layout, head, versions: versions.iter().map(row).collect(), compare_url, range_diff_url }
}
