use axum::http::Method;
use holdfast_app::ci::commit_status::{self, ListStatuses, SetStatus};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ci::Status;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use crate::present::build::{StatusBody, present_status};
use crate::response::{Created, PageBody};
use crate::{Access, RequestContext, Routes, choice, params};

params! {
    struct StatusesOfCommit {
        required id: ProjectRef,
        /// Commit, branch or tag.
        required sha: String,
        /// Only statuses for this branch or tag.
        optional r#ref: String,
        /// Only statuses of this stage.
        optional stage: String,
        /// Only statuses with this name.
        optional name: String,
        /// Whether to include older statuses with the same name.
        optional all: bool,
    }
}

async fn list(context: RequestContext, params: StatusesOfCommit) -> ApiResult<PageBody<StatusBody>> {
    let StatusesOfCommit { id, sha, r#ref: ref_name, stage, name, all } = params;
    let input = ListStatuses { ref_name, stage, name, all: all.unwrap_or(false) };
    let page = commit_status::list(context.app(), &context.actor, &id, &sha, input, context.page).await?;
    Ok(PageBody(page.map(|it| present_status(it, context.site()))))
}

choice! {
    enum State {
        Pending = "pending",
        Running = "running",
        Success = "success",
        Failed = "failed",
        Canceled = "canceled",
    }
}

params! {
    struct SetStatusOfCommit {
        required id: ProjectRef,
        /// Commit to set the status of.
        required sha: String,
        /// New state of the status.
        required state: State,
        /// Branch or tag of the status. By default the first branch that contains the commit.
        optional r#ref: String,
        /// Name of the service that sets the status, `default` by default.
        optional name: String,
        /// Alias of `name`.
        optional context: String,
        /// HTTP or HTTPS URL with details about the status.
        optional target_url: String,
        /// Short text about the status.
        optional description: String,
        /// Test coverage in percent.
        optional coverage: f64,
    }
}

async fn set(context: RequestContext, params: SetStatusOfCommit) -> ApiResult<Created<StatusBody>> {
    let status = match params.state {
        State::Pending => Status::Pending,
        State::Running => Status::Running,
        State::Success => Status::Success,
        State::Failed => Status::Failed,
        State::Canceled => Status::Canceled,
    };
    let input = SetStatus {
        status,
        ref_name: params.r#ref,
        name: params.name.or(params.context),
        target_url: params.target_url,
        description: params.description,
        coverage: params.coverage,
    };
    let saved = commit_status::set(context.app(), &context.actor, &params.id, &params.sha, input).await?;
    Ok(Created(present_status(saved, context.site())))
}

pub fn routes(routes: &mut Routes) {
    const OF_COMMIT: &str = "/projects/:id/repository/commits/:sha/statuses";
    let read = Access::Project(ReadBuilds);
    routes.add(Method::GET, OF_COMMIT, read, "List the statuses of a commit", list);
    const SET: &str = "/projects/:id/statuses/:sha";
    routes.add(Method::POST, SET, Access::Project(ManageBuilds), "Set a commit status", set);
}
