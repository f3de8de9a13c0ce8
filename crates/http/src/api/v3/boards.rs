use axum::http::Method;
use holdfast_app::planning::board;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{BoardId, BoardListId, IssueId, LabelId};
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::{DeleteBoardList, ManageBoardLists, ManageIssues, ReadBoards, ReadIssues};

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::present::board::{BoardBody, BoardListBody, present_board, present_list};
use crate::present::issue::{IssueBody, present_issue};
use crate::response::{Body, PageBody};
use crate::{Access, RequestContext, Routes, params};

/// Lists the boards of a project. There is exactly one.
async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<BoardBody>> {
    let board = board::show(context.app(), &context.actor, &params.id).await?;
    let boards = if context.page.offset() == 0 { vec![present_board(board)] } else { Vec::new() };
    Ok(PageBody(Page::with_total(boards, context.page, 1)))
}

params! {
    struct OneBoard {
        required id: ProjectRef,
        /// Id of the board, which is the id of its project.
        required board_id: BoardId,
    }
}

async fn list_lists(context: RequestContext, params: OneBoard) -> ApiResult<PageBody<BoardListBody>> {
    let page = board::list_lists(context.app(), &context.actor, &params.id, params.board_id, context.page).await?;
    Ok(PageBody(page.map(present_list)))
}

params! {
    struct OneList {
        required id: ProjectRef,
        /// Id of the board, which is the id of its project.
        required board_id: BoardId,
        /// Id of the board list.
        required list_id: BoardListId,
    }
}

async fn show_list(context: RequestContext, params: OneList) -> ApiResult<Body<BoardListBody>> {
    let list = board::show_list(context.app(), &context.actor, &params.id, params.board_id, params.list_id).await?;
    Ok(Body(present_list(list)))
}

params! {
    struct CreateList {
        required id: ProjectRef,
        /// Id of the board, which is the id of its project.
        required board_id: BoardId,
        /// Id of the label whose issues the list shows.
        required label_id: LabelId,
    }
}

/// Creates a board list. Responds 200 instead of 201, as the specification requires.
async fn create_list(context: RequestContext, params: CreateList) -> ApiResult<Body<BoardListBody>> {
    let list = board::create_list(context.app(), &context.actor, &params.id, params.board_id, params.label_id).await?;
    Ok(Body(present_list(list)))
}

params! {
    struct MoveList {
        required id: ProjectRef,
        /// Id of the board, which is the id of its project.
        required board_id: BoardId,
        /// Id of the board list.
        required list_id: BoardListId,
        /// New position among the lists of the board, starting at 0.
        required position: i32,
    }
}

async fn move_list(context: RequestContext, params: MoveList) -> ApiResult<Body<BoardListBody>> {
    let (board, list) = (Some(params.board_id), params.list_id);
    let list = board::move_list(context.app(), &context.actor, &params.id, board, list, params.position).await?;
    Ok(Body(present_list(list)))
}

async fn delete_list(context: RequestContext, params: OneList) -> ApiResult<Body<BoardListBody>> {
    let (board, list) = (Some(params.board_id), params.list_id);
    let list = board::delete_list(context.app(), &context.actor, &params.id, board, list).await?;
    Ok(Body(present_list(list)))
}

async fn list_issues(context: RequestContext, params: OneList) -> ApiResult<PageBody<IssueBody>> {
    let (board, list) = (params.board_id, params.list_id);
    let page = board::list_issues(context.app(), &context.actor, &params.id, board, list, context.page).await?;
    Ok(PageBody(page.map(|issue| present_issue(issue, context.site()))))
}

params! {
    struct MoveCard {
        required id: ProjectRef,
        /// Id of the board, which is the id of its project.
        required board_id: BoardId,
        /// Id of the issue, not its `iid`.
        required issue_id: IssueId,
        /// Id of the list that the issue is removed from. Omit it for the backlog.
        optional from_list_id: BoardListId,
        /// Id of the list that the issue is added to. Omit it for the backlog.
        optional to_list_id: BoardListId,
    }
}

async fn move_issue(context: RequestContext, params: MoveCard) -> ApiResult<Body<IssueBody>> {
    let (from, to) = (params.from_list_id, params.to_list_id);
    if from.is_none() && to.is_none() {
        return Err(ApiError::at_least_one_required(&["from_list_id", "to_list_id"]));
    }
    let (board, issue) = (params.board_id, params.issue_id);
    let issue = board::move_between_lists(context.app(), &context.actor, &params.id, board, issue, from, to).await?;
    Ok(Body(present_issue(issue, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const BOARDS: &str = "/projects/:id/boards";
    const LISTS: &str = "/projects/:id/boards/:board_id/lists";
    const LIST: &str = "/projects/:id/boards/:board_id/lists/:list_id";
    const CARDS: &str = "/projects/:id/boards/:board_id/lists/:list_id/issues";
    const CARD: &str = "/projects/:id/boards/:board_id/issues/:issue_id";
    let (read, manage) = (Access::Project(ReadBoards), Access::Project(ManageBoardLists));
    routes.add(Method::GET, BOARDS, read, "List the boards of a project", list);
    routes.add(Method::GET, LISTS, read, "List the lists of a board", list_lists);
    routes.add(Method::GET, LIST, read, "Get a board list", show_list);
    routes.add(Method::POST, LISTS, manage, "Create a board list", create_list);
    routes.add(Method::PUT, LIST, manage, "Move a board list", move_list);
    routes.add(Method::DELETE, LIST, Access::Project(DeleteBoardList), "Delete a board list", delete_list);
    routes.add(Method::GET, CARDS, Access::Project(ReadIssues), "List the open issues of a board list", list_issues);
    routes.add(Method::PUT, CARD, Access::Project(ManageIssues), "Move an issue between board lists", move_issue);
}
