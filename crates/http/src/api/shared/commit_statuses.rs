//! Statuses of commits. Only the presentation differs between the versions.

use holdfast_app::ci::build::Build;
use holdfast_app::ci::commit_status::{self, ListStatuses, SetStatus};
use holdfast_app::projects::project::ProjectRef;
use holdfast_domain::ci::Status;
use holdfast_domain::page::Page;

use super::ApiResult;
use crate::{RequestContext, choice, params};

params! {
    pub struct StatusesOfCommit {
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

pub async fn list(context: &RequestContext, params: StatusesOfCommit) -> ApiResult<Page<Build>> {
    let StatusesOfCommit { id, sha, r#ref: ref_name, stage, name, all } = params;
    let input = ListStatuses { ref_name, stage, name, all: all.unwrap_or(false) };
    Ok(commit_status::list(context.app(), &context.actor, &id, &sha, input, context.page).await?)
}

choice! {
    /// The state that a service can set.
    pub enum State {
        Pending = "pending",
        Running = "running",
        Success = "success",
        Failed = "failed",
        Canceled = "canceled",
    }
}

params! {
    pub struct SetStatusOfCommit {
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

pub async fn set(context: &RequestContext, params: SetStatusOfCommit) -> ApiResult<Build> {
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
    Ok(commit_status::set(context.app(), &context.actor, &params.id, &params.sha, input).await?)
}
