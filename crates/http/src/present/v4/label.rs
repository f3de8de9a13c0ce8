//! Presents labels.

use holdfast_app::planning::label::{AttachedLabel, Label};
use serde::Serialize;
use utoipa::ToSchema;

/// A label of a project.
#[derive(Serialize, ToSchema)]
pub struct ProjectLabel {
    #[serde(flatten)]
    pub detail: LabelDetail,
    pub archived: bool,
    /// Number of open issues that are visible to the current user. Only if `with_counts` is set, as the other counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_issues_count: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_issues_count: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_merge_requests_count: Option<i32>,
    /// Whether the current user is subscribed.
    pub subscribed: bool,
    pub priority: Option<i32>,
    /// Always true: groups have no labels.
    pub is_project_label: bool,
}

/// A label as a part of an issue or a merge request.
#[derive(Serialize, ToSchema)]
pub struct LabelDetail {
    pub id: i64,
    pub name: String,
    pub description: Option<String>,
    /// Description as HTML.
    pub description_html: String,
    /// Color of text that is readable on the color of the label.
    pub text_color: &'static str,
    /// Color as `#` and six hexadecimal digits.
    pub color: String,
}

/// The labels of an issue or a merge request: their names, or with `with_labels_details` more of each.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum LabelList {
    Names(Vec<String>),
    Details(Vec<LabelDetail>),
}

/// Whether a label is presented with the numbers of its issues and merge requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelCounts {
    Shown,
    Hidden,
}

pub fn present_label(label: Label, counts: LabelCounts) -> ProjectLabel {
    let shown = |count: i32| (counts == LabelCounts::Shown).then_some(count);
    ProjectLabel {
        detail: detail(label.id.get(), label.title, label.color, label.description),
        archived: false,
        open_issues_count: shown(label.open_issues),
        closed_issues_count: shown(label.closed_issues),
        open_merge_requests_count: shown(label.open_merge_requests),
        subscribed: label.subscribed,
        priority: label.priority,
        is_project_label: true,
    }
}

/// Presents the labels of one issue or merge request, among those of all that a list shows.
pub fn present_attached(labels: &[AttachedLabel], target_id: i64) -> LabelList {
    let attached = labels.iter().filter(|label| label.target_id == target_id).cloned();
    LabelList::Details(attached.map(|it| detail(it.id.get(), it.title, it.color, it.description)).collect())
}

fn detail(id: i64, title: String, color: String, description: Option<String>) -> LabelDetail {
    LabelDetail {
        id,
        name: title,
        description_html: description.as_deref().map(escape_html).unwrap_or_default(),
        description,
        text_color: text_color(&color),
        color,
    }
}

pub(super) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the color of text that is readable on a color: dark on a light one, white on a dark one.
pub(super) fn text_color(color: &str) -> &'static str {
    let parts = [1..3, 3..5, 5..7].map(|range| color.get(range).and_then(|part| u32::from_str_radix(part, 16).ok()));
    let is_light = parts.into_iter().sum::<Option<u32>>().is_some_and(|sum| sum > 500);
    if is_light { "#1F1E24" } else { "#FFFFFF" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_readable_on_its_label() {
        for (color, text) in
            [("#FFFFFF", "#1F1E24"), ("#ffcc00", "#FFFFFF"), ("#ffee88", "#1F1E24"), ("#000000", "#FFFFFF")]
        {
            assert_eq!(text_color(color), text, "{color}");
        }
    }

    #[test]
    fn descriptions_are_escaped() {
        assert_eq!(escape_html("a <b> & \"c\""), "a &lt;b&gt; &amp; &quot;c&quot;");
    }
}
