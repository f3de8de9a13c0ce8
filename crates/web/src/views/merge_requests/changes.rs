//! The changes of a version of a merge request.

use askama::Template;
use holdfast_app::merge_requests::page::RequestChanges;

use super::frame::{RequestHead, RequestTab, RequestViewer, request_frame};
use super::review::ReviewView;
use crate::layout::Layout;
use crate::views::repository::diff::{DiffAddress, DiffHead};

#[derive(Template)]
#[template(path = "merge_requests/changes.html")]
pub struct RequestChangesPage {
    pub layout: Layout,
    pub head: RequestHead,
    /// The number of the version.
    pub version: i32,
    pub is_newest: bool,
    /// The version that it is compared with, instead of the common ancestor with the target branch.
    pub since: Option<i32>,
    /// The address of the changes of the newest version.
    pub newest_url: String,
    /// Whether there are more discussions about lines than are shown.
    pub has_more_lines: bool,
    pub review: Option<ReviewView>,
    pub diff: DiffHead,
}

pub fn request_changes_page(
    layout: Layout,
    found: &RequestChanges,
    viewer: RequestViewer,
    review: Option<ReviewView>,
    address: &DiffAddress,
) -> RequestChangesPage {
    let (layout, head) = request_frame(layout, &found.page, viewer, RequestTab::Changes);
    RequestChangesPage {
        layout,
        head,
        version: found.version.number,
        is_newest: found.page.newest().is_some_and(|newest| newest.id == found.version.id),
        since: found.since.map(|version| version.number),
        newest_url: address.links.merge_request_page(found.page.request.iid, "changes"),
        has_more_lines: found.has_more_lines,
        review,
        diff: DiffHead::new(&found.changes, address),
    }
}
