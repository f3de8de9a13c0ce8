//! Endpoints that read the content of a repository: trees, files, comparisons, contributors and archives.

use axum::body::Body as HttpBody;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::archive::{self, ArchiveFormat};
use holdfast_app::repository::browse::compare::Comparison;
use holdfast_app::repository::browse::tree::ListTree;
use holdfast_app::repository::browse::{blob, compare, contributor, tree};
use holdfast_domain::policy::ProjectAction::ReadCode;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ApiResult;
use super::projects::OneProject;
use crate::error::ApiError;
use crate::present::compare::{CompareBody, present_compare};
use crate::present::contributor::{ContributorBody, present_contributor};
use crate::present::tree::{TreeEntryBody, tree_entry};
use crate::response::{ApiResponse, PageBody, ResponseContext};
use crate::user_content::{ArchiveResponse, RawFile};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ReadTree {
        required id: ProjectRef,
        /// Path of the directory, the root of the repository by default.
        optional path: String,
        /// Branch, tag or commit, the default branch by default.
        optional ref_name: String,
        /// Whether to list subdirectories recursively.
        optional recursive: bool,
    }
}

async fn list_tree(context: RequestContext, params: ReadTree) -> ApiResult<PageBody<TreeEntryBody>> {
    let input = ListTree {
        path: params.path.unwrap_or_default(),
        revision: params.ref_name,
        is_recursive: params.recursive.unwrap_or(false),
    };
    Ok(PageBody(tree::list(context.app(), &context.actor, &params.id, input, context.page).await?.map(tree_entry)))
}

params! {
    struct ReadFile {
        required id: ProjectRef,
        /// Branch, tag or commit.
        required sha: String,
        /// Path of the file. Required.
        optional filepath: String,
    }
}

async fn show_file(context: RequestContext, params: ReadFile) -> ApiResult<RawFile> {
    let Some(path) = params.filepath.filter(|path| !path.is_empty()) else {
        return Err(ApiError::message(StatusCode::BAD_REQUEST, "400 (Bad request) \"filepath\" not given"));
    };
    Ok(RawFile(blob::show_at_path(context.app(), &context.actor, &params.id, &params.sha, &path).await?))
}

params! {
    struct ReadBlob {
        required id: ProjectRef,
        /// Object id of the blob, or an unambiguous prefix of it.
        required sha: String,
    }
}

async fn show_blob(context: RequestContext, params: ReadBlob) -> ApiResult<RawFile> {
    Ok(RawFile(blob::show(context.app(), &context.actor, &params.id, &params.sha).await?))
}

params! {
    struct ReadArchive {
        required id: ProjectRef,
        /// Commit, branch or tag, the default branch by default.
        optional sha: String,
    }
}

async fn show_archive(
    context: RequestContext,
    params: ReadArchive,
    format: ArchiveFormat,
) -> ApiResult<ArchiveResponse> {
    let archive = archive::show(context.app(), &context.actor, &params.id, params.sha.as_deref(), format).await?;
    Ok(ArchiveResponse { archive, format })
}

params! {
    struct Compare {
        required id: ProjectRef,
        /// Commit, branch or tag to compare from.
        required from: String,
        /// Commit, branch or tag to compare to.
        required to: String,
    }
}

/// A response with a comparison, which is computed while it is sent.
struct CompareResponse(Comparison);

impl ApiResponse for CompareResponse {
    const STATUS: StatusCode = StatusCode::OK;

    fn schema() -> RefOr<Schema> {
        CompareBody::schema()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        CompareBody::schemas(into);
    }

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        (Self::STATUS, [json], HttpBody::from_stream(present_compare(self.0))).into_response()
    }
}

async fn show_compare(context: RequestContext, params: Compare) -> ApiResult<CompareResponse> {
    Ok(CompareResponse(compare::show(context.app(), &context.actor, &params.id, &params.from, &params.to).await?))
}

async fn list_contributors(context: RequestContext, params: OneProject) -> ApiResult<PageBody<ContributorBody>> {
    let page = contributor::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(present_contributor)))
}

/// The paths of archives. The suffix selects the format.
const ARCHIVES: [(&str, ArchiveFormat); 11] = [
    ("/projects/:id/repository/archive", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.tar.gz", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.tgz", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.gz", ArchiveFormat::TarGz),
    ("/projects/:id/repository/archive.tar.bz2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tbz", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tbz2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tb2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.bz2", ArchiveFormat::TarBz2),
    ("/projects/:id/repository/archive.tar", ArchiveFormat::Tar),
    ("/projects/:id/repository/archive.zip", ArchiveFormat::Zip),
];

pub fn routes(routes: &mut Routes) {
    let read = Access::Project(ReadCode);
    routes.add(Method::GET, "/projects/:id/repository/tree", read, "List a repository tree", list_tree);
    routes.add(Method::GET, "/projects/:id/repository/blobs/:sha", read, "Get a file of a commit", show_file);
    routes.add(Method::GET, "/projects/:id/repository/raw_blobs/:sha", read, "Get a blob", show_blob);
    routes.add(Method::GET, "/projects/:id/repository/compare", read, "Compare two commits", show_compare);
    let summary = "List the contributors to the default branch";
    routes.add(Method::GET, "/projects/:id/repository/contributors", read, summary, list_contributors);
    for (path, format) in ARCHIVES {
        let show = move |context, params| show_archive(context, params, format);
        routes.add(Method::GET, path, read, "Download an archive of a commit", show);
    }
}
