//! The list of labels of a project.

use askama::Template;
use holdfast_app::planning::label::Label;
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;

use super::label::{LabelChip, LabelChips};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, ProjectLinks};

#[derive(Template)]
#[template(path = "planning/labels.html")]
pub struct LabelsPage {
    pub layout: Layout,
    pub links: ProjectLinks,
    pub abilities: Abilities,
    pub labels: Vec<LabelRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct LabelRow {
    /// The address that the forms of the label are sent to.
    pub url: String,
    pub chip: LabelChip,
    pub priority: Option<i32>,
    pub open_issues: i32,
    pub closed_issues: i32,
    pub is_subscribed: bool,
}

/// Builds the list of labels.
pub fn labels_page(layout: Layout, project: &Project, abilities: Abilities, labels: &Page<Label>) -> LabelsPage {
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Labels · {}", project.full_path());
    let chips = LabelChips::new(&labels.items, &links);
    let row = |label: &Label| LabelRow {
        url: links.label(label.id),
        chip: chips.chip(&label.title),
        priority: label.priority,
        open_issues: label.open_issues,
        closed_issues: label.closed_issues,
        is_subscribed: label.subscribed,
    };
    let rows = labels.items.iter().map(row).collect();
    LabelsPage { layout, abilities, labels: rows, pages: Pages::new(labels, &links.labels(), &[]), links }
}
