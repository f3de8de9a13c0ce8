//! Presents pipelines.

use holdfast_app::ci::pipeline::Pipeline;
use holdfast_domain::ci::Status;
use holdfast_domain::site::ProjectLinks;
use serde::Serialize;
use utoipa::ToSchema;

use super::user::{self, UserBasic};
use crate::InstanceUrls;
use crate::present::Timestamp;

/// A pipeline in a list, and as a part of jobs, commits and merge requests.
#[derive(Serialize, ToSchema)]
pub struct PipelineBasic {
    pub id: i64,
    /// The same as `id`: pipelines are not numbered within their project.
    pub iid: i64,
    pub project_id: i64,
    pub sha: String,
    /// Short name of the branch or tag.
    pub r#ref: String,
    pub status: &'static str,
    /// What created the pipeline: `push`, `web`, `api`, `trigger` or `external`.
    pub source: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub web_url: String,
}

pub fn present_basic(pipeline: &Pipeline, project_path: &str, site: &InstanceUrls) -> PipelineBasic {
    let id = pipeline.id.get();
    PipelineBasic {
        id,
        iid: id,
        project_id: pipeline.project_id.get(),
        sha: pipeline.sha.clone(),
        r#ref: pipeline.ref_name.clone(),
        status: pipeline.status.as_str(),
        source: pipeline.source.as_str(),
        created_at: pipeline.created_at.into(),
        updated_at: pipeline.updated_at.into(),
        web_url: site.url(&format!("/{project_path}/pipelines/{id}")),
    }
}

/// A pipeline that is shown alone.
#[derive(Serialize, ToSchema)]
pub struct PipelineDetailBody {
    #[serde(flatten)]
    pub basic: PipelineBasic,
    pub before_sha: String,
    pub tag: bool,
    /// Error in the CI file that prevented the creation of jobs.
    pub yaml_errors: Option<String>,
    pub user: Option<UserBasic>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Always null.
    pub committed_at: Option<Timestamp>,
    /// Number of seconds during which at least one job ran.
    pub duration: Option<i64>,
    /// Number of seconds from the creation of the pipeline to the start of its first job.
    pub queued_duration: Option<i64>,
    /// Always null: jobs have a coverage.
    pub coverage: Option<f64>,
    /// Always null: pipelines have no names.
    pub name: Option<String>,
    pub detailed_status: DetailedStatus,
    pub archived: bool,
}

/// The status of a pipeline in the words of its page.
#[derive(Serialize, ToSchema)]
pub struct DetailedStatus {
    pub icon: String,
    pub text: &'static str,
    pub label: &'static str,
    /// The same as `status`.
    pub group: &'static str,
    pub tooltip: &'static str,
    pub has_details: bool,
    /// Path of the page of the pipeline.
    pub details_path: String,
    /// Always null.
    pub illustration: Option<String>,
    /// Always null.
    pub favicon: Option<String>,
}

fn detailed_status(status: Status, details_path: String) -> DetailedStatus {
    let (text, label) = match status {
        Status::Created => ("Created", "created"),
        Status::Pending => ("Pending", "pending"),
        Status::Running => ("Running", "running"),
        Status::Success => ("Passed", "passed"),
        Status::Failed => ("Failed", "failed"),
        Status::Canceled => ("Canceled", "canceled"),
        Status::Skipped => ("Skipped", "skipped"),
    };
    DetailedStatus {
        icon: format!("status_{}", status.as_str()),
        text,
        label,
        group: status.as_str(),
        tooltip: label,
        has_details: true,
        details_path,
        illustration: None,
        favicon: None,
    }
}

pub fn present_pipeline(pipeline: Pipeline, site: &InstanceUrls) -> PipelineDetailBody {
    let details_path = ProjectLinks::new(&pipeline.project_path).pipeline(pipeline.id);
    PipelineDetailBody {
        basic: present_basic(&pipeline, &pipeline.project_path, site),
        before_sha: pipeline.before_sha,
        tag: pipeline.tag,
        yaml_errors: pipeline.yaml_errors,
        user: pipeline.user.as_ref().map(|person| user::present_basic(person, site)),
        started_at: pipeline.started_at.map(Into::into),
        finished_at: pipeline.finished_at.map(Into::into),
        committed_at: None,
        duration: pipeline.duration,
        queued_duration: pipeline.started_at.map(|started| (started - pipeline.created_at).num_seconds()),
        coverage: None,
        name: None,
        detailed_status: detailed_status(pipeline.status, details_path),
        archived: false,
    }
}

/// A variable of the request that created a pipeline.
#[derive(Serialize, ToSchema)]
pub struct PipelineVariableBody {
    /// Always `env_var`.
    pub variable_type: &'static str,
    pub key: String,
    pub value: String,
    /// Always false: references to other variables in the value are replaced.
    pub raw: bool,
}

pub fn present_variable((key, value): (String, String)) -> PipelineVariableBody {
    PipelineVariableBody { variable_type: "env_var", key, value, raw: false }
}
