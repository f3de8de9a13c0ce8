//! Lists of projects: all that the viewer may see, and the viewer's own.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;

use super::row::{ProjectRow, rows};
use crate::layout::Layout;
use crate::views::Pages;
use crate::views::activity::frame::{DashboardTab, dashboard_frame};

#[derive(Template)]
#[template(path = "projects/list.html")]
pub struct ProjectListPage {
    pub layout: Layout,
    pub heading: &'static str,
    /// The path of this list, which the filter form submits to.
    pub path: &'static str,
    pub filters: ProjectFilters,
    pub projects: Vec<ProjectRow>,
    pub pages: Pages,
    pub empty_title: &'static str,
    pub empty_text: &'static str,
}

/// The filters of a list as they are in the address. Empty texts are the defaults.
#[derive(Clone, Debug, Default)]
pub struct ProjectFilters {
    pub search: String,
    /// One of [`ORDERS`].
    pub order: String,
    /// A word of `Visibility::as_str`.
    pub visibility: String,
}

/// The values of the parameter `order` with their labels. The first one is the default.
pub const ORDERS: [(&str, &str); 3] = [("activity", "Recent activity"), ("name", "Name"), ("created", "Newest")];
/// The values of the parameter `visibility` with their labels.
pub const VISIBILITIES: [(&str, &str); 4] =
    [("", "Any visibility"), ("public", "Public"), ("internal", "Internal"), ("private", "Private")];

/// The list that a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedProjects {
    /// `/projects`: everything that the viewer may see.
    Visible,
    /// `/dashboard/projects`: those with a membership of the viewer.
    Own,
    /// `/dashboard/starred`: those that the viewer starred.
    Starred,
}

impl ListedProjects {
    pub const fn path(self) -> &'static str {
        match self {
            Self::Visible => "/projects",
            Self::Own => "/dashboard/projects",
            Self::Starred => "/dashboard/starred",
        }
    }
}

impl ProjectFilters {
    /// Returns whether any filter is set, so that an empty list may have a longer one behind it.
    pub fn is_filtered(&self) -> bool {
        !self.search.is_empty() || !self.visibility.is_empty()
    }
}

/// Builds a list of projects.
pub fn project_list_page(
    mut layout: Layout,
    list: ListedProjects,
    projects: &Page<Project>,
    filters: ProjectFilters,
    now: DateTime<Utc>,
) -> ProjectListPage {
    if list != ListedProjects::Visible {
        layout = dashboard_frame(layout, DashboardTab::Projects);
    }
    let heading = match list {
        ListedProjects::Visible => "Projects",
        ListedProjects::Own => "Your projects",
        ListedProjects::Starred => "Starred projects",
    };
    let (empty_title, empty_text) = match list {
        _ if filters.is_filtered() => ("No projects match", "Change the filter, or clear it to see all projects."),
        ListedProjects::Visible if layout.viewer.is_none() => {
            ("No public projects yet", "Sign in to see the projects that you are a member of.")
        }
        ListedProjects::Visible => ("No projects yet", "Projects that you may see are listed here."),
        ListedProjects::Own => ("No projects yet", "Projects that you create or are a member of are listed here."),
        ListedProjects::Starred => ("No starred projects", "Star a project on its page to find it here."),
    };
    heading.clone_into(&mut layout.title);
    let parameters = [
        ("search", filters.search.as_str()),
        ("visibility", filters.visibility.as_str()),
        ("order", filters.order.as_str()),
    ];
    ProjectListPage {
        layout,
        heading,
        path: list.path(),
        projects: rows(&projects.items, now),
        pages: Pages::new(projects, list.path(), &parameters),
        empty_title,
        empty_text,
        filters,
    }
}
