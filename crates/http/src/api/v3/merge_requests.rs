//! Merge requests. Each path exists twice, because older clients write `merge_request` instead of `merge_requests`.

use axum::http::{Method, StatusCode};
use holdfast_app::Error;
use holdfast_app::merge_requests::accept::{self, AcceptMergeRequest};
use holdfast_app::merge_requests::changes::MergeRequestChanges;
use holdfast_app::merge_requests::list::{self, ListMergeRequests, SortKey};
use holdfast_app::merge_requests::{closing, merge_request, version, waiting};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::Field;
use holdfast_domain::ids::{MergeRequestId, MergeRequestVersionId, MilestoneId, ProjectId, UserId};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::ProjectAction::{
    CommentOnMergeRequests, CreateMergeRequest, DeleteMergeRequest, ReadMergeRequests,
};
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use super::issues::zero_as_null;
use super::project_lists::Sort;
use crate::error::ApiError;
use crate::params::{FromValue, LabelTitles, ParamError};
use crate::present::commit::{CommitSummary, present_commit_summary};
use crate::present::issue::{IssueBody, present_issue};
use crate::present::merge_request::{
    MergeRequestBody, MergeRequestChangesBody, VersionBody, VersionDetailsBody, present_changes, present_merge_request,
    present_version, present_version_details,
};
use crate::response::{Body, BodyIfChanged, Created, CreatedIfChanged, PageBody, StreamedBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    enum State { Opened = "opened", Closed = "closed", Merged = "merged", All = "all" }
}

impl State {
    fn states(self) -> Vec<MergeRequestState> {
        match self {
            Self::Opened => vec![MergeRequestState::Opened, MergeRequestState::Reopened],
            Self::Closed => vec![MergeRequestState::Closed],
            Self::Merged => vec![MergeRequestState::Merged],
            Self::All => MergeRequestState::ALL.to_vec(),
        }
    }
}

choice! {
    enum OrderBy { CreatedAt = "created_at", UpdatedAt = "updated_at" }
}

/// One number, or a list of them.
struct Numbers(Vec<i64>);

impl FromValue for Numbers {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        match value {
            Value::Array(numbers) => numbers.iter().map(i64::from_value).collect::<Result<_, _>>().map(Self),
            number => Ok(Self(vec![i64::from_value(number)?])),
        }
    }

    fn schema() -> RefOr<Schema> {
        <i64 as FromValue>::schema()
    }
}

params! {
    struct ListParams {
        required id: ProjectRef,
        /// Only merge requests in this state, `all` by default.
        optional state: State,
        /// Only the merge request with this number within the project, or several as `iid[]`.
        optional iid: Numbers,
        /// Sort key, `created_at` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
    }
}

async fn list(context: RequestContext, params: ListParams) -> ApiResult<PageBody<MergeRequestBody>> {
    let input = ListMergeRequests {
        states: params.state.unwrap_or(State::All).states(),
        iids: params.iid.map(|numbers| numbers.0).unwrap_or_default(),
        sort_key: match params.order_by.unwrap_or(OrderBy::CreatedAt) {
            OrderBy::CreatedAt => SortKey::CreatedAt,
            OrderBy::UpdatedAt => SortKey::UpdatedAt,
        },
        descending: params.sort != Some(Sort::Ascending),
    };
    let page = list::list(context.app(), &context.actor, &params.id, input, context.page).await?;
    Ok(PageBody(page.map(|request| present_merge_request(request, context.site()))))
}

params! {
    struct MilestoneMergeRequests {
        required id: ProjectRef,
        /// Id of the milestone, not its `iid`.
        required milestone_id: MilestoneId,
    }
}

async fn list_for_milestone(
    context: RequestContext,
    params: MilestoneMergeRequests,
) -> ApiResult<PageBody<MergeRequestBody>> {
    let (actor, milestone) = (&context.actor, params.milestone_id);
    let page = list::list_for_milestone(context.app(), actor, &params.id, milestone, context.page).await?;
    Ok(PageBody(page.map(|request| present_merge_request(request, context.site()))))
}

params! {
    pub(super) struct OneMergeRequest {
        required id: ProjectRef,
        /// Id of the merge request, not its `iid`.
        required merge_request_id: MergeRequestId,
    }
}

async fn show(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<MergeRequestBody>> {
    let request = merge_request::show(context.app(), &context.actor, &params.id, params.merge_request_id).await?;
    Ok(Body(present_merge_request(request, context.site())))
}

params! {
    /// The parameters of both creating and updating a merge request.
    struct Attributes {
        nullable description: String,
        /// Id of the assignee, 0 for none. Ignored unless the current user is at least a developer.
        nullable assignee_id: i64,
        /// Id of the milestone, 0 for none. Ignored unless the current user is at least a developer.
        nullable milestone_id: i64,
        /// All labels of the merge request, as names separated by commas. Unknown labels are created. Ignored unless the
        /// current user is at least a developer.
        nullable labels: LabelTitles,
        /// Whether the source branch is deleted after the merge.
        optional remove_source_branch: bool,
    }
}

impl Attributes {
    fn into_changes(self) -> MergeRequestChanges {
        MergeRequestChanges {
            description: self.description,
            assignee: zero_as_null(self.assignee_id, UserId::from),
            milestone: zero_as_null(self.milestone_id, MilestoneId::from),
            labels: match self.labels {
                Field::Absent => None,
                Field::Null => Some(Vec::new()),
                Field::Value(titles) => Some(titles.0),
            },
            removes_source_branch: self.remove_source_branch,
            ..MergeRequestChanges::default()
        }
    }
}

params! {
    struct CreateParams {
        /// Project of the source branch.
        required id: ProjectRef,
        required title: String,
        required source_branch: String,
        required target_branch: String,
        /// Id of the project of the target branch. It is the same project, or the one that this one was forked from.
        optional target_project_id: ProjectId,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateParams) -> ApiResult<Created<MergeRequestBody>> {
    let changes = MergeRequestChanges {
        title: Some(params.title),
        target_branch: Some(params.target_branch),
        ..params.attributes.into_changes()
    };
    let (source, branch, target) = (&params.id, &params.source_branch, params.target_project_id);
    let created = merge_request::create(context.app(), &context.actor, source, branch, target, changes).await;
    Ok(Created(present_merge_request(created.map_err(listed)?, context.site())))
}

/// Returns an error whose text is in a list, as existing clients expect.
fn listed(error: Error) -> ApiError {
    match error {
        Error::Conflict(text) => ApiError::message(StatusCode::CONFLICT, vec![text]),
        Error::Unprocessable(text) => ApiError::error(StatusCode::UNPROCESSABLE_ENTITY, vec![text]),
        other => other.into(),
    }
}

choice! {
    enum Transition { Close = "close", Reopen = "reopen", Merge = "merge" }
}

params! {
    struct UpdateParams {
        flatten request: OneMergeRequest,
        optional title: String,
        optional target_branch: String,
        flatten attributes: Attributes,
        /// Closes or reopens the merge request. `merge` does nothing.
        optional state_event: Transition,
    }
}

async fn update(context: RequestContext, params: UpdateParams) -> ApiResult<Body<MergeRequestBody>> {
    let has_transition = params.state_event.is_some();
    let changes = MergeRequestChanges {
        title: params.title,
        target_branch: params.target_branch,
        state_event: params.state_event.and_then(|event| match event {
            Transition::Close => Some(StateEvent::Close),
            Transition::Reopen => Some(StateEvent::Reopen),
            Transition::Merge => None,
        }),
        ..params.attributes.into_changes()
    };
    if !has_transition && changes == MergeRequestChanges::default() {
        let names = [
            "title",
            "target_branch",
            "description",
            "assignee_id",
            "milestone_id",
            "labels",
            "state_event",
            "remove_source_branch",
        ];
        return Err(ApiError::at_least_one_required(&names));
    }
    let OneMergeRequest { id, merge_request_id } = params.request;
    let updated = merge_request::update(context.app(), &context.actor, &id, merge_request_id, changes).await;
    Ok(Body(present_merge_request(updated.map_err(listed)?, context.site())))
}

async fn delete(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<MergeRequestBody>> {
    let request = merge_request::delete(context.app(), &context.actor, &params.id, params.merge_request_id).await?;
    Ok(Body(present_merge_request(request, context.site())))
}

params! {
    struct AcceptParams {
        flatten request: OneMergeRequest,
        /// Message of the merge commit instead of the default one.
        optional merge_commit_message: String,
        /// Whether the source branch is deleted.
        optional should_remove_source_branch: bool,
        /// Id of the last commit that the client has seen. If the source branch has another one, nothing is merged.
        optional sha: String,
        /// Whether to merge when the pipeline of the last commit succeeds, if it is not finished.
        optional merge_when_build_succeeds: bool,
    }
}

async fn accept(context: RequestContext, params: AcceptParams) -> ApiResult<Body<MergeRequestBody>> {
    let input = AcceptMergeRequest {
        sha: params.sha,
        target_branch: None,
        message: params.merge_commit_message,
        removes_source_branch: params.should_remove_source_branch,
        waits_for_build: params.merge_when_build_succeeds.unwrap_or_default(),
    };
    let OneMergeRequest { id, merge_request_id } = params.request;
    let request = accept::accept(context.app(), &context.actor, &id, merge_request_id, input).await?;
    Ok(Body(present_merge_request(request, context.site())))
}

async fn cancel(context: RequestContext, params: OneMergeRequest) -> ApiResult<Created<MergeRequestBody>> {
    Ok(Created(end_waiting(context, params).await?))
}

async fn cancel_by_put(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<MergeRequestBody>> {
    Ok(Body(end_waiting(context, params).await?))
}

async fn end_waiting(context: RequestContext, params: OneMergeRequest) -> ApiResult<MergeRequestBody> {
    let request = waiting::cancel(context.app(), &context.actor, &params.id, params.merge_request_id).await?;
    let not_waiting = || ApiError::message(StatusCode::NOT_ACCEPTABLE, "406 Not Acceptable");
    Ok(present_merge_request(request.ok_or_else(not_waiting)?, context.site()))
}

async fn commits(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<Vec<CommitSummary>>> {
    let (actor, request) = (&context.actor, params.merge_request_id);
    let (_, commits) = version::show_commits(context.app(), actor, &params.id, request).await?;
    Ok(Body(commits.into_iter().map(present_commit_summary).collect()))
}

async fn changes(context: RequestContext, params: OneMergeRequest) -> ApiResult<StreamedBody<MergeRequestChangesBody>> {
    let found = version::show_changes(context.app(), &context.actor, &params.id, params.merge_request_id).await?;
    let (request, changes) = found;
    Ok(StreamedBody::new(present_changes(request, changes, context.site())))
}

async fn closes_issues(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<IssueBody>> {
    let (actor, request) = (&context.actor, params.merge_request_id);
    let page = closing::list_issues(context.app(), actor, &params.id, request, context.page).await?;
    Ok(PageBody(page.map(|issue| present_issue(issue, context.site()))))
}

async fn versions(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<Vec<VersionBody>>> {
    let versions = version::list(context.app(), &context.actor, &params.id, params.merge_request_id).await?;
    Ok(Body(versions.iter().map(present_version).collect()))
}

params! {
    pub(super) struct OneVersion {
        flatten request: OneMergeRequest,
        required version_id: MergeRequestVersionId,
    }
}

async fn show_version(context: RequestContext, params: OneVersion) -> ApiResult<StreamedBody<VersionDetailsBody>> {
    let OneMergeRequest { id, merge_request_id } = params.request;
    let details = version::show(context.app(), &context.actor, &id, merge_request_id, params.version_id).await?;
    Ok(StreamedBody::new(present_version_details(details)))
}

async fn subscribe(context: RequestContext, params: OneMergeRequest) -> ApiResult<CreatedIfChanged<MergeRequestBody>> {
    let (actor, request) = (&context.actor, params.merge_request_id);
    let changed = merge_request::set_subscribed(context.app(), actor, &params.id, request, true).await?;
    Ok(CreatedIfChanged(changed.map(|request| present_merge_request(request, context.site()))))
}

async fn unsubscribe(context: RequestContext, params: OneMergeRequest) -> ApiResult<BodyIfChanged<MergeRequestBody>> {
    let (actor, request) = (&context.actor, params.merge_request_id);
    let changed = merge_request::set_subscribed(context.app(), actor, &params.id, request, false).await?;
    Ok(BodyIfChanged(changed.map(|request| present_merge_request(request, context.site()))))
}

/// Declares the routes of one merge request below a path.
macro_rules! request_routes {
    ($routes:ident, $one:literal) => {
        let read = Access::Project(ReadMergeRequests);
        let comment = Access::Project(CommentOnMergeRequests);
        let delete_access = Access::Project(DeleteMergeRequest);
        $routes.add(Method::GET, $one, read, "Get a merge request", show);
        $routes.add(Method::PUT, $one, read, "Update, close or reopen a merge request", update);
        $routes.add(Method::DELETE, $one, delete_access, "Delete a merge request", delete);
        $routes.add(Method::PUT, concat!($one, "/merge"), read, "Accept a merge request", accept);
        $routes.add(
            Method::POST,
            concat!($one, "/cancel_merge_when_build_succeeds"),
            read,
            "Cancel the merge that waits for a pipeline",
            cancel,
        );
        $routes.add(
            Method::PUT,
            concat!($one, "/cancel_merge_when_build_succeeds"),
            read,
            "Cancel the merge that waits for a pipeline, for clients that use this method",
            cancel_by_put,
        );
        $routes.add(Method::GET, concat!($one, "/commits"), read, "List the commits of a merge request", commits);
        $routes.add(Method::GET, concat!($one, "/changes"), read, "Get a merge request with its changes", changes);
        $routes.add(
            Method::GET,
            concat!($one, "/closes_issues"),
            read,
            "List the issues that a merge request closes",
            closes_issues,
        );
        $routes.add(Method::GET, concat!($one, "/versions"), read, "List the versions of a merge request", versions);
        $routes.add(
            Method::GET,
            concat!($one, "/versions/:version_id"),
            read,
            "Get a version of a merge request",
            show_version,
        );
        $routes.add(Method::POST, concat!($one, "/subscription"), comment, "Subscribe to a merge request", subscribe);
        $routes.add(
            Method::DELETE,
            concat!($one, "/subscription"),
            comment,
            "Unsubscribe from a merge request",
            unsubscribe,
        );
    };
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/merge_requests";
    const MILESTONE: &str = "/projects/:id/milestones/:milestone_id/merge_requests";
    let read = Access::Project(ReadMergeRequests);
    routes.add(Method::GET, PATH, read, "List the merge requests of a project", list);
    routes.add(Method::POST, PATH, Access::Project(CreateMergeRequest), "Create a merge request", create);
    routes.add(Method::GET, MILESTONE, read, "List the merge requests of a milestone", list_for_milestone);
    request_routes!(routes, "/projects/:id/merge_requests/:merge_request_id");
    request_routes!(routes, "/projects/:id/merge_request/:merge_request_id");
}
