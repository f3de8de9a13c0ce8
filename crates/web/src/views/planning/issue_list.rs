//! The list of issues of a project.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::planning::issue::Issue;
use holdfast_app::planning::issue_form::IssueChoices;
use holdfast_app::planning::issue_search::IssueSearch;
use holdfast_app::planning::label::Label;
use holdfast_domain::planning::{IssueOrder, IssueQuery, IssueState, MilestoneFilter, PersonFilter, StateFilter};

use super::choices::{PersonChoice, people};
use super::label::{LabelChip, LabelChips};
use crate::abilities::Abilities;
use crate::layout::Layout;
use crate::views::projects::frame::{ProjectTab, project_frame};
use crate::views::{Pages, Person, ProjectLinks};
use crate::words::Time;

#[derive(Template)]
#[template(path = "planning/issues.html")]
pub struct IssuesPage {
    pub layout: Layout,
    pub path: String,
    /// The canonical text of the filter.
    pub query: String,
    pub state: StateFilter,
    pub is_filtered: bool,
    /// Messages about words of the filter that have no effect.
    pub problems: Vec<String>,
    pub states: Vec<StateLink>,
    pub issues: Vec<IssueRow>,
    pub pages: Pages,
    pub filters: FilterOptions,
    /// Titles of labels and milestones that the selected issues can get.
    pub labels: Vec<String>,
    pub milestones: Vec<String>,
    pub people: Vec<PersonChoice>,
    pub orders: Vec<OrderChoice>,
    pub labels_url: String,
    pub milestones_url: String,
    /// The address of the form of a new issue, if the viewer may create one.
    pub new_url: Option<String>,
    /// The address of the action that changes several issues, if the viewer may change them.
    pub bulk_url: Option<String>,
}

/// A choice of the state: open, closed or all.
#[derive(Clone, Debug)]
pub struct StateLink {
    pub label: &'static str,
    pub url: String,
    pub is_current: bool,
    /// The number of issues, if it is known without counting.
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
    fn new(choices: &IssueChoices, query: &IssueQuery) -> Self {
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

#[derive(Clone, Debug)]
pub struct IssueRow {
    pub url: String,
    pub iid: i64,
    pub title: String,
    pub is_closed: bool,
    pub is_confidential: bool,
    pub labels: Vec<LabelChip>,
    pub milestone: Option<String>,
    pub note_count: i64,
    pub assignee: Option<Person>,
    pub updated: Time,
}

/// What the list shows.
#[derive(Clone, Debug)]
pub struct IssueListInput<'a> {
    pub found: &'a IssueSearch,
    pub query: &'a IssueQuery,
    /// Messages about words of the filter that are not understood.
    pub problems: Vec<String>,
}

/// Builds the list of issues.
pub fn issues_page(layout: Layout, abilities: Abilities, input: IssueListInput<'_>, now: DateTime<Utc>) -> IssuesPage {
    let IssueListInput {
        found: IssueSearch { project, issues, choices, other_labels, problems: unknown },
        query,
        problems,
    } = input;
    let links = ProjectLinks::new(&project.full_path());
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Issues);
    layout.title = format!("Issues · {}", project.full_path());
    let labels: Vec<Label> = choices.labels.iter().chain(other_labels).cloned().collect();
    let chips = LabelChips::new(&labels, &links);
    let row = |issue: &Issue| IssueRow {
        url: links.issue(issue.iid),
        iid: issue.iid,
        title: issue.title.clone(),
        is_closed: issue.state == IssueState::Closed,
        is_confidential: issue.confidential,
        labels: chips.chips(&issue.labels),
        milestone: issue.milestone.as_ref().map(|milestone| milestone.title.clone()),
        note_count: issue.notes_count.into(),
        assignee: issue.assignee.as_ref().map(Person::from_user),
        updated: Time::age(issue.updated_at, now),
    };
    let open_count = i64::from(project.open_issues(abilities.can_manage_issues));
    let state_link = |state: StateFilter| {
        let is_current = state == query.state;
        let counted = (state == StateFilter::Open && !query.is_filtered()).then_some(open_count);
        StateLink {
            label: match state {
                StateFilter::Open => "Open",
                StateFilter::Closed => "Closed",
                StateFilter::All => "All",
            },
            url: links.issues_matching(&IssueQuery { state, ..query.clone() }),
            is_current,
            count: if is_current { issues.total } else { counted },
        }
    };
    let order =
        |order: IssueOrder, label| OrderChoice { value: order.as_str(), label, is_current: order == query.order };
    let text = if *query == IssueQuery::default() { String::new() } else { query.to_string() };
    let path = links.issues();
    IssuesPage {
        layout,
        query: query.to_string(),
        state: query.state,
        is_filtered: query.is_filtered(),
        problems: problems.into_iter().chain(unknown.iter().cloned()).collect(),
        states: StateFilter::ALL.map(state_link).into(),
        issues: issues.items.iter().map(row).collect(),
        pages: Pages::new(issues, &path, &[("q", &text)]),
        path,
        // A name that does not exist is reported, and is no choice.
        filters: FilterOptions::new(choices, query),
        labels: choices.labels.iter().map(|label| label.title.clone()).collect(),
        milestones: choices.milestones.iter().map(|milestone| milestone.title.clone()).collect(),
        people: people(&choices.people),
        orders: vec![
            order(IssueOrder::LastUpdated, "Last update"),
            order(IssueOrder::LeastRecentlyUpdated, "Longest without update"),
            order(IssueOrder::Newest, "Newest"),
            order(IssueOrder::Oldest, "Oldest"),
        ],
        labels_url: links.labels(),
        milestones_url: links.milestones(),
        new_url: abilities.can_create_issues.then(|| links.new_issue()),
        bulk_url: (abilities.can_manage_issues && !issues.items.is_empty()).then(|| links.issues_bulk()),
    }
}
