//! Presents groups.

use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::group::GroupDetail as Loaded;
use holdfast_app::projects::project::Project;
use holdfast_domain::policy::InstanceRole;
use serde::Serialize;
use utoipa::ToSchema;

use super::project::{ProjectDetail, present_project};
use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::project::ProjectView;

/// A group without its projects. Settings that groups do not have here are shown as other servers show them if they are
/// off.
#[derive(Serialize, ToSchema)]
pub struct GroupFields {
    pub id: i64,
    pub web_url: String,
    pub name: String,
    pub path: String,
    pub description: String,
    /// `private`, `internal` or `public`.
    pub visibility: &'static str,
    pub share_with_group_lock: bool,
    pub require_two_factor_authentication: bool,
    pub two_factor_grace_period: i32,
    /// The role that may create projects in the group.
    pub project_creation_level: &'static str,
    pub auto_devops_enabled: Option<bool>,
    pub subgroup_creation_level: &'static str,
    pub emails_enabled: bool,
    pub mentions_disabled: Option<bool>,
    pub lfs_enabled: bool,
    pub archived: bool,
    pub default_branch: Option<String>,
    pub avatar_url: Option<String>,
    pub request_access_enabled: bool,
    pub full_name: String,
    pub full_path: String,
    pub created_at: Timestamp,
    /// Always null: groups have no parent.
    pub parent_id: Option<i64>,
    pub shared_runners_setting: &'static str,
    pub marked_for_deletion_on: Option<String>,
}

/// A group with its projects.
#[derive(Serialize, ToSchema)]
pub struct GroupWithProjects {
    #[serde(flatten)]
    pub group: GroupFields,
    /// Always empty: only projects are shared with groups.
    pub shared_with_groups: Vec<GroupFields>,
    /// The newest 100 projects. `GET /groups/:id/projects` lists all of them. Omitted with `with_projects=false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectDetail>>,
    /// The newest 100 projects that are shared with the group. Omitted with `with_projects=false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_projects: Option<Vec<ProjectDetail>>,
}

pub fn present_group(group: Group, site: &InstanceUrls) -> GroupFields {
    GroupFields {
        id: group.id.get(),
        web_url: site.url(&format!("/groups/{}", group.path)),
        description: group.description,
        visibility: group.visibility.as_str(),
        share_with_group_lock: false,
        require_two_factor_authentication: false,
        two_factor_grace_period: 0,
        project_creation_level: "maintainer",
        auto_devops_enabled: None,
        subgroup_creation_level: "maintainer",
        emails_enabled: false,
        mentions_disabled: None,
        lfs_enabled: group.lfs_enabled,
        archived: false,
        default_branch: None,
        avatar_url: None,
        request_access_enabled: group.request_access_enabled,
        full_name: group.name.clone(),
        name: group.name,
        full_path: group.path.clone(),
        path: group.path,
        created_at: group.created_at.into(),
        parent_id: None,
        shared_runners_setting: "enabled",
        marked_for_deletion_on: None,
    }
}

pub fn present_without_projects(group: Group, site: &InstanceUrls) -> GroupWithProjects {
    GroupWithProjects {
        group: present_group(group, site),
        shared_with_groups: Vec::new(),
        projects: None,
        shared_projects: None,
    }
}

/// Presents a group that was just created, which has no projects.
pub fn present_new(group: Group, site: &InstanceUrls) -> GroupWithProjects {
    let (projects, shared_projects) = (Some(Vec::new()), Some(Vec::new()));
    GroupWithProjects { projects, shared_projects, ..present_without_projects(group, site) }
}

pub fn present_detail(detail: Loaded, role: InstanceRole, site: &InstanceUrls) -> GroupWithProjects {
    let present = |projects: Vec<Project>| {
        let bodies = projects.iter().map(|project| present_project(project, role, ProjectView::Plain, site));
        Some(bodies.collect())
    };
    let (projects, shared_projects) = (present(detail.projects), present(detail.shared_projects));
    GroupWithProjects { projects, shared_projects, ..present_without_projects(detail.group, site) }
}
