//! The filter of a list of issues or merge requests, from the address to the query of the use case.

use holdfast_domain::planning::{
    ListKind, ListOrder, ListQuery, MilestoneFilter, ParsedQuery, PersonFilter, StateFilter,
};
use holdfast_http_core::params;
use holdfast_http_core::params::LabelTitles;

params! {
    /// The choices beside the filter. Each of them changes the words of the filter.
    pub struct PickerParams {
        /// A state, as the filter names it after `is:`.
        optional state: String,
        /// Titles of labels, separated by commas.
        optional labels: LabelTitles,
        /// The title of a milestone, or an empty text.
        optional milestone: String,
        /// A username, `@me`, or `none`.
        optional assignee: String,
        /// A value of `sort:`.
        optional order: String,
        /// The filter of the page with the choices.
        optional shown: String,
    }
}

/// Maximum length of a filter in bytes. Arbitrary.
const MAX_QUERY_BYTES: usize = 1000;
/// The value of a picker that selects what has no milestone or no assignee. Titles can be equal to it; the filter
/// `milestone:none` finds them.
const NONE: &str = "none";

impl PickerParams {
    /// Changes the words of a filter by what was chosen. A choice that the page of the form showed already changes
    /// nothing, because the user may have changed the line of the filter instead. Returns false if nothing was changed.
    pub fn apply(self, kind: ListKind, query: &mut ListQuery) -> bool {
        let before = query.clone();
        if let Some(state) = self.state.and_then(|word| StateFilter::from_str_opt(kind, word.trim())) {
            query.state = state;
        }
        let shown = self.shown.map(|line| parse_line(kind, &line).query);
        if let Some(order) = self.order.and_then(|word| ListOrder::from_str_opt(word.trim()))
            && shown.as_ref().map(|shown| shown.order) != Some(order)
        {
            query.order = order;
        }
        let shown = shown.unwrap_or_default();
        if let Some(LabelTitles(titles)) = self.labels {
            let current = shown.single_label();
            if titles.len() > 1 || titles.first().map(String::as_str) != current {
                query.labels.retain(|title| Some(title.as_str()) != current);
                for title in titles {
                    if !query.labels.contains(&title) {
                        query.labels.push(title);
                    }
                }
            }
        }
        if let Some(title) = self.milestone {
            let milestone = match title.trim() {
                "" => None,
                NONE => Some(MilestoneFilter::Missing),
                title => Some(MilestoneFilter::Title(title.to_owned())),
            };
            if milestone != shown.milestone {
                query.milestone = milestone;
            }
        }
        if let Some(name) = self.assignee {
            let assignee = match name.trim() {
                "" => None,
                NONE => Some(PersonFilter::Missing),
                "@me" => Some(PersonFilter::Viewer),
                name => Some(PersonFilter::Username(name.to_owned())),
            };
            if assignee != shown.assignee {
                query.assignee = assignee;
            }
        }
        *query != before
    }
}

/// Parses the first bytes of a line.
pub fn parse_line(kind: ListKind, line: &str) -> ParsedQuery {
    let mut end = line.len().min(MAX_QUERY_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    ListQuery::parse(kind, &line[..end])
}
