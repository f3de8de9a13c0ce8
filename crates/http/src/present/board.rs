use holdfast_app::planning::board::{Board, BoardList};
use serde::Serialize;
use utoipa::ToSchema;

/// A project's board.
#[derive(Serialize, ToSchema)]
pub struct BoardBody {
    pub id: i64,
    /// From left to right.
    pub lists: Vec<BoardListBody>,
}

/// A column of a board: the issues with a label.
#[derive(Serialize, ToSchema)]
pub struct BoardListBody {
    pub id: i64,
    pub label: ListLabel,
    /// From 0 on.
    pub position: i32,
}

#[derive(Serialize, ToSchema)]
pub struct ListLabel {
    pub name: String,
    pub color: String,
    pub description: Option<String>,
}

pub fn board(board: Board) -> BoardBody {
    BoardBody { id: board.id.get(), lists: board.lists.into_iter().map(list).collect() }
}

pub fn list(list: BoardList) -> BoardListBody {
    BoardListBody {
        id: list.id.get(),
        label: ListLabel { name: list.title, color: list.color, description: list.description },
        position: list.position,
    }
}
