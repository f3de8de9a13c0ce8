//! A label as a chip: its title beside a dot of its color, so that the text is readable on any color.

use std::collections::HashMap;

use holdfast_app::planning::label::Label;
use holdfast_domain::planning::{ListKind, ListQuery};

use crate::views::ProjectLinks;

#[derive(Clone, Debug)]
pub struct LabelChip {
    pub title: String,
    /// The color of the dot, such as `#d5483c`.
    pub color: String,
    pub description: Option<String>,
    /// The address of the open issues or merge requests with this label.
    pub url: String,
}

/// The color of a label whose own color is not known.
const UNKNOWN_COLOR: &str = "#5f6e75";

/// The labels of a project by title.
pub struct LabelChips<'a> {
    labels: HashMap<&'a str, &'a Label>,
    links: ProjectLinks,
    kind: ListKind,
}

impl<'a> LabelChips<'a> {
    pub fn new(labels: &'a [Label], project_links: &ProjectLinks) -> Self {
        let labels = labels.iter().map(|label| (label.title.as_str(), label)).collect();
        Self { labels, links: project_links.clone(), kind: ListKind::Issues }
    }

    /// Returns chips that lead to merge requests instead of issues.
    pub fn of_merge_requests(self) -> Self {
        Self { kind: ListKind::MergeRequests, ..self }
    }

    /// Returns the chips of the labels of an issue or a merge request.
    pub fn chips(&self, titles: &[String]) -> Vec<LabelChip> {
        titles.iter().map(|title| self.chip(title)).collect()
    }

    /// Returns the chip of one label.
    pub fn chip(&self, title: &str) -> LabelChip {
        let label = self.labels.get(title);
        let query = ListQuery { labels: vec![title.to_owned()], ..ListQuery::default() };
        LabelChip {
            title: title.to_owned(),
            color: label.map_or_else(|| UNKNOWN_COLOR.to_owned(), |label| label.color.clone()),
            description: label.and_then(|label| label.description.clone()).filter(|text| !text.is_empty()),
            url: match self.kind {
                ListKind::Issues => self.links.issues_matching(&query),
                ListKind::MergeRequests => self.links.merge_requests_matching(&query),
            },
        }
    }
}
