//! Single files of a repository. Each change is a commit.

use std::ops::RangeInclusive;

use axum::http::{Method, StatusCode};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::{blame, file};
use holdfast_app::repository::edit::file_changes::{self, FileChange};
use holdfast_domain::policy::ProjectAction::{ReadCode, WriteCode};

use super::ApiResult;
use super::commits::CommitParams;
use crate::api::shared::files::FileContent;
use crate::error::ApiError;
use crate::params::{StringMap, Unsupported};
use crate::present::v4::file::{
    BlameBlockBody, ChangedFileBody, RepositoryFile, WithFileHeaders, file_facts, present_blame, present_file,
};
use crate::response::{Body, Created, NoContent, StreamedBody};
use crate::user_content::RawFile;
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ReadFile {
        required id: ProjectRef,
        /// Path of the file, with slashes as %2F.
        required file_path: String,
        /// Branch, tag or commit, the default branch (`HEAD`) by default.
        optional r#ref: String,
    }
}

impl ReadFile {
    fn revision(&self) -> &str {
        self.r#ref.as_deref().filter(|revision| !revision.is_empty()).unwrap_or("HEAD")
    }
}

type FileResponse = WithFileHeaders<StreamedBody<RepositoryFile>>;

async fn show(context: RequestContext, params: ReadFile) -> ApiResult<FileResponse> {
    let (app, actor) = (context.app(), &context.actor);
    let file = file::show(app, actor, &params.id, &params.file_path, params.revision()).await?;
    Ok(WithFileHeaders { facts: file_facts(&file), response: StreamedBody::new(present_file(file)) })
}

async fn show_raw(context: RequestContext, params: ReadFile) -> ApiResult<WithFileHeaders<RawFile>> {
    let (app, actor) = (context.app(), &context.actor);
    let file = file::show_quickly(app, actor, &params.id, &params.file_path, params.revision()).await?;
    Ok(WithFileHeaders { facts: file_facts(&file), response: RawFile(file.blob) })
}

params! {
    struct ReadBlame {
        flatten file: ReadFile,
        /// Numbers of the first and the last line, as `range[start]` and `range[end]`. All lines by default.
        optional range: StringMap,
    }
}

async fn show_blame(context: RequestContext, params: ReadBlame) -> ApiResult<StreamedBody<Vec<BlameBlockBody>>> {
    let range = match params.range {
        Some(range) => {
            read_range(&range).ok_or_else(|| ApiError::error(StatusCode::BAD_REQUEST, "range is invalid"))?
        }
        None => 1..=usize::MAX,
    };
    let (app, actor, file) = (context.app(), &context.actor, &params.file);
    let lines = blame::list_lines(app, actor, &file.id, file.revision(), &file.file_path, range).await?;
    Ok(StreamedBody::new(present_blame(lines)))
}

/// Reads the numbers of the first and the last line. Returns None if one of them is missing or not a number.
fn read_range(range: &StringMap) -> Option<RangeInclusive<usize>> {
    let number = |wanted: &str| {
        let (_, value) = range.0.as_ref()?.iter().find(|(name, _)| name == wanted)?;
        value.trim().parse::<usize>().ok().filter(|number| *number > 0)
    };
    let (start, end) = (number("start")?, number("end")?);
    (start <= end).then_some(start..=end)
}

params! {
    struct WriteFile {
        required id: ProjectRef,
        /// Path of the file, with slashes as %2F.
        required file_path: String,
        flatten commit: CommitParams,
        flatten content: FileContent,
        optional execute_filemode: Unsupported,
    }
}

async fn create(context: RequestContext, params: WriteFile) -> ApiResult<Created<ChangedFileBody>> {
    let change = FileChange::Create { path: params.file_path.clone(), content: params.content.decode()? };
    Ok(Created(commit(&context, &params.id, params.file_path, params.commit, change).await?))
}

params! {
    struct UpdateFile {
        flatten file: WriteFile,
        /// Id of the commit that last changed the file, as far as the caller knows. If another commit has changed it,
        /// the request is rejected.
        optional last_commit_id: String,
    }
}

async fn update(
    context: RequestContext,
    UpdateFile { file, last_commit_id }: UpdateFile,
) -> ApiResult<Body<ChangedFileBody>> {
    let last_commit_id = last_commit_id.filter(|id| !id.is_empty());
    let change = FileChange::Update { path: file.file_path.clone(), content: file.content.decode()?, last_commit_id };
    Ok(Body(commit(&context, &file.id, file.file_path, file.commit, change).await?))
}

params! {
    struct DeleteFile {
        required id: ProjectRef,
        /// Path of the file, with slashes as %2F.
        required file_path: String,
        flatten commit: CommitParams,
        /// Id of the commit that last changed the file, as far as the caller knows. If another commit has changed it,
        /// the request is rejected.
        optional last_commit_id: String,
    }
}

async fn delete(context: RequestContext, params: DeleteFile) -> ApiResult<NoContent> {
    let last_commit_id = params.last_commit_id.filter(|id| !id.is_empty());
    let change = FileChange::Delete { path: params.file_path.clone(), last_commit_id };
    commit(&context, &params.id, params.file_path, params.commit, change).await?;
    Ok(NoContent)
}

/// Creates a commit with one change, and returns what the API says about it.
async fn commit(
    context: &RequestContext,
    project: &ProjectRef,
    file_path: String,
    params: CommitParams,
    change: FileChange,
) -> ApiResult<ChangedFileBody> {
    let branch = params.branch.clone();
    file_changes::commit(context.app(), &context.actor, project, params.into_changes(vec![change])).await?;
    Ok(ChangedFileBody { file_path, branch })
}

pub fn routes(routes: &mut Routes) {
    const ONE: &str = "/projects/:id/repository/files/:file_path";
    const RAW: &str = "/projects/:id/repository/files/:file_path/raw";
    const BLAME: &str = "/projects/:id/repository/files/:file_path/blame";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, ONE, read, "Get a file", show);
    routes.add_for_builds(Method::GET, RAW, read, "Get the content of a file", show_raw);
    routes.add(Method::GET, BLAME, read, "List the lines of a file with their last commits", show_blame);
    routes.add(Method::POST, ONE, write, "Create a file", create);
    routes.add(Method::PUT, ONE, write, "Update a file", update);
    routes.add(Method::DELETE, ONE, write, "Delete a file", delete);
}
