use axum::http::{Method, StatusCode};
use holdfast_app::projects::project::{self, FeatureChanges, Project, ProjectChanges, ProjectRef};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::policy::InstanceAction::{CreateProject, CreateProjectForOthers};
use holdfast_domain::policy::ProjectAction::{Archive, Delete, Read, Update};
use holdfast_domain::{Field, Visibility};
use serde_json::json;

use super::ApiResult;
use crate::error::{ApiError, project_limit_message};
use crate::present::project::{ProjectBody, ProjectView, present_project};
use crate::response::{Body, Created};
use crate::{Access, RequestContext, Routes, params};

params! {
    pub struct OneProject {
        required id: ProjectRef,
    }
}

pub fn present_single(project: &Project, context: &RequestContext) -> ProjectBody {
    present_project(project, ProjectView::Single, context.actor.role(), context.site())
}

async fn show(context: RequestContext, params: OneProject) -> ApiResult<Body<ProjectBody>> {
    let project = project::show(context.app(), &context.actor, &params.id).await?;
    Ok(Body(present_single(&project, &context)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        /// Path of the project in its namespace. By default derived from the name.
        nullable path: String,
        nullable description: String,
        /// Whether the project has issues, on by default.
        optional issues_enabled: bool,
        /// Whether labels and milestones are available without issues, on by default. There are no merge requests.
        optional merge_requests_enabled: bool,
        /// Whether the project has pipelines and builds, on by default.
        optional builds_enabled: bool,
        /// Stored and returned for existing clients, without effect.
        optional wiki_enabled: bool,
        /// Stored and returned for existing clients, without effect.
        optional snippets_enabled: bool,
        /// Stored and returned for existing clients, without effect.
        optional container_registry_enabled: bool,
        /// Whether shared runners execute builds of the project, on by default.
        optional shared_runners_enabled: bool,
        /// `true` is visibility_level 20, `false` is 0. Ignored if visibility_level is sent.
        optional public: bool,
        /// 0 private (default), 10 internal, 20 public.
        optional visibility_level: Visibility,
        /// URL to import the repository from.
        optional import_url: String,
        /// Whether guests and non-members can see builds, on by default.
        optional public_builds: bool,
        /// Stored and returned for existing clients, without effect.
        optional only_allow_merge_if_build_succeeds: bool,
        /// Stored and returned for existing clients, without effect.
        optional only_allow_merge_if_all_discussions_are_resolved: bool,
        /// Stored and returned for existing clients, without effect.
        optional lfs_enabled: bool,
        /// Whether users may request access, off by default.
        optional request_access_enabled: bool,
    }
}

impl Attributes {
    fn into_changes(self, name: Field<String>) -> ProjectChanges {
        let by_public = self.public.map(|public| if public { Visibility::Public } else { Visibility::Private });
        ProjectChanges {
            name,
            path: self.path,
            description: self.description,
            visibility: self.visibility_level.or(by_public),
            features: FeatureChanges {
                issues_enabled: self.issues_enabled,
                merge_requests_enabled: self.merge_requests_enabled,
                wiki_enabled: self.wiki_enabled,
                builds_enabled: self.builds_enabled,
                snippets_enabled: self.snippets_enabled,
                container_registry_enabled: self.container_registry_enabled,
                shared_runners_enabled: self.shared_runners_enabled,
                public_builds: self.public_builds,
                lfs_enabled: self.lfs_enabled,
                request_access_enabled: self.request_access_enabled,
                only_allow_merge_if_build_succeeds: self.only_allow_merge_if_build_succeeds,
                only_allow_merge_if_all_discussions_are_resolved: self.only_allow_merge_if_all_discussions_are_resolved,
            },
            import_url: self.import_url,
            default_branch: None,
        }
    }
}

params! {
    struct CreateParams {
        /// Display name of the project.
        required name: String,
        /// Id of the namespace, by default the current user's own.
        optional namespace_id: NamespaceId,
        flatten attributes: Attributes,
    }
}

async fn create(context: RequestContext, params: CreateParams) -> ApiResult<Created<ProjectBody>> {
    let changes = params.attributes.into_changes(Field::Value(params.name));
    let project = project::create(context.app(), &context.actor, params.namespace_id, changes).await?;
    Ok(Created(present_single(&project, &context)))
}

params! {
    struct CreateForParams {
        /// Id of the user to create the project for.
        required user_id: UserId,
        /// Display name of the project.
        required name: String,
        /// Id of the namespace, by default the user's own.
        optional namespace_id: NamespaceId,
        flatten attributes: Attributes,
    }
}

/// Creates a project for a user. Responds 400 if the project limit is reached, while [`create`] responds 403.
async fn create_for_user(context: RequestContext, params: CreateForParams) -> ApiResult<Created<ProjectBody>> {
    let changes = params.attributes.into_changes(Field::Value(params.name));
    let created =
        project::create_for(context.app(), &context.actor, params.user_id, params.namespace_id, changes).await;
    let project = created.map_err(|error| match error {
        holdfast_app::Error::ProjectLimit(limit) => {
            ApiError::message(StatusCode::BAD_REQUEST, json!({ "limit_reached": [project_limit_message(limit)] }))
        }
        other => other.into(),
    })?;
    Ok(Created(present_single(&project, &context)))
}

params! {
    struct UpdateParams {
        required id: ProjectRef,
        /// New display name.
        nullable name: String,
        /// Existing branch to use as the default branch.
        optional default_branch: String,
        flatten attributes: Attributes,
    }
}

async fn update(context: RequestContext, params: UpdateParams) -> ApiResult<Body<ProjectBody>> {
    let changes = params.attributes.into_changes(params.name);
    let changes = ProjectChanges { default_branch: params.default_branch, ..changes };
    let project = project::update(context.app(), &context.actor, &params.id, changes).await?;
    Ok(Body(present_single(&project, &context)))
}

async fn archive(context: RequestContext, params: OneProject) -> ApiResult<Created<ProjectBody>> {
    let project = project::set_archived(context.app(), &context.actor, &params.id, true).await?;
    Ok(Created(present_single(&project, &context)))
}

async fn unarchive(context: RequestContext, params: OneProject) -> ApiResult<Created<ProjectBody>> {
    let project = project::set_archived(context.app(), &context.actor, &params.id, false).await?;
    Ok(Created(present_single(&project, &context)))
}

/// Deletes a project. Returns `true`, as existing clients expect.
async fn delete(context: RequestContext, params: OneProject) -> ApiResult<Body<bool>> {
    project::delete(context.app(), &context.actor, &params.id).await?;
    Ok(Body(true))
}

pub fn routes(routes: &mut Routes) {
    let for_others = Access::Instance(CreateProjectForOthers);
    routes.add(Method::GET, "/projects/:id", Access::Project(Read), "Get a project", show);
    routes.add(Method::POST, "/projects", Access::Instance(CreateProject), "Create a project", create);
    routes.add(Method::POST, "/projects/user/:user_id", for_others, "Create a project for a user", create_for_user);
    routes.add(Method::PUT, "/projects/:id", Access::Project(Update), "Update a project", update);
    routes.add(Method::POST, "/projects/:id/archive", Access::Project(Archive), "Archive a project", archive);
    routes.add(Method::POST, "/projects/:id/unarchive", Access::Project(Archive), "Unarchive a project", unarchive);
    routes.add(Method::DELETE, "/projects/:id", Access::Project(Delete), "Delete a project", delete);
}
