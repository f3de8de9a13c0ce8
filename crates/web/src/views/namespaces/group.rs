//! The list of groups, and the page of a group.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::group::GroupHome;
use holdfast_domain::page::Page;

use super::access_request::{AccessRequestButton, AccessRequestState};
use super::frame::{GroupTab, group_frame};
use crate::abilities::GroupAbilities;
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
    pub members_url: String,
    pub access_request: Option<AccessRequestButton>,
    /// The address of the form that creates a project in the group, if the viewer may.
    pub new_project_url: Option<String>,
}

/// Builds the page of a group with its projects.
pub fn group_page(
    layout: Layout,
    home: &GroupHome,
    abilities: GroupAbilities,
    filters: ProjectFilters,
    now: DateTime<Utc>,
) -> GroupPage {
    let (group, projects) = (&home.group, &home.projects);
    let mut layout = group_frame(layout, group, abilities, GroupTab::Projects);
    layout.title.clone_from(&group.name);
    let state = AccessRequestState::new((home.has_requested_access, abilities.can_request_access));
    let (request_url, withdraw_url) =
        (links::group_page(&group.path, "request_access"), links::group_page(&group.path, "withdraw_request"));
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
        members: home.members.iter().map(|member| Person::from_user(&member.user)).collect(),
        members_url: links::group_page(&group.path, "members"),
        access_request: AccessRequestButton::for_viewer(state, request_url, withdraw_url),
        new_project_url: abilities
            .can_create_project
            .then(|| format!("/new{}", links::query(&[("namespace_id", &group.id.to_string())]))),
        filters,
        url,
        layout,
    }
}
