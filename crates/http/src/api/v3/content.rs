//! Endpoints that read the content of a repository: trees, files, comparisons, contributors and archives.

use axum::http::{Method, StatusCode};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::tree::ListTree;
use holdfast_app::repository::browse::{blob, compare, contributor, tree};
use holdfast_domain::policy::ProjectAction::ReadCode;

use super::ApiResult;
use super::projects::OneProject;
use crate::api::shared::content::{ARCHIVES, show_archive, show_blob};
use crate::error::ApiError;
use crate::present::compare::{CompareBody, present_compare};
use crate::present::contributor::{ContributorBody, present_contributor};
use crate::present::tree::{TreeEntryBody, tree_entry};
use crate::response::{PageBody, StreamedBody};
use crate::user_content::RawFile;
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
    struct Compare {
        required id: ProjectRef,
        /// Commit, branch or tag to compare from.
        required from: String,
        /// Commit, branch or tag to compare to.
        required to: String,
    }
}

async fn show_compare(context: RequestContext, params: Compare) -> ApiResult<StreamedBody<CompareBody>> {
    let found = compare::show(context.app(), &context.actor, &params.id, &params.from, &params.to).await?;
    Ok(StreamedBody::new(present_compare(found)))
}

async fn list_contributors(context: RequestContext, params: OneProject) -> ApiResult<PageBody<ContributorBody>> {
    let page = contributor::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(present_contributor)))
}

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
