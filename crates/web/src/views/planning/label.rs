//! A label as a chip: its title beside a dot of its color, so that the text is readable on any color.

use std::collections::HashMap;

use holdfast_app::planning::label::Label;
use holdfast_domain::planning::IssueQuery;

use crate::views::ProjectLinks;

#[derive(Clone, Debug)]
pub struct LabelChip {
    pub title: String,
    /// The color of the dot, such as `#d5483c`.
    pub color: String,
    pub description: Option<String>,
    /// The address of the open issues with this label.
    pub url: String,
}

/// The color of a label whose own color is not known.
const UNKNOWN_COLOR: &str = "#5f6e75";

/// The labels of a project by title.
pub struct LabelChips<'a> {
    labels: HashMap<&'a str, &'a Label>,
    links: ProjectLinks,
}

impl<'a> LabelChips<'a> {
    pub fn new(labels: &'a [Label], project_links: &ProjectLinks) -> Self {
        let labels = labels.iter().map(|label| (label.title.as_str(), label)).collect();
        Self { labels, links: project_links.clone() }
    }

    /// Returns the chips of an issue's labels.
    pub fn chips(&self, titles: &[String]) -> Vec<LabelChip> {
        titles.iter().map(|title| self.chip(title)).collect()
    }

    /// Returns the chip of one label.
    pub fn chip(&self, title: &str) -> LabelChip {
        let label = self.labels.get(title);
        LabelChip {
            title: title.to_owned(),
            color: label.map_or_else(|| UNKNOWN_COLOR.to_owned(), |label| label.color.clone()),
            description: label.and_then(|label| label.description.clone()).filter(|text| !text.is_empty()),
            url: self.links.issues_matching(&IssueQuery { labels: vec![title.to_owned()], ..IssueQuery::default() }),
        }
    }
}
