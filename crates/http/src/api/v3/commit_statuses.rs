use axum::http::Method;
use holdfast_app::ci::commit_status::{self, ListStatuses, SetStatus};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ci::Status;
use holdfast_domain::policy::ProjectAction::{ManageBuilds, ReadBuilds};

use super::ApiResult;
use crate::answer::{Created, Listed};
use crate::present::build::{StatusBody, status as present};
use crate::{Access, Cx, Routes, choice, params};

params! {
    struct StatusesOfCommit {
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A commit, a branch or a tag.
        required sha: String,
        optional r#ref: String,
        optional stage: String,
        optional name: String,
        /// Older ones of the same name, too.
        optional all: bool,
    }
}

async fn list(cx: Cx, params: StatusesOfCommit) -> ApiResult<Listed<StatusBody>> {
    let StatusesOfCommit { id, sha, r#ref: ref_name, stage, name, all } = params;
    let input = ListStatuses { ref_name, stage, name, all: all.unwrap_or(false) };
    let page = commit_status::list(cx.app(), &cx.actor, &id, &sha, input, cx.page).await?;
    Ok(Listed(page.map(|it| present(it, cx.site()))))
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
        /// Number, or NAMESPACE%2FPROJECT.
        required id: ProjectRef,
        /// A commit.
        required sha: String,
        required state: State,
        /// The branch or tag that it is about; the first branch that holds the commit if it is left out.
        optional r#ref: String,
        /// Who says it; `default` if it is left out.
        optional name: String,
        /// Another word for `name`.
        optional context: String,
        optional target_url: String,
        optional description: String,
        optional coverage: f64,
    }
}

async fn set(cx: Cx, params: SetStatusOfCommit) -> ApiResult<Created<StatusBody>> {
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
    let saved = commit_status::set(cx.app(), &cx.actor, &params.id, &params.sha, input).await?;
    Ok(Created(present(saved, cx.site())))
}

pub fn routes(routes: &mut Routes) {
    const OF_COMMIT: &str = "/projects/:id/repository/commits/:sha/statuses";
    let read = Access::Project(ReadBuilds);
    routes.add(Method::GET, OF_COMMIT, read, "Lists what builds and others say of a commit", list);
    const SET: &str = "/projects/:id/statuses/:sha";
    routes.add(Method::POST, SET, Access::Project(ManageBuilds), "Says how a commit does", set);
}
