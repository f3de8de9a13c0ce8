//! Presents groups.

use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::group::GroupDetail as Loaded;
use holdfast_app::projects::project::Project;
use holdfast_domain::policy::InstanceRole;
use serde::Serialize;
use utoipa::ToSchema;

use super::project::{self, ProjectBody, ProjectView};
use crate::InstanceUrls;

/// A group in a list.
#[derive(Serialize, ToSchema)]
pub struct GroupSummary {
    pub id: i64,
    pub name: String,
    pub path: String,
    pub description: String,
}

/// A group without its projects.
#[derive(Serialize, ToSchema)]
pub struct GroupBody {
    #[serde(flatten)]
    pub summary: GroupSummary,
    /// 0 private, 10 internal, 20 public.
    pub visibility_level: i16,
    pub lfs_enabled: bool,
    pub avatar_url: Option<String>,
    pub web_url: String,
    pub request_access_enabled: bool,
}

/// A group with its projects.
#[derive(Serialize, ToSchema)]
pub struct GroupDetail {
    #[serde(flatten)]
    pub group: GroupBody,
    /// The newest 100 projects. `GET /groups/:id/projects` lists all of them.
    pub projects: Vec<ProjectBody>,
    /// The newest 100 projects that are shared with the group.
    pub shared_projects: Vec<ProjectBody>,
}

pub fn summary(group: Group) -> GroupSummary {
    GroupSummary { id: group.id.get(), name: group.name, path: group.path, description: group.description }
}

pub fn group_body(group: Group, site: &InstanceUrls) -> GroupBody {
    GroupBody {
        visibility_level: group.visibility.as_i16(),
        lfs_enabled: group.lfs_enabled,
        avatar_url: None,
        web_url: site.url(&format!("/groups/{}", group.path)),
        request_access_enabled: group.request_access_enabled,
        summary: summary(group),
    }
}

pub fn detail(detail: Loaded, role: InstanceRole, site: &InstanceUrls) -> GroupDetail {
    let present = |projects: Vec<Project>| {
        projects.iter().map(|it| project::present_project(it, ProjectView::Plain, role, site)).collect()
    };
    GroupDetail {
        group: group_body(detail.group, site),
        projects: present(detail.projects),
        shared_projects: present(detail.shared_projects),
    }
}
