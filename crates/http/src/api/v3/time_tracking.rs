//! Estimated and spent time of issues and merge requests.

use holdfast_app::planning::note::NoteTarget;
use holdfast_domain::policy::ProjectAction::{ManageIssues, ManageMergeRequests, ReadIssues, ReadMergeRequests};

use super::ApiResult;
use super::issues::OneIssue;
use super::merge_requests::OneMergeRequest;
use crate::api::shared::time_tracking::time_routes;
use crate::{Access, RequestContext, Routes};

// The paths of this version have ids, so that nothing is looked up.
impl OneIssue {
    async fn find_target(&self, _: &RequestContext) -> ApiResult<NoteTarget> {
        Ok(NoteTarget::Issue(self.issue_id))
    }
}

impl OneMergeRequest {
    async fn find_target(&self, _: &RequestContext) -> ApiResult<NoteTarget> {
        Ok(NoteTarget::MergeRequest(self.merge_request_id))
    }
}

time_routes!(of_issue, OneIssue, "/projects/:id/issues/:issue_id", "an issue");
time_routes!(of_merge_request, OneMergeRequest, "/projects/:id/merge_requests/:merge_request_id", "a merge request");

pub fn routes(routes: &mut Routes) {
    of_issue::routes(routes, Access::Project(ReadIssues), Access::Project(ManageIssues));
    let (read, write) = (Access::Project(ReadMergeRequests), Access::Project(ManageMergeRequests));
    of_merge_request::routes(routes, read, write);
}
