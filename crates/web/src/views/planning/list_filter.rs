//! What the filter above a list of issues or merge requests offers.

use holdfast_app::planning::issue_form::FormChoices;
use holdfast_domain::planning::{ListKind, ListOrder, ListQuery, MilestoneFilter, PersonFilter, StateFilter};

/// The filter above a list.
#[derive(Clone, Debug)]
pub struct ListFilter {
    pub kind: ListKind,
    pub path: String,
    /// The canonical text of the filter.
    pub query: String,
    pub state: StateFilter,
    pub is_filtered: bool,
    /// Messages about words of the filter that have no effect.
    pub problems: Vec<String>,
    pub states: Vec<StateLink>,
    pub options: FilterOptions,
    pub orders: Vec<OrderChoice>,
    /// Whether the viewer is signed in, and may filter by people.
    pub has_viewer: bool,
}

impl ListFilter {
    /// Builds the filter of a list with this path. `link` returns the path of another query.
    pub fn new(
        kind: ListKind,
        path: String,
        query: &ListQuery,
        choices: &FormChoices,
        has_viewer: bool,
        link: impl Fn(&ListQuery) -> String,
    ) -> Self {
        let state_link = |state: StateFilter| StateLink {
            state,
            label: state_label(state),
            url: link(&ListQuery { state, ..query.clone() }),
            is_current: state == query.state,
            count: None,
        };
        Self {
            kind,
            path,
            query: query.to_string(),
            state: query.state,
            is_filtered: query.is_filtered(),
            problems: Vec::new(),
            states: StateFilter::of(kind).iter().copied().map(state_link).collect(),
            // A name that does not exist is reported, and is no choice.
            options: FilterOptions::new(choices, query),
            orders: orders(query.order),
            has_viewer,
        }
    }

    /// Returns the filter with messages about words that have no effect.
    pub fn with_problems(mut self, problems: impl IntoIterator<Item = String>) -> Self {
        self.problems.extend(problems);
        self
    }

    /// Returns the filter with the number of rows of a state.
    pub fn with_count(mut self, state: StateFilter, count: Option<i64>) -> Self {
        for link in self.states.iter_mut().filter(|link| link.state == state) {
            link.count = count;
        }
        self
    }

    /// Returns whether the list is one of issues, which have due dates.
    pub fn is_of_issues(&self) -> bool {
        self.kind == ListKind::Issues
    }
}

/// A choice of the state.
#[derive(Clone, Debug)]
pub struct StateLink {
    pub state: StateFilter,
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
    /// The number of rows, if it is known without counting.
    pub count: Option<i64>,
}

/// The choices beside the line of the filter.
#[derive(Clone, Debug)]
pub struct FilterOptions {
    pub labels: Vec<FilterOption>,
    pub milestones: Vec<FilterOption>,
    pub assignees: Vec<FilterOption>,
}

#[derive(Clone, Debug)]
pub struct FilterOption {
    pub value: String,
    pub text: String,
    pub is_selected: bool,
}

impl FilterOptions {
    /// Builds the choices. What the query selects is always one of them, even if it does not exist: otherwise the form
    /// would remove it from the query.
    fn new(choices: &FormChoices, query: &ListQuery) -> Self {
        let pair = |value: &str, text: &str| (value.to_owned(), text.to_owned());
        let labels = choices.labels.iter().map(|label| pair(&label.title, &label.title));
        let milestones = choices.milestones.iter().map(|milestone| pair(&milestone.title, &milestone.title));
        let people = choices.people.iter().map(|user| pair(&user.username, &user.name));
        let milestone = query.milestone.as_ref().map(|milestone| match milestone {
            MilestoneFilter::Missing => "none",
            MilestoneFilter::Title(title) => title.as_str(),
        });
        let assignee = query.assignee.as_ref().map(|assignee| match assignee {
            PersonFilter::Missing => "none",
            PersonFilter::Viewer => "@me",
            PersonFilter::Username(username) => username.as_str(),
        });
        let milestones = std::iter::once(pair("none", "No milestone")).chain(milestones);
        let assignees = [pair("@me", "You"), pair("none", "Nobody")].into_iter().chain(people);
        Self {
            labels: filter_options(labels, query.single_label()),
            milestones: filter_options(milestones, milestone),
            assignees: filter_options(assignees, assignee),
        }
    }
}

/// Returns options of which the current one is selected. It is added if it is missing.
fn filter_options(options: impl Iterator<Item = (String, String)>, current: Option<&str>) -> Vec<FilterOption> {
    let option = |(value, text): (String, String)| {
        let is_selected = current == Some(value.as_str());
        FilterOption { value, text, is_selected }
    };
    let mut options: Vec<FilterOption> = options.map(option).collect();
    if let Some(value) = current
        && options.iter().all(|option| !option.is_selected)
    {
        options.push(FilterOption { value: value.to_owned(), text: value.to_owned(), is_selected: true });
    }
    options
}

/// A choice of the order.
#[derive(Clone, Copy, Debug)]
pub struct OrderChoice {
    pub value: &'static str,
    pub label: &'static str,
    pub is_current: bool,
}

/// Returns the orders of a list.
fn orders(current: ListOrder) -> Vec<OrderChoice> {
    let order = |order: ListOrder, label| OrderChoice { value: order.as_str(), label, is_current: order == current };
    vec![
        order(ListOrder::LastUpdated, "Last update"),
        order(ListOrder::LeastRecentlyUpdated, "Longest without update"),
        order(ListOrder::Newest, "Newest"),
        order(ListOrder::Oldest, "Oldest"),
    ]
}

/// Returns the label of a state.
const fn state_label(state: StateFilter) -> &'static str {
    match state {
        StateFilter::Open => "Open",
        StateFilter::Merged => "Merged",
        StateFilter::Closed => "Closed",
        StateFilter::All => "All",
    }
}
