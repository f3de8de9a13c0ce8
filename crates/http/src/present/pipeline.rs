use holdfast_app::ci::pipeline::Pipeline;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummary};
use crate::Site;

#[derive(Serialize, ToSchema)]
pub struct PipelineBody {
    pub id: i64,
    /// `created`, `pending`, `running`, `success`, `failed`, `canceled` or `skipped`.
    pub status: &'static str,
    /// The short name of a branch or a tag.
    pub r#ref: String,
    pub sha: String,
    pub before_sha: String,
    pub tag: bool,
    /// Why there are no builds.
    pub yaml_errors: Option<String>,
    pub user: Option<UserSummary>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub committed_at: Option<Timestamp>,
    /// Seconds in which a build ran.
    pub duration: Option<i64>,
}

pub fn pipeline(it: Pipeline, site: &Site) -> PipelineBody {
    PipelineBody {
        id: it.id.get(),
        status: it.status.word(),
        r#ref: it.ref_name,
        sha: it.sha,
        before_sha: it.before_sha,
        tag: it.tag,
        yaml_errors: it.yaml_errors,
        user: it.user.as_ref().map(|person| user::summary(person, site)),
        created_at: it.created_at.into(),
        updated_at: it.updated_at.into(),
        started_at: it.started_at.map(Into::into),
        finished_at: it.finished_at.map(Into::into),
        committed_at: None,
        duration: it.duration,
    }
}
