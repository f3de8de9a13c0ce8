use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::projects::upload;
use holdfast_domain::policy::ProjectAction::Upload;
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiResult;
use crate::answer::Created;
use crate::params::UploadedFile;
use crate::{Access, Cx, Routes, params};

/// What a text needs to show the file.
#[derive(Serialize, ToSchema)]
struct UploadBody {
    alt: String,
    /// Relative to the project's own address: the file is at `web_url` of the project followed by this.
    url: String,
    markdown: String,
}

params! {
    struct CreateUpload {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// As multipart/form-data.
        file file: UploadedFile,
    }
}

async fn create(cx: Cx, params: CreateUpload) -> ApiResult<Created<UploadBody>> {
    let UploadedFile { name, bytes } = params.file;
    let uploaded = upload::create(cx.app(), &cx.actor, &params.id, &name, bytes).await?;
    Ok(Created(UploadBody { alt: uploaded.alt, url: uploaded.url, markdown: uploaded.markdown }))
}

pub fn routes(routes: &mut Routes) {
    let summary = "Uploads a file for use in texts";
    routes.add(Method::POST, "/projects/:id/uploads", Access::Project(Upload), summary, create);
}
