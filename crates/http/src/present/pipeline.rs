//! Presents pipelines.

use holdfast_app::ci::pipeline::Pipeline;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct PipelineBody {
    pub id: i64,
    /// `created`, `pending`, `running`, `success`, `failed`, `canceled` or `skipped`.
    pub status: &'static str,
    /// Short name of the branch or tag.
    pub r#ref: String,
    pub sha: String,
    pub before_sha: String,
    pub tag: bool,
    /// Error in the CI file that prevented the creation of builds.
    pub yaml_errors: Option<String>,
    pub user: Option<UserSummaryBody>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub committed_at: Option<Timestamp>,
    /// Number of seconds during which at least one build ran.
    pub duration: Option<i64>,
}

pub fn present_pipeline(pipeline: Pipeline, site: &InstanceUrls) -> PipelineBody {
    PipelineBody {
        id: pipeline.id.get(),
        status: pipeline.status.as_str(),
        r#ref: pipeline.ref_name,
        sha: pipeline.sha,
        before_sha: pipeline.before_sha,
        tag: pipeline.tag,
        yaml_errors: pipeline.yaml_errors,
        user: pipeline.user.as_ref().map(|person| user::summary(person, site)),
        created_at: pipeline.created_at.into(),
        updated_at: pipeline.updated_at.into(),
        started_at: pipeline.started_at.map(Into::into),
        finished_at: pipeline.finished_at.map(Into::into),
        committed_at: None,
        duration: pipeline.duration,
    }
}
