//! Commits: lists, details, changes, and new commits without a push.

use axum::http::{Method, StatusCode};
use chrono::{DateTime, Utc};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::commit_detail::{self, CommitDetail};
use holdfast_app::repository::browse::commit_list::{self, ListCommits};
use holdfast_app::repository::browse::compare;
use holdfast_app::repository::commit_comment;
use holdfast_app::repository::edit::cherry_pick;
use holdfast_app::repository::edit::file_changes::{self, CommitChanges, FileChange};
use holdfast_domain::page::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use holdfast_domain::policy::ProjectAction::{CommentOnCommits, ReadCode, WriteCode};
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use crate::api::shared::commits::{self, CherryPick, CreateCommentParams, OneCommit, change_schema, read_change};
use crate::error::ApiError;
use crate::params::{FromValue, ParamError};
use crate::present::commit::{CommitDetailBody, CommitSummary, present_commit_detail, present_commit_summary};
use crate::present::commit_comment::{CommitCommentBody, present_commit_comment};
use crate::present::compare::{DiffBody, present_diffs};
use crate::response::{Body, Created, PageBody, StreamedBody};
use crate::{Access, RequestContext, Routes, params};

params! {
    struct ListParams {
        required id: ProjectRef,
        /// Branch, tag or commit, the default branch by default.
        optional ref_name: String,
        /// Only commits since this time.
        optional since: DateTime<Utc>,
        /// Only commits until this time.
        optional until: DateTime<Utc>,
        /// Only commits that changed this file or directory.
        optional path: String,
        /// Number of the page. The first page has the number 0.
        optional page: i64,
        /// Number of commits per page, 20 by default and at most 100.
        optional per_page: i64,
    }
}

async fn list(context: RequestContext, params: ListParams) -> ApiResult<Body<Vec<CommitSummary>>> {
    let limit = params.per_page.filter(|size| *size > 0).unwrap_or(DEFAULT_PAGE_SIZE).min(MAX_PAGE_SIZE).unsigned_abs();
    let input = ListCommits {
        revision: params.ref_name,
        path: params.path,
        since: params.since,
        until: params.until,
        skip: params.page.map_or(0, |page| page.max(0).unsigned_abs()).saturating_mul(limit),
        limit: limit as usize,
    };
    let commits = commit_list::list_since(context.app(), &context.actor, &params.id, input).await?;
    Ok(Body(commits.into_iter().map(present_commit_summary).collect()))
}

async fn show(context: RequestContext, params: OneCommit) -> ApiResult<Body<CommitDetailBody>> {
    let detail = commit_detail::show(context.app(), &context.actor, &params.id, &params.sha).await?;
    Ok(Body(present_commit_detail(detail)))
}

async fn diff(context: RequestContext, params: OneCommit) -> ApiResult<StreamedBody<Vec<DiffBody>>> {
    let changes = compare::show_commit(context.app(), &context.actor, &params.id, &params.sha).await?;
    Ok(StreamedBody::new(present_diffs(changes)))
}

async fn cherry_pick(context: RequestContext, params: CherryPick) -> ApiResult<Created<CommitSummary>> {
    let OneCommit { id, sha } = params.commit;
    let picked = cherry_pick::create(context.app(), &context.actor, &id, &sha, &params.branch, None).await?;
    Ok(Created(present_commit_summary(picked.commit)))
}

/// A change of a file in a request.
struct Action(FileChange);

impl FromValue for Action {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        read_change(value, None).map(Self)
    }

    fn schema() -> RefOr<Schema> {
        change_schema().into()
    }
}

params! {
    /// The parameters of every new commit.
    pub(super) struct CommitParams {
        required branch_name: String,
        required commit_message: String,
        /// Email address of the author. Used only together with the name; otherwise the current user is the author.
        optional author_email: String,
        /// Name of the author, which is used only together with the address.
        optional author_name: String,
    }
}

impl CommitParams {
    pub(super) fn into_changes(self, changes: Vec<FileChange>) -> CommitChanges {
        let is_given = |text: &String| !text.trim().is_empty();
        let author = self.author_name.filter(is_given).zip(self.author_email.filter(is_given));
        let (branch, message) = (self.branch_name, self.commit_message);
        CommitChanges { branch, start_branch: None, message, author, changes, known_ids: None, counts_lines: false }
    }
}

params! {
    struct CreateCommit {
        required id: ProjectRef,
        flatten commit: CommitParams,
        /// The changes of files: objects with `action` (`create`, `update`, `delete` or `move`), `file_path`, `content`,
        /// `encoding` (`text` or `base64`) and, for a move, `previous_path`. Required.
        list actions: Action,
    }
}

async fn create(context: RequestContext, params: CreateCommit) -> ApiResult<Created<CommitDetailBody>> {
    if params.actions.is_empty() {
        return Err(ApiError::error(StatusCode::BAD_REQUEST, "actions is missing"));
    }
    let changes = params.actions.into_iter().map(|Action(change)| change).collect();
    let input = CommitChanges { counts_lines: true, ..params.commit.into_changes(changes) };
    let created = file_changes::commit(context.app(), &context.actor, &params.id, input).await?;
    let detail = CommitDetail { commit: created.commit, lines: created.lines, status: None };
    Ok(Created(present_commit_detail(detail)))
}

async fn list_comments(context: RequestContext, params: OneCommit) -> ApiResult<PageBody<CommitCommentBody>> {
    let (app, actor) = (context.app(), &context.actor);
    let page = commit_comment::list(app, actor, &params.id, &params.sha, context.page).await?;
    Ok(PageBody(page.map(|comment| present_commit_comment(comment, context.site()))))
}

async fn create_comment(context: RequestContext, params: CreateCommentParams) -> ApiResult<Created<CommitCommentBody>> {
    let comment = commits::create_comment(&context, params).await?;
    Ok(Created(present_commit_comment(comment, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/commits";
    const ONE: &str = "/projects/:id/repository/commits/:sha";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "List commits", list);
    routes.add(Method::POST, PATH, write, "Create a commit with changes of files", create);
    routes.add(Method::GET, ONE, read, "Get a commit", show);
    const DIFF: &str = "/projects/:id/repository/commits/:sha/diff";
    routes.add(Method::GET, DIFF, read, "Get the changes of a commit", diff);
    const COMMENTS: &str = "/projects/:id/repository/commits/:sha/comments";
    routes.add(Method::GET, COMMENTS, read, "List the comments on a commit", list_comments);
    let comment = Access::Project(CommentOnCommits);
    routes.add(Method::POST, COMMENTS, comment, "Comment on a commit", create_comment);
    const CHERRY_PICK: &str = "/projects/:id/repository/commits/:sha/cherry_pick";
    routes.add(Method::POST, CHERRY_PICK, write, "Cherry-pick a commit to a branch", cherry_pick);
}
