//! Commits: lists, details, changes, and new commits without a push.

use axum::body::Body as HttpBody;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::commit_detail::{self, CommitDetail};
use holdfast_app::repository::browse::commit_list::{self, ListCommits};
use holdfast_app::repository::browse::compare::{self, ComparisonParts};
use holdfast_app::repository::commit_comment::{self, CreateComment, DiffLine};
use holdfast_app::repository::edit::cherry_pick;
use holdfast_app::repository::edit::file_changes::{self, CommitChanges, FileChange};
use holdfast_domain::page::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};
use holdfast_domain::policy::ProjectAction::{CommentOnCommits, ReadCode, WriteCode};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::ApiResult;
use crate::error::ApiError;
use crate::params::{FromValue, ParamError};
use crate::present::commit::{CommitDetailBody, CommitSummary, present_commit_detail, present_commit_summary};
use crate::present::commit_comment::{CommitCommentBody, present_commit_comment};
use crate::present::compare::{DiffBody, present_diffs};
use crate::response::{ApiResponse, Body, Created, PageBody, ResponseContext};
use crate::{Access, RequestContext, Routes, choice, params};

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

params! {
    pub(super) struct OneCommit {
        required id: ProjectRef,
        /// Id of the commit, branch or tag, with slashes as %2F.
        required sha: String,
    }
}

async fn show(context: RequestContext, params: OneCommit) -> ApiResult<Body<CommitDetailBody>> {
    let detail = commit_detail::show(context.app(), &context.actor, &params.id, &params.sha).await?;
    Ok(Body(present_commit_detail(detail)))
}

/// A response with the changes of files, which are computed while they are sent.
struct DiffsResponse(ComparisonParts);

impl ApiResponse for DiffsResponse {
    const STATUS: StatusCode = StatusCode::OK;

    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(DiffBody::schema()).into()
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        DiffBody::schemas(into);
    }

    fn respond(self, _: &ResponseContext<'_>) -> Response {
        let json = (header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        (Self::STATUS, [json], HttpBody::from_stream(present_diffs(self.0))).into_response()
    }
}

async fn diff(context: RequestContext, params: OneCommit) -> ApiResult<DiffsResponse> {
    Ok(DiffsResponse(compare::show_commit(context.app(), &context.actor, &params.id, &params.sha).await?))
}

params! {
    struct CherryPick {
        flatten commit: OneCommit,
        /// Name of the branch that gets the changes of the commit.
        required branch: String,
    }
}

async fn cherry_pick(context: RequestContext, params: CherryPick) -> ApiResult<Created<CommitSummary>> {
    let OneCommit { id, sha } = params.commit;
    let commit = cherry_pick::create(context.app(), &context.actor, &id, &sha, &params.branch).await?;
    Ok(Created(present_commit_summary(commit)))
}

/// A change of a file in a request.
struct Action(FileChange);

impl FromValue for Action {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let text = |name: &str| match value.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => String::from_value(value).map(Some),
        };
        let path = |name: &str| text(name)?.filter(|path| !path.is_empty()).ok_or(ParamError::Invalid);
        let encoding = text("encoding")?;
        let content = match text("content")? {
            Some(content) => Some(decode(content, encoding.as_deref()).ok_or(ParamError::Invalid)?),
            None => None,
        };
        let required = content.clone().ok_or(ParamError::Invalid);
        Ok(Self(match text("action")?.as_deref() {
            Some("create") => FileChange::Create { path: path("file_path")?, content: required? },
            Some("update") => FileChange::Update { path: path("file_path")?, content: required?, last_commit_id: None },
            Some("delete") => FileChange::Delete { path: path("file_path")? },
            Some("move") => FileChange::Move { from: path("previous_path")?, to: path("file_path")?, content },
            _ => return Err(ParamError::NotAllowed),
        }))
    }

    fn schema() -> RefOr<Schema> {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("action", text().enum_values(Some(["create", "update", "delete", "move"])))
            .property("file_path", text())
            .property("previous_path", text())
            .property("content", text())
            .property("encoding", text().enum_values(Some(["text", "base64"])))
            .required("action")
            .required("file_path")
            .into()
    }
}

/// Returns the bytes of a content, or `None` if they are not encoded as stated.
pub(super) fn decode(content: String, encoding: Option<&str>) -> Option<Vec<u8>> {
    match encoding {
        None | Some("" | "text") => Some(content.into_bytes()),
        Some("base64") => {
            let digits: String = content.split_ascii_whitespace().collect();
            STANDARD.decode(digits).ok()
        }
        Some(_) => None,
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
        CommitChanges { branch, message, author, changes, counts_lines: false }
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

choice! {
    /// The side of a diff.
    enum LineType {
        New = "new",
        Old = "old",
    }
}

params! {
    struct CreateCommentParams {
        flatten commit: OneCommit,
        required note: String,
        /// Path of a file that the commit changes.
        optional path: String,
        /// Number of the line in the new file. Required with a path.
        optional line: i32,
        /// Whether the commit added the line (`new`, the default) or removed it (`old`).
        optional line_type: LineType,
    }
}

async fn create_comment(context: RequestContext, params: CreateCommentParams) -> ApiResult<Created<CommitCommentBody>> {
    if params.path.is_some() && params.line.is_none() {
        return Err(ApiError::error(StatusCode::BAD_REQUEST, "line is missing"));
    }
    let is_removed = params.line_type == Some(LineType::Old);
    let line = params.line.map(|number| DiffLine { number, is_removed });
    let input = CreateComment { body: params.note, path: params.path, line };
    let OneCommit { id, sha } = params.commit;
    let comment = commit_comment::create(context.app(), &context.actor, &id, &sha, input).await?;
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
