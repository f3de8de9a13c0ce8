use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::group::GroupDetail as Loaded;
use holdfast_app::projects::project::Project;
use holdfast_domain::policy::Standing;
use serde::Serialize;
use utoipa::ToSchema;

use super::project::{self, Form, ProjectBody};
use crate::Site;

/// A group in a list.
#[derive(Serialize, ToSchema)]
pub struct GroupSummary {
    pub id: i64,
    pub name: String,
    pub path: String,
    pub description: String,
}

/// A group that was just created.
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

/// A group alone.
#[derive(Serialize, ToSchema)]
pub struct GroupDetail {
    #[serde(flatten)]
    pub group: GroupBody,
    /// The newest, at most 100: `GET /groups/:id/projects` has them all.
    pub projects: Vec<ProjectBody>,
    /// The newest of those shared with it, at most 100.
    pub shared_projects: Vec<ProjectBody>,
}

pub fn summary(group: Group) -> GroupSummary {
    GroupSummary { id: group.id.get(), name: group.name, path: group.path, description: group.description }
}

pub fn created(group: Group, site: &Site) -> GroupBody {
    GroupBody {
        visibility_level: group.visibility.level(),
        lfs_enabled: group.lfs_enabled,
        avatar_url: None,
        web_url: site.url(&format!("/groups/{}", group.path)),
        request_access_enabled: group.request_access_enabled,
        summary: summary(group),
    }
}

pub fn detail(detail: Loaded, standing: Standing, site: &Site) -> GroupDetail {
    let present =
        |projects: Vec<Project>| projects.iter().map(|it| project::project(it, Form::Plain, standing, site)).collect();
    GroupDetail {
        group: created(detail.group, site),
        projects: present(detail.projects),
        shared_projects: present(detail.shared_projects),
    }
}
