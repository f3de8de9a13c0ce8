//! The list of the viewer's todos.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::todo::TodoRow;
use holdfast_domain::page::Page;

use super::frame::{DashboardTab, dashboard_frame};
use super::list_filter::FilterLink;
use super::target_row::TargetRow;
use crate::layout::Layout;
use crate::views::Pages;

#[derive(Template)]
#[template(path = "activity/todos.html")]
pub struct TodosPage {
    pub layout: Layout,
    /// Whether the todos that are done are listed, and not the pending ones.
    pub is_done: bool,
    pub states: [FilterLink; 2],
    pub todos: Vec<TargetRow>,
    pub pages: Pages,
}

const PATH: &str = "/dashboard/todos";
/// The word of the address that selects the todos that are done.
pub const DONE: &str = "done";

/// Builds the list of todos that are pending or done.
pub fn todos_page(layout: Layout, todos: &Page<TodoRow>, is_done: bool, now: DateTime<Utc>) -> TodosPage {
    let mut layout = dashboard_frame(layout, DashboardTab::Todos);
    "Your todos".clone_into(&mut layout.title);
    TodosPage {
        layout,
        is_done,
        states: [
            FilterLink { label: "Pending", url: PATH.to_owned(), is_current: !is_done },
            FilterLink { label: "Done", url: format!("{PATH}?state={DONE}"), is_current: is_done },
        ],
        todos: todos.items.iter().map(|todo| TargetRow::from_todo(todo, now)).collect(),
        pages: Pages::new(todos, PATH, &[("state", if is_done { DONE } else { "" })]),
    }
}
