use axum::http::Method;
use holdfast_app::projects::fork;
use holdfast_app::projects::project::{Project, ProjectChanges, ProjectRef};
use holdfast_domain::Field;
use holdfast_domain::ids::{NamespaceId, ProjectId};
use holdfast_domain::policy::ProjectAction::{Fork, Read, Rename};

use super::ApiResult;
use super::projects::{OneProject, ProjectFilter, VisibilityWord, present_single};
use crate::error::ApiError;
use crate::present::v4::project::{ProjectDetail, ProjectInList, present_in_list};
use crate::response::{Created, NoContent, PageBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct CreateFork {
        required id: ProjectRef,
        /// Id of the namespace for the fork. By default the current user's own namespace.
        optional namespace_id: NamespaceId,
        /// Path of the namespace for the fork.
        optional namespace_path: String,
        /// Id or path of the namespace for the fork, in an older form.
        optional namespace: String,
        /// Display name of the fork. By default that of the project.
        optional name: String,
        /// Path of the fork in its namespace. By default that of the project.
        optional path: String,
        /// By default that of the project.
        optional description: String,
        /// By default that of the project. It cannot be higher.
        optional visibility: VisibilityWord,
    }
}

async fn create(context: RequestContext, params: CreateFork) -> ApiResult<Created<ProjectDetail>> {
    let namespace = params.namespace_id.map(|id| id.get().to_string()).or(params.namespace_path).or(params.namespace);
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    let given = |text: Option<String>| text.filter(|text| !text.is_empty()).map_or(Field::Absent, Field::Value);
    let changes = ProjectChanges {
        name: given(params.name),
        path: given(params.path),
        description: given(params.description),
        visibility: params.visibility.map(Into::into),
        ..ProjectChanges::default()
    };
    let result = fork::create_with(context.app(), &context.actor, &params.id, namespace.as_deref(), changes).await;
    Ok(Created(present_single(&result.map_err(|error| ApiError::from(error).invalid_as_conflict())?, &context)))
}

params! {
    struct ListForks {
        required id: ProjectRef,
        flatten filter: ProjectFilter,
    }
}

async fn list(context: RequestContext, params: ListForks) -> ApiResult<PageBody<ProjectInList>> {
    let is_simple = params.filter.simple;
    let input = params.filter.into_input();
    let found = fork::list_with(context.app(), &context.actor, &params.id, input, context.page).await?;
    let present = |project: Project| present_in_list(&project, is_simple, context.actor.role(), context.site());
    Ok(PageBody(found.forks.map(present)))
}

params! {
    struct ForkRelation {
        required id: ProjectRef,
        /// Id of the project that this one becomes a fork of.
        required forked_from_id: ProjectId,
    }
}

async fn link(context: RequestContext, params: ForkRelation) -> ApiResult<Created<ProjectDetail>> {
    let project = fork::link(context.app(), &context.actor, &params.id, params.forked_from_id).await?;
    Ok(Created(present_single(&project, &context)))
}

async fn unlink(context: RequestContext, params: OneProject) -> ApiResult<NoContent> {
    fork::unlink(context.app(), &context.actor, &params.id).await?;
    Ok(NoContent)
}

pub fn routes(routes: &mut Routes) {
    const FORK: &str = "/projects/:id/fork";
    let (read, rename) = (Access::Project(Read), Access::Project(Rename));
    routes.add(Method::POST, FORK, Access::Project(Fork), "Fork a project", create);
    routes.add(Method::GET, "/projects/:id/forks", read, "List the forks of a project", list);
    routes.add(
        Method::POST,
        "/projects/:id/fork/:forked_from_id",
        rename,
        "Make a project the fork of another one",
        link,
    );
    routes.add(Method::DELETE, FORK, rename, "Remove the relation of a fork to its source", unlink);
}
