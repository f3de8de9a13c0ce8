//! The result of a search.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::user::User;
use holdfast_app::namespaces::group::Group;
use holdfast_app::planning::title_search::{FoundIssue, FoundMergeRequest};
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;

use super::row::{ProjectRow, rows};
use crate::layout::{Layout, Tab};
use crate::views::activity::target_row::{Target, TargetRow};
use crate::views::{Pages, Person, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "projects/search.html")]
pub struct SearchPage {
    pub layout: Layout,
    pub text: String,
    /// What is searched, as the parameter says it.
    pub tab: &'static str,
    pub tabs: Vec<Tab>,
    pub found: FoundRows,
    /// None if nothing was searched.
    pub pages: Option<Pages>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchTab {
    Projects,
    Issues,
    MergeRequests,
    Users,
    Groups,
}

impl SearchTab {
    const ALL: [Self; 5] = [Self::Projects, Self::Issues, Self::MergeRequests, Self::Users, Self::Groups];

    /// Returns what the parameter names, if the viewer may search it, else projects.
    pub fn new(word: Option<&str>, is_signed_in: bool) -> Self {
        let is_chosen = |tab: &Self| Some(tab.as_str()) == word && (is_signed_in || tab.is_public());
        Self::ALL.into_iter().find(is_chosen).unwrap_or(Self::Projects)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Projects => "projects",
            Self::Issues => "issues",
            Self::MergeRequests => "merge_requests",
            Self::Users => "users",
            Self::Groups => "groups",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Projects => "Projects",
            Self::Issues => "Issues",
            Self::MergeRequests => "Merge requests",
            Self::Users => "Users",
            Self::Groups => "Groups",
        }
    }

    /// Returns whether anonymous viewers can search it.
    const fn is_public(self) -> bool {
        matches!(self, Self::Projects | Self::Groups)
    }

    fn url(self, text: &str) -> String {
        format!("{PATH}{}", links::query(&[("q", text), ("in", self.as_str())]))
    }
}

const PATH: &str = "/search";

/// What a use case found.
#[derive(Debug)]
pub enum Found {
    /// There was no text.
    Nothing,
    /// All words are too short to be searched.
    TooShort,
    Projects(Page<Project>),
    Issues(Page<FoundIssue>),
    MergeRequests(Page<FoundMergeRequest>),
    Users(Page<User>),
    Groups(Page<Group>),
}

/// The rows of the result.
pub enum FoundRows {
    Nothing,
    TooShort,
    Projects(Vec<ProjectRow>),
    Targets(Vec<TargetRow>),
    Users(Vec<FoundUser>),
    Groups(Vec<FoundGroup>),
}

/// A user as a link.
pub struct FoundUser {
    pub person: Person,
    pub username: String,
}

/// A group as a link.
pub struct FoundGroup {
    pub name: String,
    pub path: String,
    pub url: String,
}

impl FoundRows {
    fn new(found: Found, now: DateTime<Utc>) -> Self {
        match found {
            Found::Nothing => Self::Nothing,
            Found::TooShort => Self::TooShort,
            Found::Projects(page) => Self::Projects(rows(&page.items, now)),
            Found::Issues(page) => Self::Targets(page.items.iter().map(|issue| issue_row(issue, now)).collect()),
            Found::MergeRequests(page) => {
                Self::Targets(page.items.iter().map(|request| merge_request_row(request, now)).collect())
            }
            Found::Users(page) => Self::Users(page.items.iter().map(found_user).collect()),
            Found::Groups(page) => Self::Groups(page.items.iter().map(found_group).collect()),
        }
    }

    pub const fn is_empty(&self) -> bool {
        match self {
            Self::Nothing | Self::TooShort => false,
            Self::Projects(rows) => rows.is_empty(),
            Self::Targets(rows) => rows.is_empty(),
            Self::Users(rows) => rows.is_empty(),
            Self::Groups(rows) => rows.is_empty(),
        }
    }
}

fn issue_row(issue: &FoundIssue, now: DateTime<Utc>) -> TargetRow {
    let (target, time) = (Target::Issue(issue.iid, issue.state), Time::age(issue.created_at, now));
    TargetRow {
        is_confidential: issue.confidential,
        note_count: issue.notes_count.into(),
        ..TargetRow::new(&issue.project_path, target, &issue.title, time)
    }
}

fn merge_request_row(request: &FoundMergeRequest, now: DateTime<Utc>) -> TargetRow {
    let (target, time) = (Target::MergeRequest(request.iid, request.state), Time::age(request.created_at, now));
    let row = TargetRow::new(&request.project_path, target, &request.title, time);
    TargetRow { note_count: request.notes_count.into(), ..row }
}

fn found_user(user: &User) -> FoundUser {
    FoundUser { person: Person::with_account(&user.name, &user.username), username: user.username.clone() }
}

fn found_group(group: &Group) -> FoundGroup {
    FoundGroup { name: group.name.clone(), path: group.path.clone(), url: links::group(&group.path) }
}

/// Builds the page with what matches a text.
pub fn search_page(mut layout: Layout, text: &str, current: SearchTab, found: Found, now: DateTime<Utc>) -> SearchPage {
    layout.title = if text.is_empty() { "Search".to_owned() } else { format!("{text} · Search") };
    let is_signed_in = layout.viewer.is_some();
    let offered = SearchTab::ALL.into_iter().filter(|tab| is_signed_in || tab.is_public());
    let tab = |tab: SearchTab| Tab { label: tab.label(), url: tab.url(text), is_current: tab == current, count: None };
    let filters = [("q", text), ("in", current.as_str())];
    let pages = match &found {
        Found::Nothing | Found::TooShort => None,
        Found::Projects(page) => Some(Pages::new(page, PATH, &filters)),
        Found::Issues(page) => Some(Pages::new(page, PATH, &filters)),
        Found::MergeRequests(page) => Some(Pages::new(page, PATH, &filters)),
        Found::Users(page) => Some(Pages::new(page, PATH, &filters)),
        Found::Groups(page) => Some(Pages::new(page, PATH, &filters)),
    };
    SearchPage {
        text: text.to_owned(),
        tab: current.as_str(),
        tabs: offered.map(tab).collect(),
        found: FoundRows::new(found, now),
        pages,
        layout,
    }
}

impl SearchPage {
    /// Returns what an empty result says.
    pub fn empty_text(&self) -> &'static str {
        match self.tab {
            "issues" => "No issue that you can see has all of these words in its title.",
            "merge_requests" => "No merge request that you can see has all of these words in its title.",
            "users" => "No user has this text in the username or the e-mail address.",
            "groups" => "No group that you can see has this text in its name or path.",
            _ => "No project that you can see has this text in its name or path.",
        }
    }
}
