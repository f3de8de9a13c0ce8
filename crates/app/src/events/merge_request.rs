//! Merge requests in payloads.

use holdfast_domain::merge_requests::is_work_in_progress;
use holdfast_store::accounts::user::UserSummary;
use holdfast_store::merge_requests::merge_request::MergeRequest;
use holdfast_store::projects::project::Project;
use serde_json::{Value, json};

use super::{format_time, project_json, user_json};

/// Returns the payload of an event about a merge request of `project`, which `user` caused. `source` is the project of
/// the source branch, unless it was deleted. The last commit is read when the event is delivered.
pub(crate) fn merge_request_json(
    project: &Project,
    source: Option<&Project>,
    user: &UserSummary,
    request: &MergeRequest,
) -> Value {
    json!({
        "user": user_json(user),
        "project": project_json(project),
        "source": source.map(project_json),
        "merge_request": {
            "id": request.id,
            "iid": request.iid,
            "title": request.title,
            "description": request.description,
            "state": request.state.as_str(),
            "merge_status": request.merge_status.as_str(),
            "source_branch": request.source_branch,
            "target_branch": request.target_branch,
            "source_project_id": request.source_project(),
            "author_id": request.author.id,
            "assignee": request.assignee.as_ref().map(user_json),
            "milestone_id": request.milestone.as_ref().map(|it| it.id),
            "work_in_progress": is_work_in_progress(&request.title),
            "head": request.head,
            "merge_when_build_succeeds": request.waits_for_build,
            "merge_commit_sha": request.merge_commit,
            "created_at": format_time(request.created_at),
            "updated_at": format_time(request.updated_at),
        },
    })
}
