use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::upload;
use holdfast_domain::policy::ProjectAction::Upload;
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiResult;
use crate::params::UploadedFile;
use crate::response::Created;
use crate::{Access, RequestContext, Routes, params};

/// References to an uploaded file.
#[derive(Serialize, ToSchema)]
struct UploadedFileBody {
    id: i64,
    alt: String,
    /// Path of the file, to be appended to the `web_url` of the project.
    url: String,
    /// Path of the file on this server.
    full_path: String,
    markdown: String,
}

params! {
    struct CreateUpload {
        required id: ProjectRef,
        /// File to upload, as multipart/form-data.
        file file: UploadedFile,
    }
}

async fn create(context: RequestContext, params: CreateUpload) -> ApiResult<Created<UploadedFileBody>> {
    let UploadedFile { name, bytes } = params.file;
    let uploaded = upload::create(context.app(), &context.actor, &params.id, &name, bytes).await?;
    Ok(Created(UploadedFileBody {
        id: uploaded.id,
        alt: uploaded.alt,
        url: uploaded.url,
        full_path: uploaded.full_path,
        markdown: uploaded.markdown,
    }))
}

pub fn routes(routes: &mut Routes) {
    let summary = "Upload a file to a project";
    routes.add(Method::POST, "/projects/:id/uploads", Access::Project(Upload), summary, create);
}
