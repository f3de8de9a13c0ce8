use holdfast_app::planning::label::Label;
use serde::Serialize;
use utoipa::ToSchema;

/// A label, with the issues that the caller sees.
#[derive(Serialize, ToSchema)]
pub struct LabelBody {
    pub id: i64,
    pub name: String,
    /// `#` and six digits.
    pub color: String,
    pub description: Option<String>,
    pub open_issues_count: i32,
    pub closed_issues_count: i32,
    pub open_merge_requests_count: i32,
    /// By the caller.
    pub subscribed: bool,
    pub priority: Option<i32>,
}

pub fn label(label: Label) -> LabelBody {
    LabelBody {
        id: label.id.get(),
        name: label.title,
        color: label.color,
        description: label.description,
        open_issues_count: label.open_issues,
        closed_issues_count: label.closed_issues,
        open_merge_requests_count: 0,
        subscribed: label.subscribed,
        priority: label.priority,
    }
}
