//! Commits: lists, details, changes, and new commits without a push.

use axum::http::{Method, StatusCode};
use chrono::{DateTime, Utc};
use holdfast_app::merge_requests::list as merge_request_list;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::browse::commit_detail::{self, CommitWithPipeline};
use holdfast_app::repository::browse::commit_list::{self, ListCommits};
use holdfast_app::repository::browse::compare;
use holdfast_app::repository::commit_comment;
use holdfast_app::repository::edit::cherry_pick;
use holdfast_app::repository::edit::file_changes::{self, CommitChanges, FileChange};
use holdfast_app::repository::refs::containing_refs;
use holdfast_domain::page::Page;
use holdfast_domain::policy::ProjectAction::{CommentOnCommits, ReadCode, WriteCode};
use serde_json::Value;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

use super::ApiResult;
use crate::api::shared::commits::{self, CherryPick, CreateCommentParams, OneCommit, change_schema, read_change};
use crate::error::ApiError;
use crate::params::{FromValue, ParamError, Unsupported};
use crate::present::v4::commit::{
    CommitBody, CommitNote, CommitRef, SingleCommit, present_commit, present_commit_note, present_single_commit,
};
use crate::present::v4::diff::{DiffFormat, FileDiffBody, present_file_diff};
use crate::present::v4::merge_request::{MergeRequestBasic, present_merge_request};
use crate::response::{Body, Created, PageBody};
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
        optional all: Unsupported,
        optional author: Unsupported,
        optional first_parent: Unsupported,
    }
}

/// Lists commits. The total is not counted, because that would take a walk over the whole history.
async fn list(context: RequestContext, params: ListParams) -> ApiResult<PageBody<CommitBody>> {
    let size = context.page.size() as usize;
    let input = ListCommits {
        revision: params.ref_name,
        path: params.path,
        since: params.since,
        until: params.until,
        skip: context.page.offset().unsigned_abs(),
        // One commit more than the page holds shows whether there is a next page.
        limit: size + 1,
    };
    let found = commit_list::list_with_project(context.app(), &context.actor, &params.id, input).await?;
    let (has_next, path) = (found.commits.len() > size, found.project.full_path());
    let commits = found.commits.into_iter().take(size);
    let items = commits.map(|commit| present_commit(commit, &path, context.site())).collect();
    Ok(PageBody(Page { items, request: context.page, total: None, has_next }))
}

params! {
    struct ShowCommit {
        flatten commit: OneCommit,
        /// Whether to count the changed lines, true by default.
        optional stats: bool,
    }
}

async fn show(context: RequestContext, params: ShowCommit) -> ApiResult<Body<SingleCommit>> {
    let OneCommit { id, sha } = params.commit;
    let (app, actor, stats) = (context.app(), &context.actor, params.stats.unwrap_or(true));
    let found = commit_detail::show_with_pipeline(app, actor, &id, &sha, stats).await?;
    Ok(Body(present_single_commit(found, context.site())))
}

params! {
    struct ShowDiff {
        flatten commit: OneCommit,
        /// Whether the diffs begin with the names of the files.
        optional unidiff: bool,
    }
}

async fn diff(context: RequestContext, params: ShowDiff) -> ApiResult<PageBody<FileDiffBody>> {
    let OneCommit { id, sha } = params.commit;
    let changes = compare::show_commit(context.app(), &context.actor, &id, &sha).await?;
    let (page, format) = (compare::read_files(changes, context.page).await?, DiffFormat::from_unidiff(params.unidiff));
    Ok(PageBody(page.map(|file| present_file_diff(file, format))))
}

choice! {
    /// A kind of refs.
    enum RefType {
        All = "all",
        Branch = "branch",
        Tag = "tag",
    }
}

params! {
    struct ListContainingRefs {
        flatten commit: OneCommit,
        /// Only branches or only tags, `all` by default.
        optional r#type: RefType,
    }
}

/// Lists the refs that contain a commit. At most 200 branches and 200 tags are searched.
async fn list_refs(context: RequestContext, params: ListContainingRefs) -> ApiResult<PageBody<CommitRef>> {
    let OneCommit { id, sha } = params.commit;
    let found = containing_refs::list(context.app(), &context.actor, &id, &sha).await?;
    let named = |r#type: &'static str, refs: Vec<(String, String)>| {
        refs.into_iter().map(move |(name, _)| CommitRef { r#type, name })
    };
    let branches = named("branch", found.branches).filter(|_| params.r#type != Some(RefType::Tag));
    let tags = named("tag", found.tags).filter(|_| params.r#type != Some(RefType::Branch));
    let refs: Vec<CommitRef> = branches.chain(tags).collect();
    let (total, range) = (refs.len(), context.page.range(refs.len()));
    let items = refs.into_iter().skip(range.start).take(range.len()).collect();
    Ok(PageBody(Page::with_total(items, context.page, total)))
}

params! {
    struct CherryPickParams {
        flatten commit: CherryPick,
        /// Message of the new commit, that of the commit by default.
        optional message: String,
        optional dry_run: Unsupported,
    }
}

async fn cherry_pick(context: RequestContext, params: CherryPickParams) -> ApiResult<Created<CommitBody>> {
    let CherryPick { commit: OneCommit { id, sha }, branch } = params.commit;
    let message = params.message.as_deref().filter(|message| !message.trim().is_empty());
    let picked = cherry_pick::create(context.app(), &context.actor, &id, &sha, &branch, message).await?;
    Ok(Created(present_commit(picked.commit, &picked.project.full_path(), context.site())))
}

/// A change of a file in a request.
struct Action(FileChange);

impl FromValue for Action {
    fn from_value(value: &Value) -> Result<Self, ParamError> {
        let last_commit_id = match value.get("last_commit_id") {
            None | Some(Value::Null) => None,
            Some(id) => Some(String::from_value(id)?).filter(|id| !id.is_empty()),
        };
        if value.get("execute_filemode").is_some_and(|mode| Unsupported::from_param(mode).is_err()) {
            return Err(ParamError::Explained("has a change with execute_filemode, which is not supported"));
        }
        read_change(value, last_commit_id).map(Self)
    }

    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        change_schema().property("last_commit_id", text).into()
    }
}

params! {
    /// The parameters of every new commit.
    pub(super) struct CommitParams {
        required branch: String,
        required commit_message: String,
        /// Existing branch at which `branch` is created.
        optional start_branch: String,
        /// Email address of the author. Used only together with the name; otherwise the current user is the author.
        optional author_email: String,
        /// Name of the author, which is used only together with the address.
        optional author_name: String,
        optional start_project: Unsupported,
        optional start_sha: Unsupported,
        optional force: Unsupported,
    }
}

impl CommitParams {
    pub(super) fn into_changes(self, changes: Vec<FileChange>) -> CommitChanges {
        let is_given = |text: &String| !text.trim().is_empty();
        CommitChanges {
            branch: self.branch,
            start_branch: self.start_branch.filter(is_given),
            message: self.commit_message,
            author: self.author_name.filter(is_given).zip(self.author_email.filter(is_given)),
            changes,
            known_ids: None,
            counts_lines: false,
        }
    }
}

params! {
    struct CreateCommit {
        required id: ProjectRef,
        flatten commit: CommitParams,
        /// The changes of files: objects with `action` (`create`, `update`, `delete` or `move`), `file_path`,
        /// `content`, `encoding` (`text` or `base64`), `last_commit_id` (for an update or a deletion) and, for a move,
        /// `previous_path`. Required.
        list actions: Action,
        /// Whether to count the changed lines, true by default.
        optional stats: bool,
    }
}

async fn create(context: RequestContext, params: CreateCommit) -> ApiResult<Created<SingleCommit>> {
    if params.actions.is_empty() {
        return Err(ApiError::error(StatusCode::BAD_REQUEST, "actions is missing"));
    }
    let changes = params.actions.into_iter().map(|Action(change)| change).collect();
    let counts_lines = params.stats.unwrap_or(true);
    let input = CommitChanges { counts_lines, ..params.commit.into_changes(changes) };
    let created = file_changes::commit(context.app(), &context.actor, &params.id, input).await?;
    let lines = counts_lines.then_some(created.lines);
    let created = CommitWithPipeline { project: created.project, commit: created.commit, lines, pipeline: None };
    Ok(Created(present_single_commit(created, context.site())))
}

/// Lists the merge requests of a commit. The list is empty for clients that may not read merge requests.
async fn list_merge_requests(context: RequestContext, params: OneCommit) -> ApiResult<PageBody<MergeRequestBasic>> {
    let OneCommit { id, sha } = params;
    let (app, actor) = (context.app(), &context.actor);
    let page = merge_request_list::list_for_commit(app, actor, &id, &sha, context.page).await?;
    let today = app.today();
    Ok(PageBody(page.map(|request| present_merge_request(request, today, context.site()))))
}

async fn list_comments(context: RequestContext, params: OneCommit) -> ApiResult<PageBody<CommitNote>> {
    let (app, actor) = (context.app(), &context.actor);
    let page = commit_comment::list(app, actor, &params.id, &params.sha, context.page).await?;
    Ok(PageBody(page.map(|comment| present_commit_note(comment, context.site()))))
}

async fn create_comment(context: RequestContext, params: CreateCommentParams) -> ApiResult<Created<CommitNote>> {
    let comment = commits::create_comment(&context, params).await?;
    Ok(Created(present_commit_note(comment, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const PATH: &str = "/projects/:id/repository/commits";
    const ONE: &str = "/projects/:id/repository/commits/:sha";
    let (read, write) = (Access::Project(ReadCode), Access::Project(WriteCode));
    routes.add(Method::GET, PATH, read, "List commits", list);
    routes.add(Method::POST, PATH, write, "Create a commit with changes of files", create);
    routes.add(Method::GET, ONE, read, "Get a commit", show);
    const DIFF: &str = "/projects/:id/repository/commits/:sha/diff";
    routes.add(Method::GET, DIFF, read, "List the changes of a commit", diff);
    const REFS: &str = "/projects/:id/repository/commits/:sha/refs";
    routes.add(Method::GET, REFS, read, "List the branches and tags that contain a commit", list_refs);
    const MERGE_REQUESTS: &str = "/projects/:id/repository/commits/:sha/merge_requests";
    routes.add(Method::GET, MERGE_REQUESTS, read, "List the merge requests of a commit", list_merge_requests);
    const COMMENTS: &str = "/projects/:id/repository/commits/:sha/comments";
    routes.add(Method::GET, COMMENTS, read, "List the comments on a commit", list_comments);
    let comment = Access::Project(CommentOnCommits);
    routes.add(Method::POST, COMMENTS, comment, "Comment on a commit", create_comment);
    const CHERRY_PICK: &str = "/projects/:id/repository/commits/:sha/cherry_pick";
    routes.add(Method::POST, CHERRY_PICK, write, "Cherry-pick a commit to a branch", cherry_pick);
}
