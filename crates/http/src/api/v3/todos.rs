//! Todos of the current user.

use axum::http::Method;
use holdfast_app::planning::note::NoteTarget;
use holdfast_app::planning::todo::{self, Filter, TargetKind};
use holdfast_domain::ids::{ProjectId, TodoId, UserId};
use holdfast_domain::planning::TodoAction;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;
use holdfast_domain::policy::ProjectAction::{CommentOnMergeRequests, CreateIssue};

use super::ApiResult;
use super::issues::OneIssue;
use super::merge_requests::OneMergeRequest;
use crate::present::todo::{TodoBody, present_todo};
use crate::response::{Body, CreatedIfChanged, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    /// The filters of the list. Unknown values are ignored, as existing clients expect.
    struct ListParams {
        /// `assigned`, `mentioned`, `build_failed` or `marked`.
        optional action: String,
        optional author_id: UserId,
        optional project_id: ProjectId,
        /// `pending`, the default, or `done`.
        optional state: String,
        /// `Issue` or `MergeRequest`.
        optional r#type: String,
    }
}

impl ListParams {
    fn into_filter(self) -> Filter {
        Filter {
            is_done: self.state.as_deref() == Some("done"),
            action: self.action.as_deref().and_then(TodoAction::from_str_opt),
            author: self.author_id,
            project: self.project_id,
            kind: self.r#type.as_deref().and_then(|name| match name {
                "Issue" => Some(TargetKind::Issue),
                "MergeRequest" => Some(TargetKind::MergeRequest),
                _ => None,
            }),
        }
    }
}

async fn list(context: RequestContext, params: ListParams) -> ApiResult<PageBody<TodoBody>> {
    let page = todo::list(context.app(), &context.actor, &params.into_filter(), context.page).await?;
    Ok(PageBody(page.map(|todo| present_todo(todo, context.site()))))
}

async fn create_for_issue(context: RequestContext, params: OneIssue) -> ApiResult<CreatedIfChanged<TodoBody>> {
    let target = NoteTarget::Issue(params.issue_id);
    let created = todo::create(context.app(), &context.actor, &params.id, target).await?;
    Ok(CreatedIfChanged(created.map(|todo| present_todo(todo, context.site()))))
}

async fn create_for_merge_request(
    context: RequestContext,
    params: OneMergeRequest,
) -> ApiResult<CreatedIfChanged<TodoBody>> {
    let target = NoteTarget::MergeRequest(params.merge_request_id);
    let created = todo::create(context.app(), &context.actor, &params.id, target).await?;
    Ok(CreatedIfChanged(created.map(|todo| present_todo(todo, context.site()))))
}

params! {
    struct OneTodo {
        required id: TodoId,
    }
}

async fn complete(context: RequestContext, params: OneTodo) -> ApiResult<Body<TodoBody>> {
    let todo = todo::complete_one(context.app(), &context.actor, params.id).await?;
    Ok(Body(present_todo(todo, context.site())))
}

async fn complete_all(context: RequestContext, params: ListParams) -> ApiResult<Body<u64>> {
    Ok(Body(todo::complete_all(context.app(), &context.actor, &params.into_filter()).await?))
}

pub fn routes(routes: &mut Routes) {
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, "/todos", own, "List the todos of the current user", list);
    routes.add(Method::DELETE, "/todos", own, "Complete the todos of the current user", complete_all);
    routes.add(Method::DELETE, "/todos/:id", own, "Complete a todo", complete);
    routes.add(
        Method::POST,
        "/projects/:id/issues/:issue_id/todo",
        Access::Project(CreateIssue),
        "Create a todo for an issue",
        create_for_issue,
    );
    routes.add(
        Method::POST,
        "/projects/:id/merge_requests/:merge_request_id/todo",
        Access::Project(CommentOnMergeRequests),
        "Create a todo for a merge request",
        create_for_merge_request,
    );
}
