//! Estimated and spent time of issues and merge requests.

use holdfast_domain::policy::ProjectAction::{ManageIssues, ManageMergeRequests, ReadIssues, ReadMergeRequests};

use super::issues::OneIssue;
use super::merge_requests::OneMergeRequest;
use crate::api::shared::time_tracking::time_routes;
use crate::{Access, Routes};

time_routes!(of_issue, OneIssue, "/projects/:id/issues/:issue_iid", "an issue");
time_routes!(of_merge_request, OneMergeRequest, "/projects/:id/merge_requests/:merge_request_iid", "a merge request");

pub fn routes(routes: &mut Routes) {
    of_issue::routes(routes, Access::Project(ReadIssues), Access::Project(ManageIssues));
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(ManageMergeRequests));
    of_merge_request::routes(routes, read, write);
}
