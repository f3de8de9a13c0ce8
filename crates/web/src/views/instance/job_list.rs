//! The background jobs for administrators.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::worker::job::{Job, JobReport};

use super::admin_nav::admin_frame;
use crate::layout::Layout;
use crate::views::links;
use crate::words::{self, Time};

#[derive(Template)]
#[template(path = "instance/jobs.html")]
pub struct JobsPage {
    pub layout: Layout,
    pub jobs: Vec<JobRow>,
    /// Jobs that are due and wait for a worker, of all kinds.
    pub pending: i64,
    /// How long the first of them has been due. None if there is none.
    pub oldest_pending: Option<String>,
    /// The maximum number of jobs that the page shows.
    pub limit: i64,
}

#[derive(Clone, Debug)]
pub struct JobRow {
    pub id: i64,
    pub task: String,
    pub subject: String,
    pub state: JobState,
    pub done: i64,
    pub total: i64,
    pub requested: Time,
    pub finished: Option<Time>,
    pub error: Option<String>,
    /// When the job is tried again, if it has failed and is tried again.
    pub next_attempt: Option<String>,
    /// The action that runs the job at once. None for a job that runs or has finished.
    pub retry_action: Option<String>,
}

/// The state of a job with the class of its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Queued,
    Running,
    /// Failed, and to be tried again.
    Retrying,
    /// Failed permanently.
    Failed,
    Finished,
}

impl JobState {
    fn new(job: &Job) -> Self {
        match (job.finished_at, job.running) {
            (Some(_), _) => Self::Finished,
            (None, Some(true)) => Self::Running,
            _ if job.attempts.is_none() || job.attempts >= job.max_attempts => Self::Failed,
            _ if job.last_error.is_some() => Self::Retrying,
            _ => Self::Queued,
        }
    }

    pub const fn text(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Failed => "failed",
            Self::Finished => "finished",
        }
    }

    pub const fn color(&self) -> &'static str {
        match self {
            Self::Queued => "off",
            Self::Running => "run",
            Self::Retrying => "wait",
            Self::Failed => "bad",
            Self::Finished => "ok",
        }
    }
}

impl JobRow {
    /// Returns the number of steps at the end of the progress bar.
    pub fn bar_end(&self) -> i64 {
        self.total.max(self.done).max(1)
    }

    /// Returns the progress in words. Many jobs do not know their number of steps before they end.
    pub fn progress(&self) -> String {
        format!("{} of {}", words::number(self.done), words::number(self.total.max(self.done)))
    }
}

/// Builds the list of jobs.
pub fn jobs_page(layout: Layout, report: &JobReport, limit: i64, now: DateTime<Utc>) -> JobsPage {
    let row = |job: &Job| {
        let state = JobState::new(job);
        let is_retryable = matches!(state, JobState::Queued | JobState::Retrying | JobState::Failed);
        JobRow {
            id: job.id.get(),
            task: job.task.replace('_', " "),
            subject: job.subject.clone(),
            state,
            done: job.done,
            total: job.total,
            requested: Time::ago(job.requested_at, now),
            finished: job.finished_at.map(|at| Time::ago(at, now)),
            error: job.last_error.clone().filter(|_| state != JobState::Finished),
            next_attempt: job.next_try.filter(|_| state == JobState::Retrying).map(words::date_time),
            retry_action: is_retryable.then(|| links::admin_job_retry(job.id)),
        }
    };
    let seconds = i64::try_from(report.stats.oldest_pending.as_secs()).unwrap_or(i64::MAX);
    JobsPage {
        layout: admin_frame(layout, "Jobs"),
        jobs: report.jobs.iter().map(row).collect(),
        pending: report.stats.pending,
        oldest_pending: (report.stats.pending > 0).then(|| words::duration(seconds)),
        limit,
    }
}
