use axum::http::Method;
use holdfast_app::planning::board;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{BoardId, BoardListId, IssueId, LabelId};
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::{DeleteBoardList, ManageBoardLists, ManageIssues, ReadBoards, ReadIssues};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Body, Listed};
use crate::error::ApiError;
use crate::present::board::{BoardBody, BoardListBody, board as present, list as present_list};
use crate::present::issue::{IssueBody, issue as present_issue};
use crate::{Access, Cx, Routes, params};

/// There is one, which is the first of its list.
async fn list(cx: Cx, params: OneProject) -> ApiResult<Listed<BoardBody>> {
    let board = board::show(cx.app(), &cx.actor, &params.id).await?;
    let boards = if cx.page.offset() == 0 { vec![present(board)] } else { Vec::new() };
    Ok(Listed(Page::of_total(boards, cx.page, 1)))
}

params! {
    struct OneBoard {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required board_id: BoardId,
    }
}

async fn lists(cx: Cx, params: OneBoard) -> ApiResult<Listed<BoardListBody>> {
    let page = board::lists(cx.app(), &cx.actor, &params.id, params.board_id, cx.page).await?;
    Ok(Listed(page.map(present_list)))
}

params! {
    struct OneList {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required board_id: BoardId,
        required list_id: BoardListId,
    }
}

async fn show_list(cx: Cx, params: OneList) -> ApiResult<Body<BoardListBody>> {
    let list = board::show_list(cx.app(), &cx.actor, &params.id, params.board_id, params.list_id).await?;
    Ok(Body(present_list(list)))
}

params! {
    struct CreateList {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required board_id: BoardId,
        required label_id: LabelId,
    }
}

/// 200, as the specification has it.
async fn create_list(cx: Cx, params: CreateList) -> ApiResult<Body<BoardListBody>> {
    let list = board::create_list(cx.app(), &cx.actor, &params.id, params.board_id, params.label_id).await?;
    Ok(Body(present_list(list)))
}

params! {
    struct MoveList {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required board_id: BoardId,
        required list_id: BoardListId,
        /// From 0 on, among the lists there are.
        required position: i32,
    }
}

async fn move_list(cx: Cx, params: MoveList) -> ApiResult<Body<BoardListBody>> {
    let (board, list) = (params.board_id, params.list_id);
    let list = board::move_list(cx.app(), &cx.actor, &params.id, board, list, params.position).await?;
    Ok(Body(present_list(list)))
}

async fn delete_list(cx: Cx, params: OneList) -> ApiResult<Body<BoardListBody>> {
    let list = board::delete_list(cx.app(), &cx.actor, &params.id, params.board_id, params.list_id).await?;
    Ok(Body(present_list(list)))
}

async fn cards(cx: Cx, params: OneList) -> ApiResult<Listed<IssueBody>> {
    let (board, list) = (params.board_id, params.list_id);
    let page = board::cards(cx.app(), &cx.actor, &params.id, board, list, cx.page).await?;
    Ok(Listed(page.map(|issue| present_issue(issue, cx.site()))))
}

params! {
    struct MoveCard {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        required board_id: BoardId,
        required issue_id: IssueId,
        /// The list that it leaves; none for the backlog.
        optional from_list_id: BoardListId,
        /// The list into which it goes; none for the backlog.
        optional to_list_id: BoardListId,
    }
}

async fn move_card(cx: Cx, params: MoveCard) -> ApiResult<Body<IssueBody>> {
    let (from, to) = (params.from_list_id, params.to_list_id);
    if from.is_none() && to.is_none() {
        return Err(ApiError::at_least_one(&["from_list_id", "to_list_id"]));
    }
    let (board, issue) = (params.board_id, params.issue_id);
    let issue = board::move_card(cx.app(), &cx.actor, &params.id, board, issue, from, to).await?;
    Ok(Body(present_issue(issue, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    const BOARDS: &str = "/projects/:id/boards";
    const LISTS: &str = "/projects/:id/boards/:board_id/lists";
    const LIST: &str = "/projects/:id/boards/:board_id/lists/:list_id";
    const CARDS: &str = "/projects/:id/boards/:board_id/lists/:list_id/issues";
    const CARD: &str = "/projects/:id/boards/:board_id/issues/:issue_id";
    let (read, manage) = (Access::Project(ReadBoards), Access::Project(ManageBoardLists));
    routes.add(Method::GET, BOARDS, read, "Lists a project's boards, of which there is one", list);
    routes.add(Method::GET, LISTS, read, "Lists the lists of a board", lists);
    routes.add(Method::GET, LIST, read, "Shows a list", show_list);
    routes.add(Method::POST, LISTS, manage, "Adds a list for a label", create_list);
    routes.add(Method::PUT, LIST, manage, "Moves a list to another place", move_list);
    routes.add(Method::DELETE, LIST, Access::Project(DeleteBoardList), "Removes a list", delete_list);
    routes.add(Method::GET, CARDS, Access::Project(ReadIssues), "Lists the open issues in a list", cards);
    routes.add(Method::PUT, CARD, Access::Project(ManageIssues), "Moves an issue from list to list", move_card);
}
