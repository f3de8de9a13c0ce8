//! Presents the board of a project and its lists.

use holdfast_app::planning::board::{Board, BoardList};
use serde::Serialize;
use utoipa::ToSchema;

/// The board of a project.
#[derive(Serialize, ToSchema)]
pub struct BoardBody {
    pub id: i64,
    /// Lists of the board, from left to right.
    pub lists: Vec<BoardListBody>,
}

/// A column of a board, with the open issues that have its label.
#[derive(Serialize, ToSchema)]
pub struct BoardListBody {
    pub id: i64,
    pub label: ListLabel,
    /// Position on the board, starting at 0.
    pub position: i32,
}

#[derive(Serialize, ToSchema)]
pub struct ListLabel {
    pub name: String,
    pub color: String,
    pub description: Option<String>,
}

pub fn present_board(board: Board) -> BoardBody {
    BoardBody { id: board.id.get(), lists: board.lists.into_iter().map(present_list).collect() }
}

pub fn present_list(list: BoardList) -> BoardListBody {
    BoardListBody {
        id: list.id.get(),
        label: ListLabel { name: list.title, color: list.color, description: list.description },
        position: list.position,
    }
}
