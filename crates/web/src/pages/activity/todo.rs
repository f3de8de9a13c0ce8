//! The todos of the viewer.

use holdfast_app::planning::todo::{self, Filter};
use holdfast_domain::ids::TodoId;
use holdfast_domain::policy::InstanceAction;
use holdfast_http_core::{Access, params};

use crate::cost::Cost;
use crate::flash::FlashCode;
use crate::pages::Pages;
use crate::request::RequestContext;
use crate::respond::{self, PageResult};
use crate::views::activity::todo_list::{DONE, todos_page};

pub fn declare(pages: &mut Pages) {
    let own = Access::Instance(InstanceAction::ManageOwnAccount);
    pages.get("/dashboard/todos", own, Cost::Normal, "Your todos", list).api("GET /todos");
    pages.post("/dashboard/todos/done", own, Cost::Normal, "Complete all todos", complete_all).api("DELETE /todos");
    pages.post("/dashboard/todos/:id/done", own, Cost::Normal, "Complete a todo", complete).api("DELETE /todos/:id");
}

params! {
    struct TodoParams {
        /// `done` for the todos that are done.
        optional state: String,
    }
}

async fn list(context: RequestContext, TodoParams { state }: TodoParams) -> PageResult {
    let filter = Filter { is_done: state.as_deref() == Some(DONE), ..Filter::default() };
    let todos = todo::list_rows(context.app(), &context.actor, &filter, context.page).await?;
    respond::html(&todos_page(context.layout(), &todos, filter.is_done, context.now()))
}

params! {
    struct OneTodo {
        required id: TodoId,
        /// The page that follows.
        optional to: String,
    }
}

async fn complete(context: RequestContext, OneTodo { id, to }: OneTodo) -> PageResult {
    todo::complete_one(context.app(), &context.actor, id).await?;
    let to = to.unwrap_or_else(|| "/dashboard/todos".to_owned());
    Ok(respond::see_other(context.destination(Some(&to))).with_flash(FlashCode::TodoCompleted))
}

async fn complete_all(context: RequestContext, (): ()) -> PageResult {
    todo::complete_all(context.app(), &context.actor, &Filter::default()).await?;
    Ok(respond::see_other("/dashboard/todos").with_flash(FlashCode::TodosCompleted))
}
