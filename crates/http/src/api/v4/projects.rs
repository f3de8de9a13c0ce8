use axum::http::{Method, StatusCode};
use holdfast_app::namespaces::group::GroupRef;
use holdfast_app::namespaces::member::MemberFilter;
use holdfast_app::projects::initial_commit::{self, InitialBranch};
use holdfast_app::projects::list::{self, BrowseProjects, ListProjects, Narrowing, Order, SortKey};
use holdfast_app::projects::project::{self, FeatureChanges, Project, ProjectChanges, ProjectRef};
use holdfast_app::projects::{member, star, transfer};
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::page::Page;
use holdfast_domain::policy::InstanceAction::{CreateProject, CreateProjectForOthers, ExplorePublic, TransferProject};
use holdfast_domain::policy::ProjectAction::{Archive, Delete, Read, ReadMembers, Star, Update};
use holdfast_domain::{AccessLevel, Field, Visibility};
use serde_json::json;

use super::ApiResult;
use crate::error::{ApiError, project_limit_message};
use crate::present::project::ProjectView;
use crate::present::v4::project::{
    GroupOfProject, ProjectDetail, ProjectInList, present_group, present_in_list, present_project, present_with_import,
};
use crate::present::v4::user::{UserBasic, present_basic};
use crate::response::{Accepted, Body, Created, CreatedIfChanged, KeysetPage, ListBody, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

params! {
    pub struct OneProject {
        required id: ProjectRef,
    }
}

pub fn present_single(project: &Project, context: &RequestContext) -> ProjectDetail {
    present_project(project, context.actor.role(), ProjectView::Single, context.site())
}

choice! {
    pub enum OrderBy {
        Id = "id",
        Name = "name",
        Path = "path",
        CreatedAt = "created_at",
        UpdatedAt = "updated_at",
        LastActivityAt = "last_activity_at",
    }
}

choice! {
    pub enum VisibilityWord { Private = "private", Internal = "internal", Public = "public" }
}

impl From<VisibilityWord> for Visibility {
    fn from(word: VisibilityWord) -> Self {
        match word {
            VisibilityWord::Private => Self::Private,
            VisibilityWord::Internal => Self::Internal,
            VisibilityWord::Public => Self::Public,
        }
    }
}

choice! {
    pub enum Sort { Ascending = "asc", Descending = "desc" }
}

params! {
    /// What all lists of projects have in common.
    pub struct ProjectFilter {
        /// Only archived projects if true, only other projects if false.
        optional archived: bool,
        /// Only projects with this visibility.
        optional visibility: VisibilityWord,
        /// Sort key, `created_at` by default.
        optional order_by: OrderBy,
        /// Sort direction, `desc` by default.
        optional sort: Sort,
        /// Part of the name, path or description.
        optional search: String,
        /// Whether to return only the fields that identify a project and show where it is.
        optional simple: bool,
    }
}

impl ProjectFilter {
    pub fn into_input(self) -> ListProjects {
        ListProjects {
            archived: self.archived,
            visibility: self.visibility.map(Into::into),
            search: self.search.filter(|term| !term.is_empty()),
            order: Order {
                sort_key: match self.order_by.unwrap_or(OrderBy::CreatedAt) {
                    OrderBy::Id => SortKey::Id,
                    OrderBy::Name => SortKey::Name,
                    OrderBy::Path => SortKey::Path,
                    OrderBy::CreatedAt => SortKey::CreatedAt,
                    OrderBy::UpdatedAt => SortKey::UpdatedAt,
                    OrderBy::LastActivityAt => SortKey::LastActivityAt,
                },
                descending: self.sort.unwrap_or(Sort::Descending) == Sort::Descending,
                builds_first: false,
            },
        }
    }
}

params! {
    struct ListParams {
        flatten filter: ProjectFilter,
        /// Only projects of the current user and of groups that the current user owns.
        optional owned: bool,
        /// Only projects to which the current user has access by a membership of any kind.
        optional membership: bool,
        /// Only projects that the current user has starred.
        optional starred: bool,
        /// Only projects in which the current user has at least this access level.
        optional min_access_level: i64,
        /// Only projects in which issues are enabled, if true.
        optional with_issues_enabled: bool,
        /// Only projects in which merge requests are enabled, if true.
        optional with_merge_requests_enabled: bool,
        /// Only projects with a higher id.
        optional id_after: ProjectId,
        /// Only projects with a lower id.
        optional id_before: ProjectId,
        /// Topics do not exist here, so that no project has any.
        optional topic: String,
        /// `keyset` together with `order_by=id`, to read a long list part by part. The header `Link` of each part has
        /// the address of the next one.
        optional pagination: String,
    }
}

/// Returns the lowest level that is at least this number. Levels in between do not exist here.
fn level_of(number: i64) -> AccessLevel {
    match number {
        ..=10 => AccessLevel::Guest,
        11..=20 => AccessLevel::Reporter,
        21..=30 => AccessLevel::Developer,
        31..=40 => AccessLevel::Master,
        _ => AccessLevel::Owner,
    }
}

async fn list(context: RequestContext, params: ListParams) -> ApiResult<ListBody<ProjectInList>> {
    let (is_simple, order_by) = (params.filter.simple, params.filter.order_by);
    let is_keyset = params.pagination.as_deref() == Some("keyset") && order_by == Some(OrderBy::Id);
    let has_topic = params.topic.is_some_and(|topic| !topic.is_empty());
    let input = BrowseProjects {
        list: params.filter.into_input(),
        narrowing: Narrowing {
            id_after: params.id_after,
            id_before: params.id_before,
            min_level: params.min_access_level.map(level_of),
            needs_issues: params.with_issues_enabled.unwrap_or_default(),
            needs_merge_requests: params.with_merge_requests_enabled.unwrap_or_default(),
        },
        is_owned: params.owned.unwrap_or_default(),
        is_member: params.membership.unwrap_or_default(),
        is_starred: params.starred.unwrap_or_default(),
    };
    let present = |project: Project| present_in_list(&project, is_simple, context.actor.role(), context.site());
    if has_topic {
        return Ok(ListBody::Page(Page::with_total(Vec::new(), context.page, 0)));
    }
    if !is_keyset {
        return Ok(ListBody::Page(
            list::browse(context.app(), &context.actor, input, context.page).await?.map(present),
        ));
    }
    let parameter = if input.list.order.descending { "id_before" } else { "id_after" };
    let size = context.page.size();
    // One project more than the part holds shows whether there is a next part.
    let mut projects = list::browse_first(context.app(), &context.actor, input, size + 1).await?;
    let has_next = projects.len() as i64 > size;
    projects.truncate(size as usize);
    let next = projects.last().filter(|_| has_next).map(|last| (parameter, last.id.get().to_string()));
    Ok(ListBody::Keyset(KeysetPage { items: projects.into_iter().map(present).collect(), next }))
}

async fn show(context: RequestContext, params: OneProject) -> ApiResult<Body<ProjectDetail>> {
    let (project, import) = project::show_with_import(context.app(), &context.actor, &params.id).await?;
    Ok(Body(present_with_import(&project, import.as_ref(), context.actor.role(), context.site())))
}

choice! {
    pub enum FeatureLevel { Disabled = "disabled", Enabled = "enabled" }
}

/// Returns the new state of a feature. The word takes precedence over the older flag.
fn switch(level: Option<FeatureLevel>, flag: Option<bool>) -> Option<bool> {
    level.map(|level| level == FeatureLevel::Enabled).or(flag)
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        nullable description: String,
        /// Whether the project has issues, `enabled` by default.
        optional issues_access_level: FeatureLevel,
        /// Older form of `issues_access_level`.
        optional issues_enabled: bool,
        /// Whether the project has merge requests, `enabled` by default.
        optional merge_requests_access_level: FeatureLevel,
        /// Older form of `merge_requests_access_level`.
        optional merge_requests_enabled: bool,
        /// Whether the project has pipelines and jobs, `enabled` by default.
        optional builds_access_level: FeatureLevel,
        /// Older form of `builds_access_level`.
        optional jobs_enabled: bool,
        /// Stored and returned for existing clients, without effect.
        optional wiki_access_level: FeatureLevel,
        /// Older form of `wiki_access_level`.
        optional wiki_enabled: bool,
        /// Stored and returned for existing clients, without effect.
        optional snippets_access_level: FeatureLevel,
        /// Older form of `snippets_access_level`.
        optional snippets_enabled: bool,
        /// Stored and returned for existing clients, without effect.
        optional container_registry_access_level: FeatureLevel,
        /// Older form of `container_registry_access_level`.
        optional container_registry_enabled: bool,
        /// Whether shared runners execute jobs of the project, on by default.
        optional shared_runners_enabled: bool,
        /// `private` (default), `internal` or `public`.
        optional visibility: VisibilityWord,
        /// URL to import the repository from.
        optional import_url: String,
        /// Whether guests and non-members can see jobs, on by default.
        optional public_jobs: bool,
        /// Older name of `public_jobs`.
        optional public_builds: bool,
        /// Whether a merge request can only be accepted after its pipeline has succeeded.
        optional only_allow_merge_if_pipeline_succeeds: bool,
        /// Whether a merge request can only be accepted when all its discussions are resolved.
        optional only_allow_merge_if_all_discussions_are_resolved: bool,
        /// Stored and returned for existing clients, without effect.
        optional lfs_enabled: bool,
        /// Whether users may request access, off by default.
        optional request_access_enabled: bool,
    }
}

impl Attributes {
    fn into_changes(self, name: Field<String>, path: Field<String>) -> ProjectChanges {
        ProjectChanges {
            name,
            path,
            description: self.description,
            visibility: self.visibility.map(Into::into),
            features: FeatureChanges {
                issues_enabled: switch(self.issues_access_level, self.issues_enabled),
                merge_requests_enabled: switch(self.merge_requests_access_level, self.merge_requests_enabled),
                wiki_enabled: switch(self.wiki_access_level, self.wiki_enabled),
                builds_enabled: switch(self.builds_access_level, self.jobs_enabled),
                snippets_enabled: switch(self.snippets_access_level, self.snippets_enabled),
                container_registry_enabled: switch(
                    self.container_registry_access_level,
                    self.container_registry_enabled,
                ),
                shared_runners_enabled: self.shared_runners_enabled,
                public_builds: self.public_jobs.or(self.public_builds),
                lfs_enabled: self.lfs_enabled,
                request_access_enabled: self.request_access_enabled,
                only_allow_merge_if_build_succeeds: self.only_allow_merge_if_pipeline_succeeds,
                only_allow_merge_if_all_discussions_are_resolved: self.only_allow_merge_if_all_discussions_are_resolved,
            },
            import_url: self.import_url,
            default_branch: None,
        }
    }
}

params! {
    /// The attributes of a new project, and what it begins with.
    struct NewProject {
        /// Display name of the project. By default its path.
        optional name: String,
        /// Path of the project in its namespace. By default derived from the name.
        optional path: String,
        /// Id of the namespace. By default the one of the user for whom the project is created.
        optional namespace_id: NamespaceId,
        /// Whether to commit a file `README.md`. Ignored if `import_url` is sent. If the commit fails, the project is
        /// created without it, and `empty_repo` is true.
        optional initialize_with_readme: bool,
        /// Branch of the commit with the file `README.md`, `main` by default.
        optional default_branch: String,
        flatten attributes: Attributes,
    }
}

/// The parameters of a creation, for the use cases.
struct Creation {
    namespace: Option<NamespaceId>,
    changes: ProjectChanges,
    /// The branch of the first commit, if one is wanted.
    branch: Option<InitialBranch>,
}

impl NewProject {
    fn into_creation(self) -> ApiResult<Creation> {
        let Self { name, path, namespace_id, initialize_with_readme, default_branch, attributes } = self;
        let name = name.or_else(|| path.clone());
        let name = name.ok_or_else(|| ApiError::at_least_one_required(&["name", "path"]))?;
        let changes = attributes.into_changes(Field::Value(name), path.map_or(Field::Absent, Field::Value));
        let is_imported = changes.import_url.as_deref().is_some_and(|url| !url.is_empty());
        let is_initialized = initialize_with_readme.unwrap_or_default() && !is_imported;
        let branch = is_initialized.then(|| InitialBranch::parse(default_branch.as_deref())).transpose()?;
        Ok(Creation { namespace: namespace_id, changes, branch })
    }
}

/// Adds the first commit to a new project, if one is wanted, and presents the project. If the commit fails, the project
/// is presented without it.
async fn finish_creation(
    context: &RequestContext,
    project: Project,
    branch: Option<InitialBranch>,
) -> ApiResult<Created<ProjectDetail>> {
    if let Some(branch) = branch {
        initial_commit::create(context.app(), &context.actor, &project, branch).await;
    }
    let (project, import) =
        project::show_with_import(context.app(), &context.actor, &ProjectRef::Id(project.id)).await?;
    Ok(Created(present_with_import(&project, import.as_ref(), context.actor.role(), context.site())))
}

async fn create(context: RequestContext, params: NewProject) -> ApiResult<Created<ProjectDetail>> {
    let Creation { namespace, changes, branch } = params.into_creation()?;
    let project = project::create(context.app(), &context.actor, namespace, changes).await?;
    finish_creation(&context, project, branch).await
}

params! {
    struct NewProjectForUser {
        /// Id of the user to create the project for.
        required user_id: UserId,
        flatten project: NewProject,
    }
}

/// Creates a project for a user. Responds 400 if the project limit is reached, while [`create`] responds 403.
async fn create_for_user(context: RequestContext, params: NewProjectForUser) -> ApiResult<Created<ProjectDetail>> {
    let Creation { namespace, changes, branch } = params.project.into_creation()?;
    let created = project::create_for(context.app(), &context.actor, params.user_id, namespace, changes).await;
    let project = created.map_err(|error| match error {
        holdfast_app::Error::ProjectLimit(limit) => {
            ApiError::message(StatusCode::BAD_REQUEST, json!({ "limit_reached": [project_limit_message(limit)] }))
        }
        other => other.into(),
    })?;
    finish_creation(&context, project, branch).await
}

params! {
    struct UpdateParams {
        required id: ProjectRef,
        /// New display name.
        nullable name: String,
        /// New path of the project in its namespace.
        nullable path: String,
        /// Existing branch to use as the default branch.
        optional default_branch: String,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateParams) -> ApiResult<Body<ProjectDetail>> {
    let changes = params.attributes.into_changes(params.name, params.path);
    let changes = ProjectChanges { default_branch: params.default_branch, ..changes };
    let project = project::update(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Body(present_single(&project, &context)))
}

async fn delete(context: RequestContext, params: OneProject) -> ApiResult<Accepted> {
    project::delete(context.app(), &context.actor, &params.id).await?;
    Ok(Accepted)
}

async fn archive(context: RequestContext, params: OneProject) -> ApiResult<Created<ProjectDetail>> {
    let project = project::set_archived(context.app(), &context.actor, &params.id, true).await?;
    Ok(Created(present_single(&project, &context)))
}

async fn unarchive(context: RequestContext, params: OneProject) -> ApiResult<Created<ProjectDetail>> {
    let project = project::set_archived(context.app(), &context.actor, &params.id, false).await?;
    Ok(Created(present_single(&project, &context)))
}

async fn star(context: RequestContext, params: OneProject) -> ApiResult<CreatedIfChanged<ProjectDetail>> {
    let project = star::create(context.app(), &context.actor, &params.id).await?;
    Ok(CreatedIfChanged(project.map(|project| present_single(&project, &context))))
}

async fn unstar(context: RequestContext, params: OneProject) -> ApiResult<CreatedIfChanged<ProjectDetail>> {
    let project = star::delete(context.app(), &context.actor, &params.id).await?;
    Ok(CreatedIfChanged(project.map(|project| present_single(&project, &context))))
}

params! {
    struct ListUsers {
        required id: ProjectRef,
        /// Part of the name, username or email address.
        optional search: String,
    }
}

async fn list_users(context: RequestContext, params: ListUsers) -> ApiResult<PageBody<UserBasic>> {
    let search = params.search.filter(|term| !term.is_empty());
    let filter = MemberFilter { search, ..MemberFilter::default() };
    let page = member::list_all(context.app(), &context.actor, &params.id, &filter, context.page).await?;
    Ok(PageBody(page.map(|member| present_basic(&member.user, context.site()))))
}

params! {
    struct ListGroups {
        required id: ProjectRef,
        /// Part of the name.
        optional search: String,
    }
}

async fn list_groups(context: RequestContext, params: ListGroups) -> ApiResult<PageBody<GroupOfProject>> {
    let project = project::show(context.app(), &context.actor, &params.id).await?;
    let term = params.search.unwrap_or_default().to_lowercase();
    let is_found = |group: &GroupOfProject| group.name.to_lowercase().contains(&term);
    let groups: Vec<GroupOfProject> = present_group(&project, context.site()).into_iter().filter(is_found).collect();
    let range = context.page.range(groups.len());
    let total = groups.len();
    let groups = groups.into_iter().skip(range.start).take(range.len()).collect();
    Ok(PageBody(Page::with_total(groups, context.page, total)))
}

params! {
    struct Transfer {
        required id: ProjectRef,
        /// Id or path of the group that receives the project.
        required namespace: GroupRef,
    }
}

async fn transfer(context: RequestContext, params: Transfer) -> ApiResult<Body<ProjectDetail>> {
    transfer::transfer(context.app(), &context.actor, &params.namespace, &params.id).await?;
    // The former path still leads to the project.
    Ok(Body(present_single(&project::show(context.app(), &context.actor, &params.id).await?, &context)))
}

pub fn routes(routes: &mut Routes) {
    const ONE: &str = "/projects/:id";
    let (read, star_it) = (Access::Project(Read), Access::Project(Star));
    let for_others = Access::Instance(CreateProjectForOthers);
    routes.add(
        Method::GET,
        "/projects",
        Access::Instance(ExplorePublic),
        "List the projects visible to the current user",
        list,
    );
    routes.add(Method::POST, "/projects", Access::Instance(CreateProject), "Create a project", create);
    routes.add(Method::POST, "/projects/user/:user_id", for_others, "Create a project for a user", create_for_user);
    routes.add(Method::GET, ONE, read, "Get a project", show);
    routes.add(Method::PUT, ONE, Access::Project(Update), "Update a project", update);
    routes.add(Method::DELETE, ONE, Access::Project(Delete), "Delete a project", delete);
    routes.add(Method::POST, "/projects/:id/archive", Access::Project(Archive), "Archive a project", archive);
    routes.add(Method::POST, "/projects/:id/unarchive", Access::Project(Archive), "Unarchive a project", unarchive);
    routes.add(Method::POST, "/projects/:id/star", star_it, "Star a project", star);
    routes.add(Method::POST, "/projects/:id/unstar", star_it, "Unstar a project", unstar);
    routes.add(
        Method::GET,
        "/projects/:id/users",
        Access::Project(ReadMembers),
        "List the users who have access to a project as members",
        list_users,
    );
    routes.add(Method::GET, "/projects/:id/groups", read, "List the group that a project belongs to", list_groups);
    routes.add(
        Method::PUT,
        "/projects/:id/transfer",
        Access::Instance(TransferProject),
        "Transfer a project to a group",
        transfer,
    );
}
