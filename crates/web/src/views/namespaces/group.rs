//! The list of groups, and the page of a group.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;

use crate::layout::Layout;
use crate::views::projects::list::ProjectFilters;
use crate::views::projects::row::{ProjectRow, rows};
use crate::views::visibility::VisibilityView;
use crate::views::{Pages, Person, links, person};
use crate::words::Time;

#[derive(Template)]
#[template(path = "namespaces/group_list.html")]
pub struct GroupListPage {
    pub layout: Layout,
    pub search: String,
    pub groups: Vec<GroupRow>,
    pub pages: Pages,
}

/// A group as one row of a list.
#[derive(Clone, Debug)]
pub struct GroupRow {
    pub url: String,
    pub name: String,
    pub path: String,
    pub initials: String,
    pub color: &'static str,
    pub description: Option<String>,
    pub visibility: VisibilityView,
    pub created: Time,
}

/// Builds the list of groups.
pub fn group_list_page(mut layout: Layout, groups: &Page<Group>, search: &str, now: DateTime<Utc>) -> GroupListPage {
    "Groups".clone_into(&mut layout.title);
    let row = |group: &Group| GroupRow {
        url: links::group(&group.path),
        name: group.name.clone(),
        path: group.path.clone(),
        initials: person::initials(&group.name).chars().take(1).collect(),
        color: person::color(&group.path),
        description: description(group),
        visibility: group.visibility.into(),
        created: Time::age(group.created_at, now),
    };
    GroupListPage {
        layout,
        search: search.to_owned(),
        groups: groups.items.iter().map(row).collect(),
        pages: Pages::new(groups, "/groups", &[("search", search)]),
    }
}

fn description(group: &Group) -> Option<String> {
    Some(group.description.clone()).filter(|text| !text.trim().is_empty())
}

#[derive(Template)]
#[template(path = "namespaces/group.html")]
pub struct GroupPage {
    pub layout: Layout,
    pub name: String,
    pub path: String,
    pub url: String,
    pub initials: String,
    pub color: &'static str,
    pub description: Option<String>,
    pub visibility: VisibilityView,
    pub created: Time,
    pub filters: ProjectFilters,
    pub projects: Vec<ProjectRow>,
    pub pages: Pages,
    /// Some of the members, if the viewer may see them.
    pub members: Vec<Person>,
}

/// Builds the page of a group with its projects. `members` is empty if the viewer may not see them.
pub fn group_page(
    mut layout: Layout,
    group: &Group,
    projects: &Page<Project>,
    members: Vec<Person>,
    filters: ProjectFilters,
    now: DateTime<Utc>,
) -> GroupPage {
    layout.title.clone_from(&group.name);
    let url = links::group(&group.path);
    let parameters = [("search", filters.search.as_str()), ("order", filters.order.as_str())];
    GroupPage {
        name: group.name.clone(),
        path: group.path.clone(),
        initials: person::initials(&group.name).chars().take(1).collect(),
        color: person::color(&group.path),
        description: description(group),
        visibility: group.visibility.into(),
        created: Time::date(group.created_at),
        projects: rows(&projects.items, now),
        pages: Pages::new(projects, &url, &parameters),
        members,
        filters,
        url,
        layout,
    }
}
