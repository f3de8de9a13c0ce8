//! Endpoints that read the content of a repository: trees, blobs, archives, comparisons and contributors.

use axum::http::Method;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::compare::{self, ComparisonBase};
use holdfast_app::repository::browse::tree::ListTree;
use holdfast_app::repository::browse::{blob, contributor, tree};
use holdfast_domain::page::PageRequest;
use holdfast_domain::policy::ProjectAction::ReadCode;

use super::ApiResult;
use crate::api::shared::content::{ARCHIVES, ReadBlob, show_archive, show_blob as show_raw_blob};
use crate::present::contributor::{ContributorBody, present_contributor};
use crate::present::tree::{TreeEntryBody, tree_entry};
use crate::present::v4::commit::{CommitBody, present_commit};
use crate::present::v4::diff::{ComparisonBody, DiffFormat, present_comparison};
use crate::present::v4::file::{BlobBody, present_blob};
use crate::response::{Body, KeysetPage, ListBody, PageBody, StreamedBody};
use crate::{Access, RequestContext, Routes, choice, params};

choice! {
    /// How a tree is divided into pages.
    enum Pagination {
        Legacy = "legacy",
        Keyset = "keyset",
        None = "none",
    }
}

params! {
    struct ReadTree {
        required id: ProjectRef,
        /// Path of the directory, the root of the repository by default.
        optional path: String,
        /// Branch, tag or commit, the default branch by default.
        optional r#ref: String,
        /// Whether to list subdirectories recursively.
        optional recursive: bool,
        /// With `keyset`, pages are linked by `page_token` and belong to the same commit. The list is always divided
        /// into pages.
        optional pagination: Pagination,
        /// Where the page begins, from the link of the page before.
        optional page_token: String,
    }
}

/// The name of the parameter with the beginning of a page of a tree.
const PAGE_TOKEN: &str = "page_token";

async fn list_tree(context: RequestContext, params: ReadTree) -> ApiResult<ListBody<TreeEntryBody>> {
    let is_keyset = params.pagination == Some(Pagination::Keyset);
    let token = params.page_token.as_deref().filter(|_| is_keyset).and_then(parse_page_token);
    let (revision, page) = match token {
        Some((commit, number)) => (Some(commit.to_owned()), PageRequest::new(Some(number), Some(context.page.size()))),
        None if is_keyset => (params.r#ref, PageRequest::new(None, Some(context.page.size()))),
        None => (params.r#ref, context.page),
    };
    let input =
        ListTree { path: params.path.unwrap_or_default(), revision, is_recursive: params.recursive.unwrap_or(false) };
    let found = tree::list_existing(context.app(), &context.actor, &params.id, input, page).await?;
    let next = format!("{}.{}", found.commit, page.number().saturating_add(1));
    let entries = found.entries.map(tree_entry);
    if !is_keyset {
        return Ok(ListBody::Page(entries));
    }
    let next = entries.has_next.then_some((PAGE_TOKEN, next));
    Ok(ListBody::Keyset(KeysetPage { items: entries.items, next }))
}

/// Parses the beginning of a page: the id of a commit and the number of the page. Other texts count as absent.
fn parse_page_token(token: &str) -> Option<(&str, i64)> {
    let (commit, number) = token.split_once('.')?;
    let is_id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((commit, number.parse().ok()?)).filter(|_| is_id)
}

async fn show_blob(context: RequestContext, params: ReadBlob) -> ApiResult<StreamedBody<BlobBody>> {
    let blob = blob::show(context.app(), &context.actor, &params.id, &params.sha).await?;
    Ok(StreamedBody::new(present_blob(blob)))
}

params! {
    struct Compare {
        required id: ProjectRef,
        /// Commit, branch or tag to compare from.
        required from: String,
        /// Commit, branch or tag to compare to.
        required to: String,
        /// Whether to compare with `from` itself instead of the common ancestor.
        optional straight: bool,
        /// Whether the diffs begin with the names of the files.
        optional unidiff: bool,
    }
}

async fn show_compare(context: RequestContext, params: Compare) -> ApiResult<StreamedBody<ComparisonBody>> {
    let base = if params.straight == Some(true) { ComparisonBase::From } else { ComparisonBase::MergeBase };
    let (app, actor) = (context.app(), &context.actor);
    let found = compare::show_since(app, actor, &params.id, &params.from, &params.to, base).await?;
    let format = DiffFormat::from_unidiff(params.unidiff);
    let stream = present_comparison(found, (&params.from, &params.to), format, context.site());
    Ok(StreamedBody::new(stream))
}

params! {
    struct FindMergeBase {
        required id: ProjectRef,
        /// At least two branches, tags or commits.
        list refs: String,
    }
}

async fn show_merge_base(context: RequestContext, params: FindMergeBase) -> ApiResult<Body<CommitBody>> {
    let found = compare::show_merge_base(context.app(), &context.actor, &params.id, &params.refs).await?;
    Ok(Body(present_commit(found.commit, &found.project.full_path(), context.site())))
}

params! {
    struct ListContributors {
        required id: ProjectRef,
    }
}

async fn list_contributors(context: RequestContext, params: ListContributors) -> ApiResult<PageBody<ContributorBody>> {
    let page = contributor::list(context.app(), &context.actor, &params.id, context.page).await?;
    Ok(PageBody(page.map(present_contributor)))
}

pub fn routes(routes: &mut Routes) {
    let read = Access::Project(ReadCode);
    routes.add(Method::GET, "/projects/:id/repository/tree", read, "List a repository tree", list_tree);
    routes.add(Method::GET, "/projects/:id/repository/blobs/:sha", read, "Get a blob", show_blob);
    const RAW_BLOB: &str = "/projects/:id/repository/blobs/:sha/raw";
    routes.add(Method::GET, RAW_BLOB, read, "Get the content of a blob", show_raw_blob);
    routes.add(Method::GET, "/projects/:id/repository/compare", read, "Compare two commits", show_compare);
    const MERGE_BASE: &str = "/projects/:id/repository/merge_base";
    routes.add(Method::GET, MERGE_BASE, read, "Get the common ancestor of commits", show_merge_base);
    let summary = "List the contributors to the default branch";
    routes.add(Method::GET, "/projects/:id/repository/contributors", read, summary, list_contributors);
    for (path, format) in ARCHIVES {
        let show = move |context, params| show_archive(context, params, format);
        routes.add(Method::GET, path, read, "Download an archive of a commit", show);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_with_a_commit_are_accepted() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(parse_page_token(&format!("{id}.3")), Some((id, 3)));
        for token in ["", "3", "main.3", "0123.3", &format!("{id}."), &format!("{id}.x"), id] {
            assert_eq!(parse_page_token(token), None, "{token}");
        }
    }
}
