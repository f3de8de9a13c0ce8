use axum::http::Method;
use holdfast_app::planning::board;
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ids::{BoardId, BoardListId, LabelId};
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::{DeleteBoardList, ManageBoardLists, ReadBoards};

use super::ApiResult;
use super::projects::OneProject;
use crate::present::v4::board::{LabelBoardList, ProjectBoard, present_board, present_list};
use crate::response::{Body, Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

/// Lists the boards of a project. There is exactly one.
async fn list(context: RequestContext, params: OneProject) -> ApiResult<PageBody<ProjectBoard>> {
    let board = board::show(context.app(), &context.actor, &params.id).await?;
    let boards = if context.page.offset() == 0 { vec![present_board(board, context.site())] } else { Vec::new() };
    Ok(PageBody(Page::with_total(boards, context.page, 1)))
}

params! {
    struct OneBoard {
        required id: ProjectRef,
        /// Id of the board, which is the id of its project.
        required board_id: BoardId,
    }
}

async fn show(context: RequestContext, params: OneBoard) -> ApiResult<Body<ProjectBoard>> {
    let board = board::show_by_id(context.app(), &context.actor, &params.id, params.board_id).await?;
    Ok(Body(present_board(board, context.site())))
}

async fn list_lists(context: RequestContext, params: OneBoard) -> ApiResult<PageBody<LabelBoardList>> {
    let page = board::list_lists(context.app(), &context.actor, &params.id, params.board_id, context.page).await?;
    Ok(PageBody(page.map(present_list)))
}

params! {
    struct OneList {
        flatten board: OneBoard,
        /// Id of the board list.
        required list_id: BoardListId,
    }
}

async fn show_list(context: RequestContext, params: OneList) -> ApiResult<Body<LabelBoardList>> {
    let OneBoard { id, board_id } = params.board;
    let list = board::show_list(context.app(), &context.actor, &id, board_id, params.list_id).await?;
    Ok(Body(present_list(list)))
}

params! {
    struct CreateList {
        flatten board: OneBoard,
        /// Id of the label whose issues the list shows.
        required label_id: LabelId,
    }
}

async fn create_list(context: RequestContext, params: CreateList) -> ApiResult<Created<LabelBoardList>> {
    let OneBoard { id, board_id } = params.board;
    let list = board::create_list(context.app(), &context.actor, &id, board_id, params.label_id).await?;
    Ok(Created(present_list(list)))
}

params! {
    struct MoveList {
        flatten list: OneList,
        /// New position among the lists of the board, starting at 0.
        required position: i32,
    }
}

async fn move_list(context: RequestContext, params: MoveList) -> ApiResult<Body<LabelBoardList>> {
    let OneList { board: OneBoard { id, board_id }, list_id } = params.list;
    let (actor, board) = (&context.actor, Some(board_id));
    let list = board::move_list(context.app(), actor, &id, board, list_id, params.position).await?;
    Ok(Body(present_list(list)))
}

async fn delete_list(context: RequestContext, params: OneList) -> ApiResult<NoContent> {
    let OneBoard { id, board_id } = params.board;
    board::delete_list(context.app(), &context.actor, &id, Some(board_id), params.list_id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const BOARDS: &str = "/projects/:id/boards";
    const BOARD: &str = "/projects/:id/boards/:board_id";
    const LISTS: &str = "/projects/:id/boards/:board_id/lists";
    const LIST: &str = "/projects/:id/boards/:board_id/lists/:list_id";
    let (read, manage) = (Access::Project(ReadBoards), Access::Project(ManageBoardLists));
    routes.add(Method::GET, BOARDS, read, "List the boards of a project", list);
    routes.add(Method::GET, BOARD, read, "Get a board", show);
    routes.add(Method::GET, LISTS, read, "List the lists of a board", list_lists);
    routes.add(Method::GET, LIST, read, "Get a board list", show_list);
    routes.add(Method::POST, LISTS, manage, "Create a board list", create_list);
    routes.add(Method::PUT, LIST, manage, "Move a board list", move_list);
    routes.add(Method::DELETE, LIST, Access::Project(DeleteBoardList), "Delete a board list", delete_list);
}
