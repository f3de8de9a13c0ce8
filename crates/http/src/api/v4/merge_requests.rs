mod content;

use axum::http::{Method, StatusCode};
use holdfast_app::Error;
use holdfast_app::merge_requests::accept::{self, AcceptMergeRequest};
use holdfast_app::merge_requests::changes::MergeRequestChanges;
use holdfast_app::merge_requests::list::{self, MergeRequestFilter};
use holdfast_app::merge_requests::merge_request::{self, MergeRequest};
use holdfast_app::merge_requests::{closing, detail, pipeline, waiting};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::planning::list_filter::ListPlace;
use holdfast_app::planning::note::{self, NoteTarget};
use holdfast_app::planning::todo;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{MergeRequestId, MilestoneId, ProjectId};
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::planning::StateEvent;
use holdfast_domain::policy::GroupAction::ReadMergeRequests as ReadGroupMergeRequests;
use holdfast_domain::policy::InstanceAction::ListIssues as ListOwnIssues;
use holdfast_domain::policy::ProjectAction::{
    CommentOnMergeRequests, CreateMergeRequest, DeleteMergeRequest, ReadMergeRequests,
};

use super::ApiResult;
use super::issues::attributes::{LabelEditParams, UserIds, read_assignee, read_labels, zero_as_null};
use super::issues::list_params::CommonParams;
use crate::error::ApiError;
use crate::params::{LabelTitles, Unsupported};
use crate::present::v4::issue::{ProjectIssue, present_issue};
use crate::present::v4::label::present_attached;
use crate::present::v4::merge_request::{
    Approvals, MergeRequestBasic, MergeRequestFull, present_approvals, present_detail, present_merge_request,
    present_request_pipeline,
};
use crate::present::v4::pipeline::PipelineBasic;
use crate::present::v4::todo::{TodoDetail, present_todo};
use crate::present::v4::user::{UserBasic, present_basic as present_user};
use crate::response::{Body, Created, CreatedIfChanged, NoContent, PageBody};
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
    enum YesOrNo { Yes = "yes", No = "no" }
}

params! {
    /// What all lists of merge requests have in common.
    struct FilterParams {
        flatten common: CommonParams,
        /// Only merge requests in this state, `all` by default.
        optional state: State,
        optional source_branch: String,
        optional target_branch: String,
        /// Only drafts, or only others.
        optional draft: bool,
        /// The older name of `draft`.
        optional wip: YesOrNo,
        /// Merge requests have no reviewers, so that only `None` finds any.
        optional reviewer_id: String,
        /// Merge requests have no reviewers, so that this finds none.
        optional reviewer_username: String,
        optional approved: Unsupported,
        optional approved_by_ids: Unsupported,
        optional approved_by_usernames: Unsupported,
        optional deployed_after: Unsupported,
        optional deployed_before: Unsupported,
        optional environment: Unsupported,
        optional merge_user_id: Unsupported,
        optional merge_user_username: Unsupported,
    }
}

async fn list_in(
    context: RequestContext,
    place: ListPlace,
    params: FilterParams,
) -> ApiResult<PageBody<MergeRequestBasic>> {
    let is_none = |reviewer: &String| reviewer.eq_ignore_ascii_case("none");
    let has_reviewer = params.reviewer_username.is_some() || params.reviewer_id.is_some_and(|id| !is_none(&id));
    let filter = MergeRequestFilter {
        common: params.common.into_filter(&place)?,
        states: params.state.unwrap_or(State::All).states(),
        source_branch: params.source_branch.filter(|branch| !branch.is_empty()),
        target_branch: params.target_branch.filter(|branch| !branch.is_empty()),
        draft: params.draft.or(params.wip.map(|wip| wip == YesOrNo::Yes)),
        has_reviewer,
    };
    let found = list::list_with_labels(context.app(), &context.actor, place, filter, context.page).await?;
    let today = context.app().today();
    Ok(PageBody(found.page.map(|request| {
        let mut body = present_merge_request(request, today, context.site());
        if let Some(labels) = &found.labels {
            body.labels = present_attached(labels, body.id);
        }
        body
    })))
}

async fn list_everywhere(context: RequestContext, params: FilterParams) -> ApiResult<PageBody<MergeRequestBasic>> {
    list_in(context, ListPlace::Everywhere, params).await
}

params! {
    struct GroupMergeRequests {
        required id: GroupRef,
        flatten filter: FilterParams,
    }
}

async fn list_for_group(context: RequestContext, params: GroupMergeRequests) -> ApiResult<PageBody<MergeRequestBasic>> {
    list_in(context, ListPlace::Group(params.id), params.filter).await
}

params! {
    struct ProjectMergeRequests {
        required id: ProjectRef,
        flatten filter: FilterParams,
    }
}

async fn list(context: RequestContext, params: ProjectMergeRequests) -> ApiResult<PageBody<MergeRequestBasic>> {
    list_in(context, ListPlace::Project(params.id), params.filter).await
}

params! {
    pub struct OneMergeRequest {
        required id: ProjectRef,
        /// Number of the merge request within the target project.
        required merge_request_iid: i64,
    }
}

impl OneMergeRequest {
    pub async fn find_id(&self, context: &RequestContext) -> ApiResult<MergeRequestId> {
        context.merge_request_id(&self.id, self.merge_request_iid).await
    }

    pub async fn find_target(&self, context: &RequestContext) -> ApiResult<NoteTarget> {
        Ok(NoteTarget::MergeRequest(self.find_id(context).await?))
    }
}

/// Loads what the response for a single merge request shows.
async fn load_full(context: &RequestContext, project: &ProjectRef, id: MergeRequestId) -> ApiResult<MergeRequestFull> {
    let found = detail::show(context.app(), &context.actor, project, id).await?;
    Ok(present_detail(found, context.app().today(), context.site()))
}

/// Like [`load_full`], for a merge request that was just changed. What git cannot find out is shown as unknown.
async fn present_changed(context: &RequestContext, request: &MergeRequest) -> ApiResult<MergeRequestFull> {
    let found = detail::show_changed(context.app(), &context.actor, request).await?;
    Ok(present_detail(found, context.app().today(), context.site()))
}

params! {
    struct ShowParams {
        flatten request: OneMergeRequest,
        /// Whether to show `rebase_in_progress`.
        optional include_rebase_in_progress: bool,
    }
}

async fn show(context: RequestContext, params: ShowParams) -> ApiResult<Body<MergeRequestFull>> {
    let request = params.request.find_id(&context).await?;
    let full = load_full(&context, &params.request.id, request).await?;
    let rebase_in_progress = params.include_rebase_in_progress.filter(|wanted| *wanted).map(|_| false);
    Ok(Body(MergeRequestFull { rebase_in_progress, ..full }))
}

params! {
    /// The parameters of both creating and updating a merge request.
    struct Attributes {
        nullable description: String,
        /// Id of the assignee, of whom there can be one. An empty list or 0 removes the assignee. Ignored unless the
        /// current user is at least a developer.
        nullable assignee_ids: UserIds,
        /// Id of the assignee, 0 for none. Ignored if `assignee_ids` is given.
        nullable assignee_id: i64,
        /// Id of the milestone, 0 for none. Ignored unless the current user is at least a developer.
        nullable milestone_id: i64,
        /// All labels of the merge request, as names separated by commas. Unknown labels are created. Ignored unless
        /// the current user is at least a developer.
        nullable labels: LabelTitles,
        /// Whether the source branch is deleted after the merge.
        optional remove_source_branch: bool,
        optional reviewer_ids: Unsupported,
        /// Must be false: merges keep the commits.
        optional squash: Unsupported,
    }
}

impl Attributes {
    fn into_changes(self) -> ApiResult<MergeRequestChanges> {
        Ok(MergeRequestChanges {
            description: self.description,
            assignee: read_assignee(self.assignee_ids, self.assignee_id)?,
            milestone: zero_as_null(self.milestone_id, MilestoneId::from),
            labels: read_labels(self.labels),
            removes_source_branch: self.remove_source_branch,
            ..MergeRequestChanges::default()
        })
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

async fn create(context: RequestContext, params: CreateParams) -> ApiResult<Created<MergeRequestFull>> {
    let changes = MergeRequestChanges {
        title: Some(params.title),
        target_branch: Some(params.target_branch.clone()),
        ..params.attributes.into_changes()?
    };
    let (app, actor) = (context.app(), &context.actor);
    let (source, branch, target) = (&params.id, &params.source_branch, params.target_project_id);
    match merge_request::create(app, actor, source, branch, target, changes).await {
        Ok(created) => Ok(Created(present_changed(&context, &created).await?)),
        Err(Error::Conflict(text)) => {
            // Clients look for the number of the other merge request in the text.
            let into = &params.target_branch;
            let open = merge_request::find_open_iid(app, actor, source, branch, target, into).await?;
            let text = open.map_or(text, |iid| {
                format!("Another open merge request already exists for this source branch: !{iid}")
            });
            Err(listed(Error::Conflict(text)))
        }
        Err(error) => Err(listed(error)),
    }
}

/// Returns an error whose text is in a list, as existing clients expect.
fn listed(error: Error) -> ApiError {
    match error {
        Error::Conflict(text) => ApiError::message(StatusCode::CONFLICT, vec![text]),
        Error::Unprocessable(text) => ApiError::message(StatusCode::UNPROCESSABLE_ENTITY, vec![text]),
        other => other.into(),
    }
}

choice! {
    enum Transition { Close = "close", Reopen = "reopen" }
}

params! {
    struct UpdateParams {
        flatten request: OneMergeRequest,
        optional title: String,
        optional target_branch: String,
        flatten attributes: Attributes,
        flatten label_edit: LabelEditParams,
        /// Closes or reopens the merge request.
        optional state_event: Transition,
    }
}

async fn update(context: RequestContext, params: UpdateParams) -> ApiResult<Body<MergeRequestFull>> {
    // A request that only asks for what is always so changes nothing, and is valid.
    let has_neutral_parameter = params.attributes.squash.is_some() || params.attributes.reviewer_ids.is_some();
    let changes = MergeRequestChanges {
        title: params.title,
        target_branch: params.target_branch,
        label_edit: params.label_edit.into_edit(),
        state_event: params.state_event.map(|event| match event {
            Transition::Close => StateEvent::Close,
            Transition::Reopen => StateEvent::Reopen,
        }),
        ..params.attributes.into_changes()?
    };
    if !has_neutral_parameter && changes == MergeRequestChanges::default() {
        let names = [
            "title",
            "target_branch",
            "description",
            "assignee_ids",
            "assignee_id",
            "milestone_id",
            "labels",
            "add_labels",
            "remove_labels",
            "state_event",
            "remove_source_branch",
            "squash",
        ];
        return Err(ApiError::at_least_one_required(&names));
    }
    let request = params.request.find_id(&context).await?;
    let updated = merge_request::update(context.app(), &context.actor, &params.request.id, request, changes).await;
    Ok(Body(present_changed(&context, &updated.map_err(listed)?).await?))
}

async fn delete(context: RequestContext, params: OneMergeRequest) -> ApiResult<NoContent> {
    let request = params.find_id(&context).await?;
    merge_request::delete(context.app(), &context.actor, &params.id, request).await?;
    Ok(NoContent)
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
        optional merge_when_pipeline_succeeds: bool,
        /// The newer name of `merge_when_pipeline_succeeds`.
        optional auto_merge: bool,
        /// Must be false: merges keep the commits.
        optional squash: Unsupported,
    }
}

async fn accept(context: RequestContext, params: AcceptParams) -> ApiResult<Body<MergeRequestFull>> {
    let input = AcceptMergeRequest {
        target_branch: None,
        sha: params.sha,
        message: params.merge_commit_message,
        removes_source_branch: params.should_remove_source_branch,
        waits_for_build: params.auto_merge.or(params.merge_when_pipeline_succeeds).unwrap_or_default(),
    };
    let request = params.request.find_id(&context).await?;
    let request = accept::accept(context.app(), &context.actor, &params.request.id, request, input).await?;
    Ok(Body(present_changed(&context, &request).await?))
}

async fn cancel(context: RequestContext, params: OneMergeRequest) -> ApiResult<Created<MergeRequestFull>> {
    let request = params.find_id(&context).await?;
    let request = waiting::cancel(context.app(), &context.actor, &params.id, request).await?;
    let not_waiting = || ApiError::message(StatusCode::NOT_ACCEPTABLE, "406 Not Acceptable");
    Ok(Created(present_changed(&context, &request.ok_or_else(not_waiting)?).await?))
}

async fn closes_issues(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<ProjectIssue>> {
    let request = params.find_id(&context).await?;
    let page = closing::list_issues(context.app(), &context.actor, &params.id, request, context.page).await?;
    let today = context.app().today();
    Ok(PageBody(page.map(|issue| present_issue(issue, today, context.site()))))
}

async fn pipelines(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<PipelineBasic>> {
    let request = params.find_id(&context).await?;
    let page = pipeline::list(context.app(), &context.actor, &params.id, request, context.page).await?;
    Ok(PageBody(page.map(|pipeline| present_request_pipeline(&pipeline, context.site()))))
}

async fn participants(context: RequestContext, params: OneMergeRequest) -> ApiResult<PageBody<UserBasic>> {
    let target = params.find_target(&context).await?;
    let page = note::list_participants(context.app(), &context.actor, &params.id, target, context.page).await?;
    Ok(PageBody(page.map(|user| present_user(&user, context.site()))))
}

/// Shows the approvals of a merge request. There are none.
async fn approvals(context: RequestContext, params: OneMergeRequest) -> ApiResult<Body<Approvals>> {
    params.find_id(&context).await?;
    Ok(Body(present_approvals()))
}

async fn set_subscribed(
    context: RequestContext,
    params: OneMergeRequest,
    is_subscribed: bool,
) -> ApiResult<CreatedIfChanged<MergeRequestFull>> {
    let (actor, request) = (&context.actor, params.find_id(&context).await?);
    let changed = merge_request::set_subscribed(context.app(), actor, &params.id, request, is_subscribed).await?;
    Ok(CreatedIfChanged(match changed {
        Some(request) => Some(present_changed(&context, &request).await?),
        None => None,
    }))
}

async fn subscribe(context: RequestContext, params: OneMergeRequest) -> ApiResult<CreatedIfChanged<MergeRequestFull>> {
    set_subscribed(context, params, true).await
}

async fn unsubscribe(
    context: RequestContext,
    params: OneMergeRequest,
) -> ApiResult<CreatedIfChanged<MergeRequestFull>> {
    set_subscribed(context, params, false).await
}

async fn create_todo(context: RequestContext, params: OneMergeRequest) -> ApiResult<CreatedIfChanged<TodoDetail>> {
    let target = params.find_target(&context).await?;
    let created = todo::create(context.app(), &context.actor, &params.id, target).await?;
    Ok(CreatedIfChanged(created.map(|todo| present_todo(todo, context.app().today(), context.site()))))
}

/// Returns the path of a part of a merge request.
macro_rules! path {
    ($rest:literal) => {
        concat!("/projects/:id/merge_requests/:merge_request_iid", $rest)
    };
}

pub fn routes(routes: &mut Routes) {
    const ALL: &str = "/projects/:id/merge_requests";
    const GROUP: &str = "/groups/:id/merge_requests";
    const CANCEL: &str = path!("/cancel_merge_when_pipeline_succeeds");
    let own = Access::Instance(ListOwnIssues);
    let read_group = Access::Group(ReadGroupMergeRequests);
    let (read, comment) = (Access::Project(ReadMergeRequests), Access::Project(CommentOnMergeRequests));
    let delete_access = Access::Project(DeleteMergeRequest);
    routes.add(Method::GET, "/merge_requests", own, "List merge requests of an author or an assignee", list_everywhere);
    routes.add(Method::GET, GROUP, read_group, "List the merge requests of a group", list_for_group);
    routes.add(Method::GET, ALL, read, "List the merge requests of a project", list);
    routes.add(Method::POST, ALL, Access::Project(CreateMergeRequest), "Create a merge request", create);
    routes.add(Method::GET, path!(""), read, "Get a merge request", show);
    routes.add(Method::PUT, path!(""), read, "Update, close or reopen a merge request", update);
    routes.add(Method::DELETE, path!(""), delete_access, "Delete a merge request", delete);
    routes.add(Method::PUT, path!("/merge"), read, "Accept a merge request", accept);
    routes.add(Method::POST, CANCEL, read, "Cancel the merge that waits for a pipeline", cancel);
    content::routes(routes);
    routes.add(
        Method::GET,
        path!("/closes_issues"),
        read,
        "List the issues that a merge request closes",
        closes_issues,
    );
    routes.add(Method::GET, path!("/pipelines"), read, "List the pipelines of a merge request", pipelines);
    routes.add(
        Method::GET,
        path!("/participants"),
        read,
        "List the users who take part in a merge request",
        participants,
    );
    routes.add(Method::GET, path!("/approvals"), read, "Get the approvals of a merge request", approvals);
    routes.add(Method::POST, path!("/subscribe"), comment, "Subscribe to a merge request", subscribe);
    routes.add(Method::POST, path!("/unsubscribe"), comment, "Unsubscribe from a merge request", unsubscribe);
    routes.add(Method::POST, path!("/todo"), comment, "Create a todo for a merge request", create_todo);
}
