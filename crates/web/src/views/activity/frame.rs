//! The tabs of the pages about the viewer.

use crate::layout::{Layout, Tab};

/// A page about the viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashboardTab {
    Dashboard,
    Projects,
    MergeRequests,
    Issues,
    Todos,
    Activity,
}

impl DashboardTab {
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Dashboard, "Dashboard", "/"),
        (Self::Projects, "Projects", "/dashboard/projects"),
        (Self::MergeRequests, "Merge requests", "/dashboard/merge_requests"),
        (Self::Issues, "Issues", "/dashboard/issues"),
        (Self::Todos, "Todos", "/dashboard/todos"),
        (Self::Activity, "Activity", "/dashboard/activity"),
    ];
}

/// Returns the frame with the tabs of the pages about the viewer.
pub fn dashboard_frame(layout: Layout, current: DashboardTab) -> Layout {
    let tab = |(tab, label, url): (DashboardTab, &'static str, &str)| Tab {
        label,
        url: url.to_owned(),
        is_current: tab == current,
        count: None,
    };
    Layout { tabs: DashboardTab::ALL.into_iter().map(tab).collect(), ..layout }
}
