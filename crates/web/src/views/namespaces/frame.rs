//! The frame of all pages of a group: its name in the header, and its tabs.

use holdfast_app::namespaces::group::Group;

use crate::abilities::GroupAbilities;
use crate::layout::{Crumb, Layout, Tab};
use crate::views::links;

/// A tab of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupTab {
    Projects,
    Members,
    AccessTokens,
    Settings,
}

/// Returns the frame with the name and the tabs of a group. Tabs that the viewer may not open are left out.
pub fn group_frame(mut layout: Layout, group: &Group, abilities: GroupAbilities, current: GroupTab) -> Layout {
    let url = links::group(&group.path);
    layout.crumbs = vec![Crumb { label: group.name.clone(), url: Some(url.clone()) }];
    let tab = |tab: GroupTab, label, url| Tab { label, url, is_current: tab == current, count: None };
    layout.tabs = vec![tab(GroupTab::Projects, "Projects", url)];
    if abilities.can_read_members {
        layout.tabs.push(tab(GroupTab::Members, "Members", links::group_page(&group.path, "members")));
    }
    if abilities.can_manage_members {
        let url = links::group_page(&group.path, "access_tokens");
        layout.tabs.push(tab(GroupTab::AccessTokens, "Access tokens", url));
    }
    if abilities.can_update {
        layout.tabs.push(tab(GroupTab::Settings, "Settings", links::group_page(&group.path, "settings")));
    }
    layout
}
