//! Presents builds and the statuses of commits.

use holdfast_app::ci::build::Build;
use holdfast_app::ci::pipeline::CommitSummary;
use serde::Serialize;
use utoipa::ToSchema;

use super::Timestamp;
use super::commit::title;
use super::runner::{self, RunnerBody};
use super::user::{self, UserSummaryBody};
use crate::InstanceUrls;

#[derive(Serialize, ToSchema)]
pub struct BuildBody {
    pub id: i64,
    /// `created`, `pending`, `running`, `success`, `failed`, `canceled` or `skipped`.
    pub status: &'static str,
    pub stage: String,
    pub name: String,
    pub r#ref: String,
    pub tag: bool,
    pub coverage: Option<f64>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub user: Option<UserSummaryBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts_file: Option<ArtifactsFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts_expire_at: Option<Timestamp>,
    pub commit: BuiltCommit,
    pub runner: Option<RunnerBody>,
    pub pipeline: PipelineOfBuild,
}

#[derive(Serialize, ToSchema)]
pub struct ArtifactsFile {
    pub filename: String,
    pub size: i64,
}

#[derive(Serialize, ToSchema)]
pub struct BuiltCommit {
    pub id: String,
    pub short_id: String,
    pub title: String,
    pub author_name: String,
    pub author_email: String,
    pub created_at: String,
    pub message: String,
}

#[derive(Serialize, ToSchema)]
pub struct PipelineOfBuild {
    pub id: i64,
    pub sha: String,
    pub r#ref: String,
    pub status: &'static str,
}

pub fn present_build(build: Build, site: &InstanceUrls) -> BuildBody {
    let Build { record: own, user, runner } = build;
    BuildBody {
        id: own.id.get(),
        status: own.status.as_str(),
        stage: own.stage,
        name: own.name,
        r#ref: own.r#ref.clone(),
        tag: own.tag,
        coverage: own.coverage,
        created_at: own.created_at.into(),
        started_at: own.started_at.map(Into::into),
        finished_at: own.finished_at.map(Into::into),
        user: user.as_ref().map(|person| user::summary(person, site)),
        artifacts_file: own.artifacts_name.zip(own.artifacts_bytes).map(artifacts_file),
        artifacts_expire_at: own.artifacts_expire_at.map(Into::into),
        commit: built_commit(own.commit.0),
        runner: runner.as_ref().map(runner::present_runner),
        pipeline: PipelineOfBuild {
            id: own.pipeline_id.get(),
            sha: own.sha,
            r#ref: own.r#ref,
            status: own.pipeline_status.as_str(),
        },
    }
}

fn artifacts_file((filename, size): (String, i64)) -> ArtifactsFile {
    ArtifactsFile { filename, size }
}

fn built_commit(commit: CommitSummary) -> BuiltCommit {
    BuiltCommit {
        short_id: commit.id.chars().take(8).collect(),
        id: commit.id,
        title: title(&commit.message),
        author_name: commit.author_name,
        author_email: commit.author_email,
        created_at: commit.created_at,
        message: commit.message,
    }
}

/// The status of a commit, set by a build or an external service.
#[derive(Serialize, ToSchema)]
pub struct StatusBody {
    pub id: i64,
    pub sha: String,
    pub r#ref: String,
    pub status: &'static str,
    pub name: String,
    pub target_url: Option<String>,
    pub description: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub allow_failure: bool,
    pub coverage: Option<f64>,
    pub author: Option<UserSummaryBody>,
}

pub fn present_status(build: Build, site: &InstanceUrls) -> StatusBody {
    let Build { record: own, user, .. } = build;
    StatusBody {
        id: own.id.get(),
        sha: own.sha,
        r#ref: own.r#ref,
        status: own.status.as_str(),
        name: own.name,
        target_url: own.target_url,
        description: own.description,
        created_at: own.created_at.into(),
        started_at: own.started_at.map(Into::into),
        finished_at: own.finished_at.map(Into::into),
        allow_failure: own.allow_failure,
        coverage: own.coverage,
        author: user.as_ref().map(|person| user::summary(person, site)),
    }
}
