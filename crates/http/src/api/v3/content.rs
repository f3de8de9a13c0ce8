//! What is in a repository.

use axum::body::Body as HttpBody;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::archive::{self, Format};
use holdfast_app::repository::compare::Comparison;
use holdfast_app::repository::tree::ListTree;
use holdfast_app::repository::{blob, compare, contributor, tree};
use holdfast_domain::policy::ProjectAction::ReadCode;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ApiResult;
use super::projects::OneProject;
use crate::answer::{Answer, Facts, Listed};
use crate::error::ApiError;
use crate::present::compare::{CompareBody, compare as present_compare};
use crate::present::contributor::{ContributorBody, contributor as present_contributor};
use crate::present::tree::{TreeEntryBody, tree_entry};
use crate::stored::{File, Packed};
use crate::{Access, Cx, Routes, params};

params! {
    struct ReadTree {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A directory; the top if it is left out.
        optional path: String,
        /// A branch, a tag or a commit; the default branch if it is left out.
        optional ref_name: String,
        /// With all that is below.
        optional recursive: bool,
    }
}

async fn list_tree(cx: Cx, params: ReadTree) -> ApiResult<Listed<TreeEntryBody>> {
    let input = ListTree {
        path: params.path.unwrap_or_default(),
        revision: params.ref_name,
        recursive: params.recursive.unwrap_or(false),
    };
    Ok(Listed(tree::list(cx.app(), &cx.actor, &params.id, input, cx.page).await?.map(tree_entry)))
}

params! {
    struct ReadFile {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A branch, a tag or a commit.
        required sha: String,
        /// Where the file is. It must be sent.
        optional filepath: String,
    }
}

async fn show_file(cx: Cx, params: ReadFile) -> ApiResult<File> {
    let Some(path) = params.filepath.filter(|path| !path.is_empty()) else {
        return Err(ApiError::message(StatusCode::BAD_REQUEST, "400 (Bad request) \"filepath\" not given"));
    };
    Ok(File(blob::at_path(cx.app(), &cx.actor, &params.id, &params.sha, &path).await?))
}

params! {
    struct ReadBlob {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// Of a blob; the beginning is enough if there is no other that begins so.
        required sha: String,
    }
}

async fn show_blob(cx: Cx, params: ReadBlob) -> ApiResult<File> {
    Ok(File(blob::show(cx.app(), &cx.actor, &params.id, &params.sha).await?))
}

params! {
    struct ReadArchive {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A commit, a branch or a tag; the default branch if it is left out.
        optional sha: String,
    }
}

async fn show_archive(cx: Cx, params: ReadArchive, format: Format) -> ApiResult<Packed> {
    let archive = archive::show(cx.app(), &cx.actor, &params.id, params.sha.as_deref(), format).await?;
    Ok(Packed { archive, format })
}

params! {
    struct Compare {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A commit, a branch or a tag.
        required from: String,
        /// A commit, a branch or a tag.
        required to: String,
    }
}

/// 200 with a body that is written while it is computed.
struct Compared(Comparison);

impl Answer for Compared {
    const STATUS: StatusCode = StatusCode::OK;

    fn schema() -> RefOr<Schema> {
        CompareBody::schema()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        CompareBody::schemas(into);
    }

    fn respond(self, _: &Facts<'_>) -> Response {
        let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        (Self::STATUS, [json], HttpBody::from_stream(present_compare(self.0))).into_response()
    }
}

async fn show_compare(cx: Cx, params: Compare) -> ApiResult<Compared> {
    Ok(Compared(compare::show(cx.app(), &cx.actor, &params.id, &params.from, &params.to).await?))
}

async fn list_contributors(cx: Cx, params: OneProject) -> ApiResult<Listed<ContributorBody>> {
    let page = contributor::list(cx.app(), &cx.actor, &params.id, cx.page).await?;
    Ok(Listed(page.map(present_contributor)))
}

/// The kind of an archive is told by how its address ends.
const ARCHIVES: [(&str, Format); 11] = [
    ("/projects/:id/repository/archive", Format::TarGz),
    ("/projects/:id/repository/archive.tar.gz", Format::TarGz),
    ("/projects/:id/repository/archive.tgz", Format::TarGz),
    ("/projects/:id/repository/archive.gz", Format::TarGz),
    ("/projects/:id/repository/archive.tar.bz2", Format::TarBz2),
    ("/projects/:id/repository/archive.tbz", Format::TarBz2),
    ("/projects/:id/repository/archive.tbz2", Format::TarBz2),
    ("/projects/:id/repository/archive.tb2", Format::TarBz2),
    ("/projects/:id/repository/archive.bz2", Format::TarBz2),
    ("/projects/:id/repository/archive.tar", Format::Tar),
    ("/projects/:id/repository/archive.zip", Format::Zip),
];

pub fn routes(routes: &mut Routes) {
    let read = Access::Project(ReadCode);
    routes.add(Method::GET, "/projects/:id/repository/tree", read, "Lists a directory", list_tree);
    routes.add(Method::GET, "/projects/:id/repository/blobs/:sha", read, "Shows a file of a commit", show_file);
    routes.add(Method::GET, "/projects/:id/repository/raw_blobs/:sha", read, "Shows a file by its own id", show_blob);
    routes.add(
        Method::GET,
        "/projects/:id/repository/compare",
        read,
        "Tells what is between two commits",
        show_compare,
    );
    let summary = "Lists who contributed to the default branch; 503 while a long history is counted";
    routes.add(Method::GET, "/projects/:id/repository/contributors", read, summary, list_contributors);
    for (path, format) in ARCHIVES {
        let show = move |cx, params| show_archive(cx, params, format);
        routes.add(Method::GET, path, read, "Packs all files of a commit", show);
    }
}
