//! Presents labels.

use holdfast_app::planning::label::Label;
use serde::Serialize;
use utoipa::ToSchema;

/// A label. The counts include only issues visible to the current user.
#[derive(Serialize, ToSchema)]
pub struct LabelBody {
    pub id: i64,
    pub name: String,
    /// Color as `#` and six hexadecimal digits.
    pub color: String,
    pub description: Option<String>,
    pub open_issues_count: i32,
    pub closed_issues_count: i32,
    pub open_merge_requests_count: i32,
    /// Whether the current user is subscribed.
    pub subscribed: bool,
    pub priority: Option<i32>,
}

pub fn present_label(label: Label) -> LabelBody {
    LabelBody {
        id: label.id.get(),
        name: label.title,
        color: label.color,
        description: label.description,
        open_issues_count: label.open_issues,
        closed_issues_count: label.closed_issues,
        open_merge_requests_count: label.open_merge_requests,
        subscribed: label.subscribed,
        priority: label.priority,
    }
}
