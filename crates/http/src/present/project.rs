use holdfast_app::projects::project::{Owner, Place, Project, shows_secrets};
use holdfast_app::projects::share;
use holdfast_domain::namespaces::NamespaceKind;
use holdfast_domain::policy::{ProjectAction, Standing};
use holdfast_domain::{AccessLevel, Visibility};
use serde::Serialize;
use utoipa::PartialSchema;
use utoipa::ToSchema;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

/// A project.
#[derive(Serialize, ToSchema)]
pub struct ProjectBody {
    pub id: i64,
    pub description: Option<String>,
    /// Null while there is no branch.
    pub default_branch: Option<String>,
    pub tag_list: Vec<String>,
    pub public: bool,
    pub archived: bool,
    /// 0 private, 10 internal, 20 public.
    pub visibility_level: i16,
    pub ssh_url_to_repo: String,
    pub http_url_to_repo: String,
    pub web_url: String,
    /// Left out in a group.
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
    pub namespace: PlaceBody,
    pub avatar_url: Option<String>,
    pub star_count: i32,
    pub forks_count: i32,
    /// Of a fork, for who may see what it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_project: Option<SimpleProject>,
    pub open_issues_count: i32,
    /// For masters and above, where the project stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runners_token: Option<String>,
    pub public_builds: bool,
    pub shared_with_groups: Vec<ShareBody>,
    pub only_allow_merge_if_build_succeeds: bool,
    pub request_access_enabled: bool,
    pub only_allow_merge_if_all_discussions_are_resolved: bool,
    /// The caller's own memberships.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

#[derive(Serialize, ToSchema)]
pub struct OwnerBody {
    #[serde(flatten)]
    pub user: UserSummary,
    pub created_at: Timestamp,
}

/// The namespace of a project.
#[derive(Serialize, ToSchema)]
pub struct PlaceBody {
    pub id: i64,
    pub name: String,
    pub path: String,
    pub owner_id: Option<i64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub description: String,
    /// Of groups only.
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
    /// 3: as the account says.
    pub notification_level: i16,
}

/// `simple=true`: id, addresses, name and path.
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

/// In lists of which a simple form can be asked for.
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

/// What an answer shows beside the project itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Alone: the caller's memberships, and for who manages it the runners' token.
    Alone,
    /// In a list of the caller's: its memberships.
    Own,
    /// Among others.
    Plain,
}

pub fn project(project: &Project, form: Form, standing: Standing, site: &Site) -> ProjectBody {
    let forked_from_project = source(project, standing).map(|source| simple(source, site));
    let simple = simple(project, site);
    let f = project.features;
    let is_signed_in = standing > Standing::Anonymous;
    ProjectBody {
        id: simple.id,
        description: project.description.clone(),
        default_branch: project.repository.default_branch().map(str::to_owned),
        tag_list: Vec::new(),
        public: project.visibility == Visibility::Public,
        archived: project.archived,
        visibility_level: project.visibility.level(),
        ssh_url_to_repo: site.ssh_url(&simple.path_with_namespace),
        http_url_to_repo: simple.http_url_to_repo,
        web_url: simple.web_url,
        owner: project.owner().map(|owner| owner_body(&owner, site)),
        name: simple.name,
        name_with_namespace: simple.name_with_namespace,
        path: simple.path,
        path_with_namespace: simple.path_with_namespace,
        issues_enabled: f.issues_enabled,
        merge_requests_enabled: f.merge_requests_enabled,
        wiki_enabled: f.wiki_enabled,
        builds_enabled: f.builds_enabled,
        snippets_enabled: f.snippets_enabled,
        container_registry_enabled: f.container_registry_enabled,
        created_at: project.created_at.into(),
        last_activity_at: project.last_activity_at.into(),
        shared_runners_enabled: f.shared_runners_enabled,
        lfs_enabled: f.lfs_enabled,
        creator_id: project.creator_id.get(),
        namespace: place(&project.namespace),
        avatar_url: None,
        star_count: project.star_count,
        forks_count: project.forks_count,
        forked_from_project,
        open_issues_count: project.open_issues(ProjectAction::ManageIssues.allowed(
            project.visibility,
            standing,
            project.level(),
        )),
        runners_token: (form == Form::Alone && shows_secrets(project, standing)).then(|| project.runners_token.clone()),
        public_builds: f.public_builds,
        shared_with_groups: share::shown(project, standing).map(share_body).collect(),
        only_allow_merge_if_build_succeeds: f.only_allow_merge_if_build_succeeds,
        request_access_enabled: f.request_access_enabled,
        only_allow_merge_if_all_discussions_are_resolved: f.only_allow_merge_if_all_discussions_are_resolved,
        permissions: (form != Form::Plain && is_signed_in).then(|| Permissions {
            project_access: project.project_level().map(membership),
            group_access: project.group_level().map(membership),
        }),
    }
}

pub fn simple(project: &Project, site: &Site) -> SimpleProject {
    let path_with_namespace = project.full_path();
    let web_url = site.url(&format!("/{path_with_namespace}"));
    // A user's namespace goes by the user's name, not by the username.
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

/// What it is a fork of, for who may see that.
fn source(project: &Project, standing: Standing) -> Option<&Project> {
    let may_see = |it: &&Project| ProjectAction::Read.allowed(it.visibility, standing, it.level());
    project.source().filter(may_see)
}

fn owner_body(owner: &Owner, site: &Site) -> OwnerBody {
    OwnerBody { user: user::summary(&owner.person, site), created_at: owner.created_at.into() }
}

fn place(place: &Place) -> PlaceBody {
    PlaceBody {
        id: place.id.get(),
        name: place.name.clone(),
        path: place.path.clone(),
        owner_id: place.owner_id,
        created_at: place.created_at.into(),
        updated_at: place.updated_at.into(),
        description: place.description.clone(),
        avatar: (place.kind == NamespaceKind::Group).then_some(Avatar { url: None }),
        share_with_group_lock: place.share_with_group_lock,
        visibility_level: place.visibility.level(),
    }
}

fn share_body(share: &share::Share) -> ShareBody {
    ShareBody {
        group_id: share.group_id.get(),
        group_name: share.group_name.clone(),
        group_access_level: share.access_level().level(),
    }
}

fn membership(level: AccessLevel) -> MembershipBody {
    MembershipBody { access_level: level.level(), notification_level: 3 }
}
