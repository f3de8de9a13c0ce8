//! Presents jobs, which are builds in version 3, and the statuses of commits.

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_app::ci::build::Build;
use holdfast_app::ci::pipeline::CommitSummary;
use holdfast_domain::ci::Status;
use holdfast_domain::site::ProjectLinks;
use serde::Serialize;
use utoipa::ToSchema;

use super::pipeline::PipelineBasic;
use super::runner::{self, RunnerSummary};
use super::user::{self, UserBasic};
use crate::InstanceUrls;
use crate::present::Timestamp;
use crate::present::build::ArtifactsFile;
use crate::present::commit::title;

#[derive(Serialize, ToSchema)]
pub struct JobBody {
    pub id: i64,
    /// `created`, `pending`, `running`, `success`, `failed`, `canceled` or `skipped`.
    pub status: &'static str,
    pub stage: String,
    pub name: String,
    pub r#ref: String,
    pub tag: bool,
    pub coverage: Option<f64>,
    pub allow_failure: bool,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub erased_at: Option<Timestamp>,
    /// Number of seconds for which the job has run.
    pub duration: Option<f64>,
    /// Number of seconds for which the job has waited for a runner.
    pub queued_duration: Option<f64>,
    pub user: Option<UserBasic>,
    pub commit: JobCommit,
    pub pipeline: PipelineBasic,
    /// Why the job failed, such as `script_failure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    pub web_url: String,
    pub project: JobProject,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts_file: Option<ArtifactsFile>,
    pub artifacts: Vec<JobArtifact>,
    pub runner: Option<RunnerSummary>,
    /// Always null: the processes of a runner are not distinguished.
    pub runner_manager: Option<String>,
    pub artifacts_expire_at: Option<Timestamp>,
    pub archived: bool,
    /// Tags that a runner must have to execute the job.
    pub tag_list: Vec<String>,
}

/// The part of a commit that is stored with its pipelines.
#[derive(Serialize, ToSchema)]
pub struct JobCommit {
    pub id: String,
    pub short_id: String,
    /// The same as `committed_date`.
    pub created_at: String,
    pub title: String,
    pub message: String,
    pub author_name: String,
    pub author_email: String,
    pub committer_name: String,
    pub committer_email: String,
    pub committed_date: String,
    pub web_url: String,
}

#[derive(Serialize, ToSchema)]
pub struct JobProject {
    /// Always false: what a job may read is decided by the allow lists of the other projects.
    pub ci_job_token_scope_enabled: bool,
}

/// A file that a job left.
#[derive(Serialize, ToSchema)]
pub struct JobArtifact {
    /// `archive` or `trace`.
    pub file_type: &'static str,
    pub size: i64,
    pub filename: String,
    /// `zip` for the archive.
    pub file_format: Option<&'static str>,
}

/// Presents a job at this time, up to which a running job has run.
pub fn present_job(build: Build, now: DateTime<Utc>, site: &InstanceUrls) -> JobBody {
    let Build { record: own, user, runner } = build;
    let links = ProjectLinks::new(&own.project_path);
    let archive = own.artifacts_name.clone().zip(own.artifacts_bytes);
    let is_waiting = own.status == Status::Pending;
    let queue_end = own.started_at.or_else(|| is_waiting.then_some(now));
    JobBody {
        id: own.id.get(),
        status: own.status.as_str(),
        stage: own.stage,
        name: own.name,
        tag: own.tag,
        coverage: own.coverage,
        allow_failure: own.allow_failure,
        created_at: own.created_at.into(),
        started_at: own.started_at.map(Into::into),
        finished_at: own.finished_at.map(Into::into),
        erased_at: own.erased_at.map(Into::into),
        duration: own.started_at.map(|started| seconds(own.finished_at.unwrap_or(now) - started)),
        queued_duration: own.queued_at.zip(queue_end).map(|(queued, end)| seconds(end - queued)),
        user: user.as_ref().map(|person| user::present_basic(person, site)),
        commit: present_commit(own.commit.0, &links, site),
        pipeline: PipelineBasic {
            id: own.pipeline_id.get(),
            iid: own.pipeline_id.get(),
            project_id: own.project_id.get(),
            sha: own.sha,
            r#ref: own.r#ref.clone(),
            status: own.pipeline_status.as_str(),
            source: own.pipeline_source.as_str(),
            created_at: own.pipeline_created_at.into(),
            updated_at: own.pipeline_updated_at.into(),
            web_url: site.url(&links.pipeline(own.pipeline_id)),
        },
        r#ref: own.r#ref,
        failure_reason: own.failure_reason,
        web_url: site.url(&links.build(own.id)),
        project: JobProject { ci_job_token_scope_enabled: false },
        artifacts: artifacts(archive.clone(), own.trace_bytes),
        artifacts_file: archive.map(|(filename, size)| ArtifactsFile { filename, size }),
        runner: runner.as_ref().map(|it| runner::present_runner(it, now)),
        runner_manager: None,
        artifacts_expire_at: own.artifacts_expire_at.map(Into::into),
        archived: false,
        tag_list: own.tags,
    }
}

fn seconds(duration: TimeDelta) -> f64 {
    duration.as_seconds_f64().max(0.0)
}

fn artifacts(archive: Option<(String, i64)>, trace_bytes: Option<i64>) -> Vec<JobArtifact> {
    let archive =
        archive.map(|(filename, size)| JobArtifact { file_type: "archive", size, filename, file_format: Some("zip") });
    let trace = trace_bytes.filter(|bytes| *bytes > 0).map(|size| JobArtifact {
        file_type: "trace",
        size,
        filename: "job.log".to_owned(),
        file_format: None,
    });
    archive.into_iter().chain(trace).collect()
}

fn present_commit(commit: CommitSummary, links: &ProjectLinks, site: &InstanceUrls) -> JobCommit {
    JobCommit {
        short_id: commit.id.chars().take(8).collect(),
        created_at: commit.created_at.clone(),
        title: title(&commit.message),
        message: commit.message,
        author_name: commit.author_name,
        author_email: commit.author_email,
        committer_name: commit.committer_name,
        committer_email: commit.committer_email,
        committed_date: commit.created_at,
        web_url: site.url(&links.commit(&commit.id)),
        id: commit.id,
    }
}

/// The status of a commit, set by a job or an external service.
#[derive(Serialize, ToSchema)]
pub struct CommitStatusBody {
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
    pub pipeline_id: i64,
    pub author: Option<UserBasic>,
}

pub fn present_status(build: Build, site: &InstanceUrls) -> CommitStatusBody {
    let Build { record: own, user, .. } = build;
    CommitStatusBody {
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
        pipeline_id: own.pipeline_id.get(),
        author: user.as_ref().map(|person| user::present_basic(person, site)),
    }
}
