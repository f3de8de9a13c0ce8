use axum::http::Method;
use holdfast_app::gitlab_export::create::{self, ArchiveContent, NewImport, UserMap};
use holdfast_app::projects::project::{self, ProjectRef};
use holdfast_domain::Violations;
use holdfast_domain::policy::InstanceAction::CreateProject;
use holdfast_domain::policy::ProjectAction::Update;

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::params::{Unsupported, UploadedFile};
use crate::present::v4::import::{ProjectImport, present_import};
use crate::response::{Body, Created};
use crate::{Access, RequestContext, Routes, params};

async fn show(context: RequestContext, params: OneProject) -> ApiResult<Body<ProjectImport>> {
    present_progress(&context, &params.id).await.map(Body)
}

/// Presents the last import of a project, with what it has left out.
async fn present_progress(context: &RequestContext, id: &ProjectRef) -> ApiResult<ProjectImport> {
    let (project, import) = project::show_import(context.app(), &context.actor, id).await?;
    let progress = create::show_progress(context.app(), &context.actor, id).await?;
    Ok(present_import(&project, import.as_ref(), progress))
}

params! {
    struct NewProjectImport {
        /// Path of the new project in its namespace.
        required path: String,
        /// Display name of the new project. By default its path.
        optional name: String,
        /// Id or path of the namespace. By default that of the current user.
        optional namespace: String,
        /// Only for administrators: the local users of authors, one in each line, as `SOURCE,LOCAL`. `SOURCE` is the
        /// username of a member in the export, or the id of another user in it. `LOCAL` is a username on this server.
        /// The texts of others belong to placeholders.
        optional users: String,
        optional overwrite: Unsupported,
        optional override_params: Unsupported,
        /// The export: a `.tar.gz` file of GitLab 12.10 or later.
        file file: UploadedFile,
    }
}

async fn import(context: RequestContext, params: NewProjectImport) -> ApiResult<Created<ProjectImport>> {
    let users = UserMap::parse(params.users.as_deref().unwrap_or_default());
    let input = NewImport {
        archive: ArchiveContent::Bytes(params.file.bytes),
        namespace: params.namespace.filter(|namespace| !namespace.is_empty()),
        path: params.path,
        name: params.name,
        owner: None,
        users: users.map_err(|error| ApiError::from(holdfast_app::Error::from(Violations::single("users", error))))?,
    };
    let (project, _) = create::create(context.app(), &context.actor, input).await?;
    present_progress(&context, &ProjectRef::Id(project.id)).await.map(Created)
}

pub fn routes(routes: &mut Routes) {
    let access = Access::Instance(CreateProject);
    routes.add(Method::POST, "/projects/import", access, "Import a GitLab project export", import);
    routes.add(Method::GET, "/projects/:id/import", Access::Project(Update), "Get the progress of an import", show);
}
