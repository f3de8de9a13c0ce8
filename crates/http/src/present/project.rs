//! Presents projects, in full or with the few fields of `simple=true`.

use holdfast_app::projects::project::{Owner, Project, ProjectNamespace, can_see_runners_token};
use holdfast_app::projects::share;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::{InstanceRole, ProjectAction};
use holdfast_domain::{AccessLevel, Visibility};
use serde::Serialize;
use utoipa::PartialSchema;
use utoipa::ToSchema;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

/// A project.
#[derive(Serialize, ToSchema)]
pub struct ProjectBody {
    pub id: i64,
    pub description: Option<String>,
    /// Null while the repository is empty.
    pub default_branch: Option<String>,
    pub tag_list: Vec<String>,
    pub public: bool,
    pub archived: bool,
    /// 0 private, 10 internal, 20 public.
    pub visibility_level: i16,
    pub ssh_url_to_repo: String,
    pub http_url_to_repo: String,
    pub web_url: String,
    /// Omitted if the project is in a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerBody>,
    pub name: String,
    pub name_with_namespace: String,
    pub path: String,
    pub path_with_namespace: String,
    pub issues_enabled: bool,
    pub merge_requests_enabled: bool,
    pub wiki_enabled: bool,
    pub builds_enabled: bool,
    pub snippets_enabled: bool,
    pub container_registry_enabled: bool,
    pub created_at: Timestamp,
    pub last_activity_at: Timestamp,
    pub shared_runners_enabled: bool,
    pub lfs_enabled: bool,
    pub creator_id: i64,
    pub namespace: ProjectNamespaceBody,
    pub avatar_url: Option<String>,
    pub star_count: i32,
    pub forks_count: i32,
    /// Source of a fork. Omitted if it is not visible to the current user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_project: Option<SimpleProject>,
    pub open_issues_count: i32,
    /// Token to register runners. Only for masters and above, and omitted in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runners_token: Option<String>,
    pub public_builds: bool,
    pub shared_with_groups: Vec<ShareBody>,
    pub only_allow_merge_if_build_succeeds: bool,
    pub request_access_enabled: bool,
    pub only_allow_merge_if_all_discussions_are_resolved: bool,
    /// Memberships of the current user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

#[derive(Serialize, ToSchema)]
pub struct OwnerBody {
    #[serde(flatten)]
    pub user: UserSummaryBody,
    pub created_at: Timestamp,
}

/// The namespace of a project, as a part of the project. The namespaces of the current user are
/// [`NamespaceBody`](super::namespace::NamespaceBody).
#[derive(Serialize, ToSchema)]
pub struct ProjectNamespaceBody {
    pub id: i64,
    pub name: String,
    pub path: String,
    pub owner_id: Option<i64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub description: String,
    /// Only for groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar: Option<Avatar>,
    pub share_with_group_lock: bool,
    pub visibility_level: i16,
}

#[derive(Serialize, ToSchema)]
pub struct Avatar {
    pub url: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct ShareBody {
    pub group_id: i64,
    pub group_name: String,
    pub group_access_level: i16,
}

#[derive(Serialize, ToSchema)]
pub struct Permissions {
    pub project_access: Option<MembershipBody>,
    pub group_access: Option<MembershipBody>,
}

#[derive(Serialize, ToSchema)]
pub struct MembershipBody {
    pub access_level: i16,
    /// Always 3, the notification level of the account.
    pub notification_level: i16,
}

/// The id, URLs, name and path of a project, as selected by `simple=true`.
#[derive(Serialize, ToSchema)]
pub struct SimpleProject {
    pub id: i64,
    pub http_url_to_repo: String,
    pub web_url: String,
    pub name: String,
    pub name_with_namespace: String,
    pub path: String,
    pub path_with_namespace: String,
}

/// A project in a list that supports `simple=true`.
#[derive(Serialize)]
#[serde(untagged)]
pub enum ListedProject {
    Full(Box<ProjectBody>),
    Simple(SimpleProject),
}

impl PartialSchema for ListedProject {
    fn schema() -> RefOr<Schema> {
        AnyOfBuilder::new().item(ProjectBody::schema()).item(SimpleProject::schema()).into()
    }
}

impl ToSchema for ListedProject {
    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        ProjectBody::schemas(into);
        SimpleProject::schemas(into);
    }
}

/// Selects the optional fields of a project.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProjectView {
    /// A single project: includes the memberships of the current user, and the runner registration token for masters
    /// and above.
    Single,
    /// A project in a list: includes the memberships of the current user.
    Own,
    /// A project without these fields.
    Plain,
}

/// Returns the body of a project with the fields of this view. The shares and the source of a fork are left out where
/// the current user may not see them.
pub fn present_project(project: &Project, view: ProjectView, role: InstanceRole, site: &InstanceUrls) -> ProjectBody {
    let forked_from_project = source(project, role).map(|source| simple(source, site));
    let simple = simple(project, site);
    let features = project.features;
    let is_signed_in = role > InstanceRole::Anonymous;
    ProjectBody {
        id: simple.id,
        description: project.description.clone(),
        default_branch: project.repository.default_branch().map(str::to_owned),
        tag_list: Vec::new(),
        public: project.visibility == Visibility::Public,
        archived: project.archived,
        visibility_level: project.visibility.as_i16(),
        ssh_url_to_repo: site.ssh_url(&simple.path_with_namespace),
        http_url_to_repo: simple.http_url_to_repo,
        web_url: simple.web_url,
        owner: project.owner().map(|owner| owner_body(&owner, site)),
        name: simple.name,
        name_with_namespace: simple.name_with_namespace,
        path: simple.path,
        path_with_namespace: simple.path_with_namespace,
        issues_enabled: features.issues_enabled,
        merge_requests_enabled: features.merge_requests_enabled,
        wiki_enabled: features.wiki_enabled,
        builds_enabled: features.builds_enabled,
        snippets_enabled: features.snippets_enabled,
        container_registry_enabled: features.container_registry_enabled,
        created_at: project.created_at.into(),
        last_activity_at: project.last_activity_at.into(),
        shared_runners_enabled: features.shared_runners_enabled,
        lfs_enabled: features.lfs_enabled,
        creator_id: project.creator_id.get(),
        namespace: namespace_body(&project.namespace),
        avatar_url: None,
        star_count: project.star_count,
        forks_count: project.forks_count,
        forked_from_project,
        open_issues_count: project.open_issues(ProjectAction::ManageIssues.is_allowed(
            project.visibility,
            role,
            project.level(),
        )),
        runners_token: (view == ProjectView::Single && can_see_runners_token(project, role))
            .then(|| project.runners_token.clone()),
        public_builds: features.public_builds,
        shared_with_groups: share::visible_shares(project, role).map(share_body).collect(),
        only_allow_merge_if_build_succeeds: features.only_allow_merge_if_build_succeeds,
        request_access_enabled: features.request_access_enabled,
        only_allow_merge_if_all_discussions_are_resolved: features.only_allow_merge_if_all_discussions_are_resolved,
        permissions: (view != ProjectView::Plain && is_signed_in).then(|| Permissions {
            project_access: project.project_level().map(membership),
            group_access: project.group_level().map(membership),
        }),
    }
}

pub fn simple(project: &Project, site: &InstanceUrls) -> SimpleProject {
    let path_with_namespace = project.full_path();
    let web_url = site.url(&format!("/{path_with_namespace}"));
    // The namespace of a user is shown with the user's display name, not with the username.
    let owner_name = project.owner_name().unwrap_or(&project.namespace.name);
    SimpleProject {
        id: project.id.get(),
        http_url_to_repo: format!("{web_url}.git"),
        web_url,
        name: project.name.clone(),
        name_with_namespace: format!("{owner_name} / {}", project.name),
        path: project.path.clone(),
        path_with_namespace,
    }
}

/// Returns the source of a fork, if it is visible to the current user.
fn source(project: &Project, role: InstanceRole) -> Option<&Project> {
    let is_visible = |it: &&Project| ProjectAction::Read.is_allowed(it.visibility, role, it.level());
    project.source().filter(is_visible)
}

fn owner_body(owner: &Owner, site: &InstanceUrls) -> OwnerBody {
    OwnerBody { user: user::summary(&owner.summary, site), created_at: owner.created_at.into() }
}

fn namespace_body(namespace: &ProjectNamespace) -> ProjectNamespaceBody {
    ProjectNamespaceBody {
        id: namespace.id.get(),
        name: namespace.name.clone(),
        path: namespace.path.clone(),
        owner_id: namespace.owner_id,
        created_at: namespace.created_at.into(),
        updated_at: namespace.updated_at.into(),
        description: namespace.description.clone(),
        avatar: (namespace.kind == NamespaceKind::Group).then_some(Avatar { url: None }),
        share_with_group_lock: namespace.share_with_group_lock,
        visibility_level: namespace.visibility.as_i16(),
    }
}

fn share_body(share: &share::Share) -> ShareBody {
    ShareBody {
        group_id: share.group_id.get(),
        group_name: share.group_name.clone(),
        group_access_level: share.access_level().as_i16(),
    }
}

fn membership(level: AccessLevel) -> MembershipBody {
    MembershipBody { access_level: level.as_i16(), notification_level: 3 }
}
