//! Presents the board of a project and its lists.

use holdfast_app::planning::board::{Board, BoardList};
use serde::Serialize;
use utoipa::ToSchema;

use super::label::text_color;
use crate::InstanceUrls;
use crate::present::project_summary::{ProjectSummaryBody, present_project_summary};

/// The board of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectBoard {
    pub id: i64,
    /// Always `Development`.
    pub name: &'static str,
    pub hide_backlog_list: bool,
    pub hide_closed_list: bool,
    pub project: ProjectSummaryBody,
    /// Lists of the board, from left to right.
    pub lists: Vec<LabelBoardList>,
}

/// A column of a board, with the open issues that have its label.
#[derive(Serialize, ToSchema)]
pub struct LabelBoardList {
    pub id: i64,
    pub label: BoardLabel,
    /// Position on the board, starting at 0.
    pub position: i32,
    /// Always `label`.
    pub list_type: &'static str,
    pub max_issue_count: i32,
    pub max_issue_weight: i32,
    pub limit_metric: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct BoardLabel {
    pub id: i64,
    pub name: String,
    pub color: String,
    pub description: Option<String>,
    pub text_color: &'static str,
}

pub fn present_board(board: Board, site: &InstanceUrls) -> ProjectBoard {
    ProjectBoard {
        id: board.id.get(),
        name: "Development",
        hide_backlog_list: false,
        hide_closed_list: false,
        project: present_project_summary(board.project, site),
        lists: board.lists.into_iter().map(present_list).collect(),
    }
}

pub fn present_list(list: BoardList) -> LabelBoardList {
    LabelBoardList {
        id: list.id.get(),
        label: BoardLabel {
            id: list.label_id.get(),
            name: list.title,
            text_color: text_color(&list.color),
            color: list.color,
            description: list.description,
        },
        position: list.position,
        list_type: "label",
        max_issue_count: 0,
        max_issue_weight: 0,
        limit_metric: None,
    }
}
