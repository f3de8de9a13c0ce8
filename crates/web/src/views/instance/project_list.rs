//! The list of all projects for administrators.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::projects::project::Project;
use holdfast_domain::page::Page;

use super::admin_nav::admin_frame;
use crate::layout::Layout;
use crate::views::projects::list::ProjectFilters;
use crate::views::visibility::VisibilityView;
use crate::views::{Pages, ProjectLinks, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "instance/projects.html")]
pub struct AdminProjectsPage {
    pub layout: Layout,
    pub filters: ProjectFilters,
    /// One of [`ARCHIVED`].
    pub archived: &'static str,
    pub projects: Vec<AdminProjectRow>,
    pub pages: Pages,
}

#[derive(Clone, Debug)]
pub struct AdminProjectRow {
    pub path: String,
    pub url: String,
    pub settings_url: String,
    /// The action that requests the maintenance of the repository.
    pub maintenance_action: String,
    /// The group, or the user in whose namespace the project is.
    pub owner: String,
    pub owner_url: String,
    pub visibility: VisibilityView,
    pub is_archived: bool,
    pub last_activity: Time,
}

/// The values of the parameter `archived` with their labels. The first one is the default.
pub const ARCHIVED: [(&str, &str); 3] = [("", "Archived or not"), ("no", "Not archived"), ("yes", "Archived")];

impl AdminProjectsPage {
    /// Returns whether any filter is set, so that an empty list may have a longer one behind it.
    pub fn is_filtered(&self) -> bool {
        self.filters.is_filtered() || !self.archived.is_empty()
    }
}

/// Builds the list of projects.
pub fn admin_projects_page(
    layout: Layout,
    projects: &Page<Project>,
    filters: ProjectFilters,
    archived: &'static str,
    now: DateTime<Utc>,
) -> AdminProjectsPage {
    let row = |project: &Project| {
        let (path, owner) = (project.full_path(), project.owner());
        let project_links = ProjectLinks::new(&path);
        let (owner, owner_url) = match owner {
            Some(owner) => (owner.summary.name, links::admin_user(owner.summary.id)),
            None => (project.namespace.name.clone(), links::group(&project.namespace.path)),
        };
        AdminProjectRow {
            url: project_links.home().to_owned(),
            settings_url: project_links.settings(),
            maintenance_action: links::admin_project_maintenance(project.id),
            path,
            owner,
            owner_url,
            visibility: project.visibility.into(),
            is_archived: project.archived,
            last_activity: Time::ago(project.last_activity_at, now),
        }
    };
    let parameters = [
        ("search", filters.search.as_str()),
        ("visibility", filters.visibility.as_str()),
        ("archived", archived),
        ("order", filters.order.as_str()),
    ];
    AdminProjectsPage {
        layout: admin_frame(layout, "Projects"),
        projects: projects.items.iter().map(row).collect(),
        pages: Pages::new(projects, "/admin/projects", &parameters),
        archived,
        filters,
    }
}
