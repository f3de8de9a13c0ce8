//! Background jobs.
//!
//! - Every node runs jobs from one queue in PostgreSQL. If a node crashes, another node runs its jobs again.
//! - Therefore every step of a job is idempotent.
//!
//! To add a task:
//!
//! 1. Add a file to `worker` in `store`, with the name of the task as a constant and a function that enqueues it.
//! 2. Add a type here that implements [`TaskHandler`] and calls a function `run`, which is beside the use cases. Its
//!    fields are read from the payload by name, so they must equal the keys of the JSON that the function in `store`
//!    writes. [`enqueue`](holdfast_store::worker::job::enqueue) adds the key `job`.
//! 3. Define the task in `with_general_tasks`; a worker ignores other jobs.
//!
//! Names and payloads stay compatible: during an upgrade, nodes of two versions enqueue and run jobs.

pub mod job;
mod removal;
mod sweep;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, try_join_all};
use graphile_worker::{IntoTaskHandlerResult, TaskHandler, Worker, WorkerContext, WorkerOptions, WorkerRecoveryConfig};
use holdfast_domain::ids::{JobId, ProjectId, UserId};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::worker::close_issues::{CLOSE_ISSUES, IssueClosure};
use holdfast_store::worker::contributors::COUNT_CONTRIBUTORS;
use holdfast_store::worker::gitlab_import::IMPORT_GITLAB;
use holdfast_store::worker::import::IMPORT;
use holdfast_store::worker::maintenance::MAINTAIN;
use holdfast_store::worker::merge_requests::{ACCEPT_WAITING_MERGE_REQUESTS, BranchUpdate, UPDATE_MERGE_REQUESTS};
use holdfast_store::worker::merged_branches::DELETE_MERGED_BRANCHES;
use holdfast_store::worker::pipelines::{CREATE_PIPELINES, PushedRef};
use holdfast_store::worker::removal::{REASSIGN_AUTHOR, REMOVE_AUTHOR, REMOVE_PROJECTS};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ci::{creation, stale_builds};
use crate::gitlab_export;
use crate::merge_requests::{pushed, waiting};
use crate::planning::close_issues;
use crate::projects::project::ProjectRef;
use crate::repository::browse::contributor;
use crate::repository::maintenance::{self, RepackScope};
use crate::repository::refs::merged_branches;
use crate::repository::transfer::import;
use crate::{Actor, App, Error, Result, access};

/// The application, as an extension of the worker's context.
#[derive(Clone)]
struct SharedApp(Arc<App>);

impl fmt::Debug for SharedApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

#[derive(Serialize, Deserialize)]
struct RemoveProjects {
    job: JobId,
}

impl TaskHandler for RemoveProjects {
    const IDENTIFIER: &'static str = REMOVE_PROJECTS;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        removal::remove_projects(&app, self.job).await.map_err(to_job_error)
    }
}

#[derive(Serialize, Deserialize)]
struct ReassignAuthor {
    job: JobId,
    author: UserId,
}

impl TaskHandler for ReassignAuthor {
    const IDENTIFIER: &'static str = REASSIGN_AUTHOR;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        removal::reassign_author(&app, self.job, self.author).await.map_err(to_job_error)
    }
}

/// A job queued by an older version, which deleted the contributions of a deleted user. It now reassigns them, like
/// [`ReassignAuthor`].
#[derive(Serialize, Deserialize)]
struct RemoveAuthor(ReassignAuthor);

impl TaskHandler for RemoveAuthor {
    const IDENTIFIER: &'static str = REMOVE_AUTHOR;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        self.0.run(context).await
    }
}

#[derive(Serialize, Deserialize)]
struct Maintain {
    project: ProjectId,
}

impl TaskHandler for Maintain {
    const IDENTIFIER: &'static str = MAINTAIN;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        match maintenance::maintain(&app, &Actor::Operator, &ProjectRef::Id(self.project), RepackScope::Due).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(to_job_error(error)),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct CountContributors {
    project: ProjectId,
}

impl TaskHandler for CountContributors {
    const IDENTIFIER: &'static str = COUNT_CONTRIBUTORS;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        match contributor::run(&app, self.project).await {
            Ok(()) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(to_job_error(error)),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct DeleteMergedBranches {
    job: JobId,
    project: ProjectId,
    user: UserId,
}

impl TaskHandler for DeleteMergedBranches {
    const IDENTIFIER: &'static str = DELETE_MERGED_BRANCHES;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        merged_branches::run(&app, self.job, self.project, self.user).await.map_err(to_job_error)
    }
}

#[derive(Serialize, Deserialize)]
struct Import {
    job: JobId,
    project: ProjectId,
}

impl TaskHandler for Import {
    const IDENTIFIER: &'static str = IMPORT;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        import::run(&app, self.job, self.project).await.map_err(to_job_error)
    }
}

#[derive(Serialize, Deserialize)]
struct ImportGitlab {
    job: JobId,
    project: ProjectId,
}

impl TaskHandler for ImportGitlab {
    const IDENTIFIER: &'static str = IMPORT_GITLAB;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        gitlab_export::run::run(&app, self.job, self.project).await.map_err(to_job_error)
    }
}

#[derive(Serialize, Deserialize)]
struct CloseIssues {
    project: ProjectId,
    user: UserId,
    closings: Vec<IssueClosure>,
}

impl TaskHandler for CloseIssues {
    const IDENTIFIER: &'static str = CLOSE_ISSUES;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        close_issues::run(&app, self.project, self.user, self.closings).await.map_err(to_job_error)
    }
}

#[derive(Serialize, Deserialize)]
struct CreatePipelines {
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed: Vec<PushedRef>,
}

impl TaskHandler for CreatePipelines {
    const IDENTIFIER: &'static str = CREATE_PIPELINES;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        match creation::create_for_push(&app, self.project, self.user, self.generation, self.pushed).await {
            Ok(()) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(to_job_error(error)),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct UpdateMergeRequests {
    project: ProjectId,
    user: UserId,
    updates: Vec<BranchUpdate>,
}

impl TaskHandler for UpdateMergeRequests {
    const IDENTIFIER: &'static str = UPDATE_MERGE_REQUESTS;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        pushed::run(&app, self.project, self.user, self.updates).await.map_err(to_job_error)
    }
}

#[derive(Serialize, Deserialize)]
struct AcceptWaitingMergeRequests {
    project: ProjectId,
    sha: String,
}

impl TaskHandler for AcceptWaitingMergeRequests {
    const IDENTIFIER: &'static str = ACCEPT_WAITING_MERGE_REQUESTS;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        waiting::run(&app, self.project, &self.sha).await.map_err(to_job_error)
    }
}

/// The task `tend_builds`, which fails stale builds once a minute. Cron jobs have the payload null.
#[derive(Serialize, Deserialize)]
#[serde(from = "Value")]
struct FailStaleBuilds {}

impl From<Value> for FailStaleBuilds {
    fn from(_: Value) -> Self {
        Self {}
    }
}

impl TaskHandler for FailStaleBuilds {
    // An older name of `FailStaleBuilds`. It stays, because a worker leaves jobs of tasks that it does not define: a
    // job that a node of another version enqueued under another name would stay pending.
    const IDENTIFIER: &'static str = "tend_builds";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        stale_builds::run(&app).await.map_err(to_job_error)
    }
}

/// The task of the daily cleanup. Cron jobs have the payload null.
#[derive(Serialize, Deserialize)]
#[serde(from = "Value")]
struct Sweep {}

impl From<Value> for Sweep {
    fn from(_: Value) -> Self {
        Self {}
    }
}

impl TaskHandler for Sweep {
    const IDENTIFIER: &'static str = "sweep";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app_from_context(&context)?;
        sweep::sweep(&app).await.map_err(to_job_error)
    }
}

fn app_from_context(context: &WorkerContext) -> std::result::Result<Arc<App>, String> {
    let shared = context.get_ext::<SharedApp>().ok_or("the worker was started without the application")?;
    Ok(shared.0.clone())
}

fn to_job_error(error: Error) -> String {
    error.to_string()
}

/// The maximum number of jobs that this process runs at once. With 0, other nodes run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// All jobs except imports.
    pub jobs: usize,
    /// Imports take as long as their source needs, so they have workers of their own.
    pub imports: usize,
}

impl Concurrency {
    pub fn is_none(self) -> bool {
        self == Self { jobs: 0, imports: 0 }
    }
}

fn worker_options(app: &Arc<App>, concurrency: usize) -> WorkerOptions {
    WorkerOptions::default()
        .pg_pool(app.database.queue_pool().clone())
        .concurrency(concurrency)
        // Poll only: LISTEN would hold a connection permanently, which a connection pooler does not allow.
        .use_notification_delivery(false)
        .poll_interval(Duration::from_secs(1))
        .worker_recovery(WorkerRecoveryConfig::default().enabled(true))
        .listen_os_shutdown_signals(false)
        .add_extension(SharedApp(app.clone()))
}

/// Defines every task except the imports. A worker runs only the tasks that are defined for it.
fn with_general_tasks(options: WorkerOptions) -> Result<WorkerOptions> {
    options
        .define_job::<RemoveProjects>()
        .define_job::<ReassignAuthor>()
        .define_job::<RemoveAuthor>()
        .define_job::<Maintain>()
        .define_job::<CountContributors>()
        .define_job::<DeleteMergedBranches>()
        .define_job::<CloseIssues>()
        .define_job::<CreatePipelines>()
        .define_job::<UpdateMergeRequests>()
        .define_job::<AcceptWaitingMergeRequests>()
        .define_job::<FailStaleBuilds>()
        .define_job::<Sweep>()
        .with_cron("17 3 * * * sweep\n* * * * * tend_builds")
        .map_err(|error| Error::Internal(error.into()))
}

async fn start(options: WorkerOptions) -> Result<Worker> {
    Box::pin(options.init()).await.map_err(|error| Error::Internal(error.into()))
}

/// Runs jobs until `stop` completes, then finishes the jobs that are running.
#[crate::boxed]
pub async fn run(app: Arc<App>, concurrency: Concurrency, mut stop: BoxFuture<'static, ()>) -> Result<()> {
    let startup = async {
        // The daily job may not have run for a while if no node was up.
        sweep::create_partitions(&app).await?;
        let mut workers = Vec::new();
        if concurrency.jobs > 0 {
            workers.push(start(with_general_tasks(worker_options(&app, concurrency.jobs))?).await?);
        }
        if concurrency.imports > 0 {
            workers.push(
                start(worker_options(&app, concurrency.imports).define_job::<Import>().define_job::<ImportGitlab>())
                    .await?,
            );
        }
        Ok::<_, Error>(workers)
    };
    let workers = tokio::select! {
        workers = startup => workers?,
        () = &mut stop => return Ok(()),
    };
    let mut running = std::pin::pin!(try_join_all(workers.iter().map(Worker::run)));
    let ended = tokio::select! {
        ended = &mut running => ended,
        () = &mut stop => {
            workers.iter().for_each(Worker::request_shutdown);
            running.await
        }
    };
    ended.map(drop).map_err(|error| Error::Internal(error.into()))
}

/// Runs the daily cleanup now.
#[crate::boxed]
pub async fn sweep_now(app: &App, actor: &Actor) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    sweep::sweep(app).await
}

/// Runs the jobs that are due now, and returns.
#[crate::boxed]
pub async fn run_once(app: &Arc<App>) -> Result<()> {
    let options = with_general_tasks(worker_options(app, 1))?.define_job::<Import>().define_job::<ImportGitlab>();
    start(options).await?.run_once().await.map_err(|error| Error::Internal(error.into()))
}
