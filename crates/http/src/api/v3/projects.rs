use axum::http::{Method, StatusCode};
use holdfast_app::projects::project::{self, FeatureChanges, Project, ProjectChanges, ProjectRef};
use holdfast_domain::ids::{NamespaceId, UserId};
use holdfast_domain::policy::InstanceAction::{CreateProject, CreateProjectForOthers};
use holdfast_domain::policy::ProjectAction::{Archive, Delete, Read, Update};
use holdfast_domain::{Field, Visibility};
use serde_json::json;

use super::ApiResult;
use crate::answer::{Body, Created};
use crate::error::{ApiError, project_limit};
use crate::present::project::{Form, ProjectBody, project as present};
use crate::{Access, Cx, Routes, params};

params! {
    pub struct OneProject {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
    }
}

pub fn alone(project: &Project, cx: &Cx) -> ProjectBody {
    present(project, Form::Alone, cx.actor.standing(), cx.site())
}

async fn show(cx: Cx, params: OneProject) -> ApiResult<Body<ProjectBody>> {
    let project = project::show(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(alone(&project, &cx)))
}

params! {
    /// What creation and change have in common.
    struct Attributes {
        /// Made from the name by default.
        changed path: String,
        changed description: String,
        optional issues_enabled: bool,
        optional merge_requests_enabled: bool,
        optional builds_enabled: bool,
        optional wiki_enabled: bool,
        optional snippets_enabled: bool,
        optional container_registry_enabled: bool,
        optional shared_runners_enabled: bool,
        /// True equals visibility_level 20, false 0; visibility_level comes before it.
        optional public: bool,
        /// 0 private (default), 10 internal, 20 public.
        optional visibility_level: Visibility,
        /// Where to import the repository from.
        optional import_url: String,
        /// Whether builds can be seen by non-members.
        optional public_builds: bool,
        optional only_allow_merge_if_build_succeeds: bool,
        optional only_allow_merge_if_all_discussions_are_resolved: bool,
        optional lfs_enabled: bool,
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
        required name: String,
        /// Number of a namespace; the caller's own by default.
        optional namespace_id: NamespaceId,
        including attributes: Attributes,
    }
}

async fn create(cx: Cx, params: CreateParams) -> ApiResult<Created<ProjectBody>> {
    let changes = params.attributes.into_changes(Field::Value(params.name));
    let project = project::create(cx.app(), &cx.actor, params.namespace_id, changes).await?;
    Ok(Created(alone(&project, &cx)))
}

params! {
    struct CreateForParams {
        required user_id: UserId,
        required name: String,
        /// Number of a namespace; the user's own by default.
        optional namespace_id: NamespaceId,
        including attributes: Attributes,
    }
}

/// Over the limit this answers 400, unlike the other.
async fn create_for(cx: Cx, params: CreateForParams) -> ApiResult<Created<ProjectBody>> {
    let changes = params.attributes.into_changes(Field::Value(params.name));
    let created = project::create_for(cx.app(), &cx.actor, params.user_id, params.namespace_id, changes).await;
    let project = created.map_err(|error| match error {
        holdfast_app::Error::ProjectLimit(limit) => {
            ApiError::message(StatusCode::BAD_REQUEST, json!({ "limit_reached": [project_limit(limit)] }))
        }
        other => other.into(),
    })?;
    Ok(Created(alone(&project, &cx)))
}

params! {
    struct UpdateParams {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Stays as it is where it is left out.
        changed name: String,
        /// One of its branches.
        optional default_branch: String,
        including attributes: Attributes,
    }
}

async fn update(cx: Cx, params: UpdateParams) -> ApiResult<Body<ProjectBody>> {
    let changes = params.attributes.into_changes(params.name);
    let changes = ProjectChanges { default_branch: params.default_branch, ..changes };
    let project = project::update(cx.app(), &cx.actor, &params.id, changes).await?;
    Ok(Body(alone(&project, &cx)))
}

async fn archive(cx: Cx, params: OneProject) -> ApiResult<Created<ProjectBody>> {
    let project = project::set_archived(cx.app(), &cx.actor, &params.id, true).await?;
    Ok(Created(alone(&project, &cx)))
}

async fn unarchive(cx: Cx, params: OneProject) -> ApiResult<Created<ProjectBody>> {
    let project = project::set_archived(cx.app(), &cx.actor, &params.id, false).await?;
    Ok(Created(alone(&project, &cx)))
}

/// `true`, as existing clients know it.
async fn delete(cx: Cx, params: OneProject) -> ApiResult<Body<bool>> {
    project::delete(cx.app(), &cx.actor, &params.id).await?;
    Ok(Body(true))
}

pub fn routes(routes: &mut Routes) {
    let for_others = Access::Instance(CreateProjectForOthers);
    routes.add(Method::GET, "/projects/:id", Access::Project(Read), "Shows a project", show);
    routes.add(Method::POST, "/projects", Access::Instance(CreateProject), "Creates a project", create);
    routes.add(Method::POST, "/projects/user/:user_id", for_others, "Creates a project for a user", create_for);
    routes.add(Method::PUT, "/projects/:id", Access::Project(Update), "Changes a project", update);
    routes.add(Method::POST, "/projects/:id/archive", Access::Project(Archive), "Archives a project", archive);
    routes.add(Method::POST, "/projects/:id/unarchive", Access::Project(Archive), "Unarchives a project", unarchive);
    routes.add(Method::DELETE, "/projects/:id", Access::Project(Delete), "Deletes a project", delete);
}
