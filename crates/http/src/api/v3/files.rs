//! Single files of a repository. Each change is a commit.

use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::file;
use holdfast_app::repository::edit::file_changes::{self, FileChange};
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use super::commits::CommitParams;
use crate::api::shared::files::FileContent;
use crate::present::file::{ChangedFile, FileBody, present_file};
use crate::response::{Body, Created, StreamedBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ReadFile {
        required id: ProjectRef,
        required file_path: String,
        /// Branch, tag or commit.
        required r#ref: String,
    }
}

async fn show(context: RequestContext, params: ReadFile) -> ApiResult<StreamedBody<FileBody>> {
    let file = file::show(context.app(), &context.actor, &params.id, &params.file_path, &params.r#ref).await?;
    Ok(StreamedBody::new(present_file(file)))
}

params! {
    struct WriteFile {
        required id: ProjectRef,
        required file_path: String,
        flatten commit: CommitParams,
        flatten content: FileContent,
    }
}

async fn create(context: RequestContext, params: WriteFile) -> ApiResult<Created<ChangedFile>> {
    let change = FileChange::Create { path: params.file_path.clone(), content: params.content.decode()? };
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
    let change = FileChange::Update { path: file.file_path.clone(), content: file.content.decode()?, last_commit_id };
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
    let change = FileChange::Delete { path: params.file_path.clone(), last_commit_id: None };
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
