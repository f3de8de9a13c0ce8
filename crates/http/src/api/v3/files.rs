//! Single files of a repository. Each change is a commit.

use axum::http::{Method, StatusCode};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::file;
use holdfast_app::repository::edit::file_changes::{self, FileChange};
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use super::commits::{CommitParams, decode};
use crate::error::ApiError;
use crate::present::file::{ChangedFile, FileResponse};
use crate::response::{Body, Created};
use crate::{Access, RequestContext, Routes, choice, params};

params! {
    struct ReadFile {
        required id: ProjectRef,
        required file_path: String,
        /// Branch, tag or commit.
        required r#ref: String,
    }
}

async fn show(context: RequestContext, params: ReadFile) -> ApiResult<FileResponse> {
    let file = file::show(context.app(), &context.actor, &params.id, &params.file_path, &params.r#ref).await?;
    Ok(FileResponse(file))
}

choice! {
    /// How the content of a file is sent.
    enum Encoding {
        Text = "text",
        Base64 = "base64",
    }
}

params! {
    struct WriteFile {
        required id: ProjectRef,
        required file_path: String,
        flatten commit: CommitParams,
        required content: String,
        /// How the content is encoded, `text` by default.
        optional encoding: Encoding,
    }
}

impl WriteFile {
    fn decode(&self) -> Result<Vec<u8>, ApiError> {
        let encoding = matches!(self.encoding, Some(Encoding::Base64)).then_some("base64");
        let content = decode(self.content.clone(), encoding);
        content.ok_or_else(|| ApiError::error(StatusCode::BAD_REQUEST, "content is invalid"))
    }
}

async fn create(context: RequestContext, params: WriteFile) -> ApiResult<Created<ChangedFile>> {
    let change = FileChange::Create { path: params.file_path.clone(), content: params.decode()? };
    Ok(Created(commit(&context, &params.id, params.file_path, params.commit, change).await?))
}

params! {
    struct UpdateFile {
        flatten file: WriteFile,
        /// Id of the commit that last changed the file, as far as the caller knows. If another commit has changed it, the
        /// request is rejected.
        optional last_commit_id: String,
    }
}

async fn update(
    context: RequestContext,
    UpdateFile { file, last_commit_id }: UpdateFile,
) -> ApiResult<Body<ChangedFile>> {
    let change = FileChange::Update { path: file.file_path.clone(), content: file.decode()?, last_commit_id };
    Ok(Body(commit(&context, &file.id, file.file_path, file.commit, change).await?))
}

params! {
    struct DeleteFile {
        required id: ProjectRef,
        required file_path: String,
        flatten commit: CommitParams,
    }
}

async fn delete(context: RequestContext, params: DeleteFile) -> ApiResult<Body<ChangedFile>> {
    let change = FileChange::Delete { path: params.file_path.clone() };
    Ok(Body(commit(&context, &params.id, params.file_path, params.commit, change).await?))
}

/// Creates a commit with one change, and returns what the API says about it.
async fn commit(
    context: &RequestContext,
    project: &ProjectRef,
    file_path: String,
    params: CommitParams,
    change: FileChange,
) -> ApiResult<ChangedFile> {
    let branch = params.branch_name.clone();
    file_changes::commit(context.app(), &context.actor, project, params.into_changes(vec![change])).await?;
    Ok(ChangedFile { file_path, branch_name: branch.clone(), branch })
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/files";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "Get a file", show);
    routes.add(Method::POST, PATH, write, "Create a file", create);
    routes.add(Method::PUT, PATH, write, "Update a file", update);
    routes.add(Method::DELETE, PATH, write, "Delete a file", delete);
}
