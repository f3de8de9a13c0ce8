//! Presents projects, in full or with the fields of `simple=true`, and what belongs to a single project.

use holdfast_app::projects::project::{Project, ProjectNamespace, can_see_runners_token};
use holdfast_app::repository::transfer::import::Import;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::{InstanceRole, ProjectAction};
use serde::Serialize;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::import::{import_error, import_status, import_type};
use super::user::{UserBasic, present_basic as present_user};
use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::project::{Permissions, ProjectBody, ProjectView, ShareBody, present_project as present_fields};

/// The fields of a project that identify it and show where it is.
#[derive(Serialize, ToSchema)]
pub struct ProjectIdentity {
    pub id: i64,
    pub description: Option<String>,
    pub name: String,
    pub name_with_namespace: String,
    pub path: String,
    pub path_with_namespace: String,
    pub created_at: Timestamp,
}

/// The fields of a project that are selected by `simple=true`.
#[derive(Serialize, ToSchema)]
pub struct ProjectBasic {
    #[serde(flatten)]
    pub identity: ProjectIdentity,
    /// Null while the repository is empty.
    pub default_branch: Option<String>,
    pub tag_list: Vec<String>,
    pub topics: Vec<String>,
    pub ssh_url_to_repo: String,
    pub http_url_to_repo: String,
    pub web_url: String,
    pub readme_url: Option<String>,
    pub forks_count: i32,
    pub avatar_url: Option<String>,
    pub star_count: i32,
    pub last_activity_at: Timestamp,
    /// `private`, `internal` or `public`.
    pub visibility: &'static str,
    pub namespace: ProjectNamespaceBasic,
}

/// The namespace of a project, as a part of the project.
#[derive(Serialize, ToSchema)]
pub struct ProjectNamespaceBasic {
    pub id: i64,
    pub name: String,
    pub path: String,
    /// `user` or `group`.
    pub kind: &'static str,
    pub full_path: String,
    pub parent_id: Option<i64>,
    pub avatar_url: Option<String>,
    pub web_url: String,
}

/// The URLs of a project and of its parts in the API.
#[derive(Serialize, ToSchema)]
pub struct ProjectLinks {
    #[serde(rename = "self")]
    pub own: String,
    /// Omitted if issues are switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issues: Option<String>,
    /// Omitted if merge requests are switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_requests: Option<String>,
    pub repo_branches: String,
    pub labels: String,
    pub events: String,
    pub members: String,
}

/// A project.
#[derive(Serialize, ToSchema)]
pub struct ProjectDetail {
    #[serde(flatten)]
    pub basic: ProjectBasic,
    #[serde(rename = "_links")]
    pub links: ProjectLinks,
    pub packages_enabled: bool,
    pub empty_repo: bool,
    pub archived: bool,
    /// Omitted if the project is in a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserBasic>,
    pub resolve_outdated_diff_discussions: bool,
    pub issues_enabled: bool,
    pub merge_requests_enabled: bool,
    pub wiki_enabled: bool,
    pub jobs_enabled: bool,
    pub snippets_enabled: bool,
    pub container_registry_enabled: bool,
    pub service_desk_enabled: bool,
    /// Whether the current user can propose changes to the project, from a fork at least.
    pub can_create_merge_request_in: bool,
    /// `enabled` or `disabled`.
    pub issues_access_level: &'static str,
    pub repository_access_level: &'static str,
    pub merge_requests_access_level: &'static str,
    pub forking_access_level: &'static str,
    pub wiki_access_level: &'static str,
    pub builds_access_level: &'static str,
    pub snippets_access_level: &'static str,
    pub pages_access_level: &'static str,
    pub releases_access_level: &'static str,
    pub environments_access_level: &'static str,
    pub container_registry_access_level: &'static str,
    /// Always false: the server sends no email.
    pub emails_enabled: bool,
    pub shared_runners_enabled: bool,
    pub group_runners_enabled: bool,
    pub lfs_enabled: bool,
    pub creator_id: i64,
    /// Source of a fork. Omitted if it is not visible to the current user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_project: Option<ProjectBasic>,
    pub mr_default_target_self: bool,
    /// `none`, `scheduled`, `started`, `finished` or `failed`. Only of a single project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_status: Option<&'static str>,
    /// URL that the repository was imported from, without credentials. Only of a single project, for masters and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_url: Option<String>,
    /// `git` if the repository was imported. Only of a single project, for masters and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_type: Option<&'static str>,
    /// Reason why the import failed. Only of a single project, for masters and above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_error: Option<String>,
    pub open_issues_count: i32,
    pub updated_at: Timestamp,
    /// Token to register runners. Only for masters and above, and omitted in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runners_token: Option<String>,
    /// Always 0: builds fetch the whole repository.
    pub ci_default_git_depth: i32,
    pub ci_job_token_scope_enabled: bool,
    pub public_jobs: bool,
    pub build_git_strategy: &'static str,
    pub auto_cancel_pending_pipelines: &'static str,
    pub ci_config_path: &'static str,
    pub shared_with_groups: Vec<ShareBody>,
    pub only_allow_merge_if_pipeline_succeeds: bool,
    pub allow_merge_on_skipped_pipeline: bool,
    pub request_access_enabled: bool,
    pub only_allow_merge_if_all_discussions_are_resolved: bool,
    pub remove_source_branch_after_merge: bool,
    pub printing_merge_request_link_enabled: bool,
    /// Always `merge`: accepting a merge request creates a merge commit.
    pub merge_method: &'static str,
    pub merge_trains_enabled: bool,
    pub squash_option: &'static str,
    pub suggestion_commit_message: Option<String>,
    pub auto_devops_enabled: bool,
    pub autoclose_referenced_issues: bool,
    pub mirror: bool,
    pub marked_for_deletion_at: Option<String>,
    /// Memberships of the current user. Omitted for anonymous users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

/// A project in a list that supports `simple=true`.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ProjectInList {
    Full(Box<ProjectDetail>),
    Simple(Box<ProjectBasic>),
}

impl PartialSchema for ProjectInList {
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new().item(ProjectDetail::schema()).item(ProjectBasic::schema()).into()
    }
}

impl ToSchema for ProjectInList {
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        ProjectDetail::schemas(into);
        ProjectBasic::schemas(into);
    }
}

/// Returns a project for a list, with the fields that `simple` selects.
pub fn present_in_list(
    project: &Project,
    is_simple: Option<bool>,
    role: InstanceRole,
    site: &InstanceUrls,
) -> ProjectInList {
    match is_simple {
        Some(true) => ProjectInList::Simple(Box::new(present_basic(project, site))),
        _ => ProjectInList::Full(Box::new(present_project(project, role, ProjectView::Own, site))),
    }
}

pub fn present_identity(project: &Project) -> ProjectIdentity {
    // The namespace of a user is shown with the user's display name, not with the username.
    let owner_name = project.owner_name().unwrap_or(&project.namespace.name);
    ProjectIdentity {
        id: project.id.get(),
        description: project.description.clone(),
        name: project.name.clone(),
        name_with_namespace: format!("{owner_name} / {}", project.name),
        path: project.path.clone(),
        path_with_namespace: project.full_path(),
        created_at: project.created_at.into(),
    }
}

pub fn present_basic(project: &Project, site: &InstanceUrls) -> ProjectBasic {
    let identity = present_identity(project);
    let web_url = site.url(&format!("/{}", identity.path_with_namespace));
    ProjectBasic {
        default_branch: project.repository.default_branch().map(str::to_owned),
        tag_list: Vec::new(),
        topics: Vec::new(),
        ssh_url_to_repo: site.ssh_url(&identity.path_with_namespace),
        http_url_to_repo: format!("{web_url}.git"),
        web_url,
        readme_url: None,
        forks_count: project.forks_count,
        avatar_url: None,
        star_count: project.star_count,
        last_activity_at: project.last_activity_at.into(),
        visibility: project.visibility.as_str(),
        namespace: namespace(project, site),
        identity,
    }
}

/// Returns the body of a project with the fields of this view. The shares and the source of a fork are left out where
/// the current user may not see them.
pub fn present_project(project: &Project, role: InstanceRole, view: ProjectView, site: &InstanceUrls) -> ProjectDetail {
    // Version 3 has the same rules for what the current user sees.
    let ProjectBody { forked_from_project, open_issues_count, runners_token, shared_with_groups, permissions, .. } =
        present_fields(project, view, role, site);
    let source = project.source().filter(|_| forked_from_project.is_some());
    let features = project.features;
    let can_propose = ProjectAction::ReadMergeRequests.is_allowed(project.visibility, role, project.level());
    ProjectDetail {
        basic: present_basic(project, site),
        links: links(project, site),
        packages_enabled: false,
        empty_repo: project.repository.head.is_none(),
        archived: project.archived,
        owner: project.owner().map(|owner| present_user(&owner.summary, site)),
        resolve_outdated_diff_discussions: false,
        issues_enabled: features.issues_enabled,
        merge_requests_enabled: features.merge_requests_enabled,
        wiki_enabled: features.wiki_enabled,
        jobs_enabled: features.builds_enabled,
        snippets_enabled: features.snippets_enabled,
        container_registry_enabled: features.container_registry_enabled,
        service_desk_enabled: false,
        can_create_merge_request_in: features.merge_requests_enabled && !project.archived && can_propose,
        issues_access_level: feature_level(features.issues_enabled),
        repository_access_level: feature_level(true),
        merge_requests_access_level: feature_level(features.merge_requests_enabled),
        forking_access_level: feature_level(true),
        wiki_access_level: feature_level(features.wiki_enabled),
        builds_access_level: feature_level(features.builds_enabled),
        snippets_access_level: feature_level(features.snippets_enabled),
        pages_access_level: feature_level(false),
        releases_access_level: feature_level(true),
        environments_access_level: feature_level(false),
        container_registry_access_level: feature_level(features.container_registry_enabled),
        emails_enabled: false,
        shared_runners_enabled: features.shared_runners_enabled,
        group_runners_enabled: false,
        lfs_enabled: features.lfs_enabled,
        creator_id: project.creator_id.get(),
        forked_from_project: source.map(|source| present_basic(source, site)),
        mr_default_target_self: false,
        import_status: None,
        import_url: None,
        import_type: None,
        import_error: None,
        open_issues_count,
        updated_at: project.updated_at.into(),
        runners_token,
        ci_default_git_depth: 0,
        ci_job_token_scope_enabled: false,
        public_jobs: features.public_builds,
        build_git_strategy: "fetch",
        auto_cancel_pending_pipelines: "disabled",
        ci_config_path: "",
        shared_with_groups,
        only_allow_merge_if_pipeline_succeeds: features.only_allow_merge_if_build_succeeds,
        allow_merge_on_skipped_pipeline: false,
        request_access_enabled: features.request_access_enabled,
        only_allow_merge_if_all_discussions_are_resolved: features.only_allow_merge_if_all_discussions_are_resolved,
        remove_source_branch_after_merge: false,
        printing_merge_request_link_enabled: false,
        merge_method: "merge",
        merge_trains_enabled: false,
        squash_option: "never",
        suggestion_commit_message: None,
        auto_devops_enabled: false,
        autoclose_referenced_issues: true,
        mirror: false,
        marked_for_deletion_at: None,
        permissions,
    }
}

/// Returns the body of a single project with the state of its import.
pub fn present_with_import(
    project: &Project,
    import: Option<&Import>,
    role: InstanceRole,
    site: &InstanceUrls,
) -> ProjectDetail {
    let detail = present_project(project, role, ProjectView::Single, site);
    // Whoever may see the token of runners may change the project.
    let shown = import.filter(|_| can_see_runners_token(project, role));
    ProjectDetail {
        import_status: Some(import_status(import)),
        import_url: shown.map(|import| import.url.clone()).filter(|url| !url.is_empty()),
        import_type: shown.map(import_type),
        import_error: shown.and_then(import_error),
        ..detail
    }
}

const fn feature_level(is_enabled: bool) -> &'static str {
    if is_enabled { "enabled" } else { "disabled" }
}

fn namespace(project: &Project, site: &InstanceUrls) -> ProjectNamespaceBasic {
    let ProjectNamespace { id, kind, name, path, .. } = &project.namespace;
    let (url, owner) = match kind {
        NamespaceKind::Group => (format!("/groups/{path}"), None),
        NamespaceKind::User => (format!("/{path}"), project.owner()),
    };
    ProjectNamespaceBasic {
        id: id.get(),
        name: project.owner_name().unwrap_or(name).to_owned(),
        path: path.clone(),
        kind: kind.as_str(),
        full_path: path.clone(),
        parent_id: None,
        avatar_url: owner.map(|owner| site.avatar_url(&owner.summary.email)),
        web_url: site.url(&url),
    }
}

fn links(project: &Project, site: &InstanceUrls) -> ProjectLinks {
    let own = site.url(&format!("/api/v4/projects/{}", project.id.get()));
    let features = project.features;
    ProjectLinks {
        issues: features.issues_enabled.then(|| format!("{own}/issues")),
        merge_requests: features.merge_requests_enabled.then(|| format!("{own}/merge_requests")),
        repo_branches: format!("{own}/repository/branches"),
        labels: format!("{own}/labels"),
        events: format!("{own}/events"),
        members: format!("{own}/members"),
        own,
    }
}

/// A group that a project belongs to.
#[derive(Serialize, ToSchema)]
pub struct GroupOfProject {
    pub id: i64,
    pub web_url: String,
    pub name: String,
    pub avatar_url: Option<String>,
    pub full_name: String,
    pub full_path: String,
}

/// Returns the group of a project. `None` if the project belongs to a user.
pub fn present_group(project: &Project, site: &InstanceUrls) -> Option<GroupOfProject> {
    let group = &project.namespace;
    (group.kind == NamespaceKind::Group).then(|| GroupOfProject {
        id: group.id.get(),
        web_url: site.url(&format!("/groups/{}", group.path)),
        name: group.name.clone(),
        avatar_url: None,
        full_name: group.name.clone(),
        full_path: group.path.clone(),
    })
}
