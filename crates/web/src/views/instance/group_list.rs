//! The list of all groups for administrators.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::instance::group::{GroupList, GroupOwner};
use holdfast_app::namespaces::group::Group;

use super::admin_nav::admin_frame;
use crate::layout::Layout;
use crate::views::visibility::VisibilityView;
use crate::views::{Pages, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "instance/groups.html")]
pub struct AdminGroupsPage {
    pub layout: Layout,
    pub search: String,
    pub groups: Vec<AdminGroupRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct AdminGroupRow {
    pub url: String,
    pub name: String,
    pub path: String,
    pub visibility: VisibilityView,
    /// Some of the owners.
    pub owners: Vec<OwnerLink>,
    pub created: Time,
}

/// An owner with the page on which the user is managed.
#[derive(Clone, Debug)]
pub struct OwnerLink {
    pub name: String,
    pub url: String,
}

/// Builds the list of groups.
pub fn admin_groups_page(layout: Layout, list: &GroupList, search: &str, now: DateTime<Utc>) -> AdminGroupsPage {
    let owner = |owner: &GroupOwner| OwnerLink { name: owner.name.clone(), url: links::admin_user(owner.user_id) };
    let row = |group: &Group| AdminGroupRow {
        url: links::group(&group.path),
        name: group.name.clone(),
        path: group.path.clone(),
        visibility: group.visibility.into(),
        owners: list.owners.get(&group.id.get()).into_iter().flatten().map(owner).collect(),
        created: Time::ago(group.created_at, now),
    };
    AdminGroupsPage {
        layout: admin_frame(layout, "Groups"),
        groups: list.groups.items.iter().map(row).collect(),
        pages: Pages::new(&list.groups, "/admin/groups", &[("search", search)]),
        search: search.to_owned(),
    }
}
