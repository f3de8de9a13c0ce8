//! Todos of the current user.

use axum::http::Method;
use holdfast_app::planning::todo::{self, Filter, TargetKind};
use holdfast_domain::ids::{ProjectId, TodoId, UserId};
use holdfast_domain::planning::TodoAction;
use holdfast_domain::policy::InstanceAction::ManageOwnAccount;

use super::ApiResult;
use crate::present::v4::todo::{TodoDetail, present_todo};
use crate::response::{Created, NoContent, PageBody};
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

async fn list(context: RequestContext, params: ListParams) -> ApiResult<PageBody<TodoDetail>> {
    let page = todo::list(context.app(), &context.actor, &params.into_filter(), context.page).await?;
    let today = context.app().today();
    Ok(PageBody(page.map(|todo| present_todo(todo, today, context.site()))))
}

params! {
    struct OneTodo {
        required id: TodoId,
    }
}

async fn complete(context: RequestContext, params: OneTodo) -> ApiResult<Created<TodoDetail>> {
    let todo = todo::complete_one(context.app(), &context.actor, params.id).await?;
    Ok(Created(present_todo(todo, context.app().today(), context.site())))
}

async fn complete_all(context: RequestContext, (): ()) -> ApiResult<NoContent> {
    todo::complete_all(context.app(), &context.actor, &Filter::default()).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    let own = Access::Instance(ManageOwnAccount);
    routes.add(Method::GET, "/todos", own, "List the todos of the current user", list);
    routes.add(Method::POST, "/todos/mark_as_done", own, "Complete all todos of the current user", complete_all);
    routes.add(Method::POST, "/todos/:id/mark_as_done", own, "Complete a todo", complete);
}
