//! Work that outlives a request. Every node takes part; a job of a node that dies is done by another.

pub mod job;
mod removal;
mod sweep;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use graphile_worker::{IntoTaskHandlerResult, TaskHandler, Worker, WorkerContext, WorkerOptions, WorkerRecoveryConfig};
use holdfast_domain::ids::{JobId, ProjectId, UserId};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::worker::closing::{CLOSE_ISSUES, Closing};
use holdfast_store::worker::contributors::COUNT_CONTRIBUTORS;
use holdfast_store::worker::import::IMPORT;
use holdfast_store::worker::maintenance::MAINTAIN;
use holdfast_store::worker::merged_branches::DELETE_MERGED_BRANCHES;
use holdfast_store::worker::pipelines::{CREATE_PIPELINES, Pushed};
use holdfast_store::worker::removal::{REASSIGN_AUTHOR, REMOVE_AUTHOR, REMOVE_PROJECTS};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ci::{creation, tending};
use crate::planning::closing;
use crate::projects::project::ProjectRef;
use crate::repository::maintenance::{self, Extent};
use crate::repository::{contributor, import, merged_branches};
use crate::{Actor, App, Error, Result, access};

/// What a task finds in its context.
#[derive(Clone)]
struct Shared(Arc<App>);

impl fmt::Debug for Shared {
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
        let app = app(&context)?;
        removal::projects(&app, self.job).await.map_err(told)
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
        let app = app(&context)?;
        removal::author(&app, self.job, self.author).await.map_err(told)
    }
}

/// A job that was queued by a version that deleted what a deleted user wrote. It keeps that as well.
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
        let app = app(&context)?;
        match maintenance::maintain(&app, &Actor::Operator, &ProjectRef::Id(self.project), Extent::Due).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(told(error)),
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
        let app = app(&context)?;
        match contributor::run(&app, self.project).await {
            Ok(()) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(told(error)),
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
        let app = app(&context)?;
        merged_branches::run(&app, self.job, self.project, self.user).await.map_err(told)
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
        let app = app(&context)?;
        import::run(&app, self.job, self.project).await.map_err(told)
    }
}

#[derive(Serialize, Deserialize)]
struct CloseIssues {
    project: ProjectId,
    user: UserId,
    closings: Vec<Closing>,
}

impl TaskHandler for CloseIssues {
    const IDENTIFIER: &'static str = CLOSE_ISSUES;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app(&context)?;
        closing::run(&app, self.project, self.user, self.closings).await.map_err(told)
    }
}

#[derive(Serialize, Deserialize)]
struct CreatePipelines {
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed: Vec<Pushed>,
}

impl TaskHandler for CreatePipelines {
    const IDENTIFIER: &'static str = CREATE_PIPELINES;

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app(&context)?;
        match creation::of_push(&app, self.project, self.user, self.generation, self.pushed).await {
            Ok(()) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(told(error)),
        }
    }
}

/// Once a minute.
#[derive(Serialize, Deserialize)]
#[serde(from = "Value")]
struct TendBuilds {}

impl From<Value> for TendBuilds {
    fn from(_: Value) -> Self {
        Self {}
    }
}

impl TaskHandler for TendBuilds {
    const IDENTIFIER: &'static str = "tend_builds";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let app = app(&context)?;
        tending::tend(&app).await.map_err(told)
    }
}

/// Once a day. What comes by the clock comes with null.
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
        let app = app(&context)?;
        sweep::sweep(&app).await.map_err(told)
    }
}

fn app(context: &WorkerContext) -> std::result::Result<Arc<App>, String> {
    let shared = context.get_ext::<Shared>().ok_or("the worker was started without the application")?;
    Ok(shared.0.clone())
}

fn told(error: Error) -> String {
    error.to_string()
}

/// How many jobs this process runs at a time. 0 leaves them to other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// All jobs but imports.
    pub jobs: usize,
    /// Imports last as long as their source likes, so they have workers of their own.
    pub imports: usize,
}

impl Concurrency {
    pub fn is_none(self) -> bool {
        self == Self { jobs: 0, imports: 0 }
    }
}

fn options(app: &Arc<App>, concurrency: usize) -> WorkerOptions {
    WorkerOptions::default()
        .pg_pool(app.database.pool().clone())
        .concurrency(concurrency)
        // By polling alone: listening would hold a connection, which a pooler in between does not give.
        .use_notification_delivery(false)
        .poll_interval(Duration::from_secs(1))
        .worker_recovery(WorkerRecoveryConfig::default().enabled(true))
        .listen_os_shutdown_signals(false)
        .add_extension(Shared(app.clone()))
}

/// Defines every task but the import. A worker runs the tasks that are defined for it and no others.
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
        .define_job::<TendBuilds>()
        .define_job::<Sweep>()
        .with_cron("17 3 * * * sweep\n* * * * * tend_builds")
        .map_err(|error| Error::Internal(error.into()))
}

async fn start(options: WorkerOptions) -> Result<Worker> {
    options.init().await.map_err(|error| Error::Internal(error.into()))
}

/// Runs jobs until `stop` is fulfilled, and finishes those it has begun.
pub async fn run(app: Arc<App>, concurrency: Concurrency, stop: impl Future<Output = ()> + Send) -> Result<()> {
    let mut stop = std::pin::pin!(stop);
    let begin = async {
        // Nothing may have called for them while no node was up.
        sweep::make_partitions(&app).await?;
        let mut workers = Vec::new();
        if concurrency.jobs > 0 {
            workers.push(start(with_general_tasks(options(&app, concurrency.jobs))?).await?);
        }
        if concurrency.imports > 0 {
            workers.push(start(options(&app, concurrency.imports).define_job::<Import>()).await?);
        }
        Ok::<_, Error>(workers)
    };
    let workers = tokio::select! {
        workers = begin => workers?,
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

/// What is otherwise done once a day.
pub async fn sweep_now(app: &App, actor: &Actor) -> Result<()> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    sweep::sweep(app).await
}

/// Does what is due now, and returns.
pub async fn run_once(app: &Arc<App>) -> Result<()> {
    let all = with_general_tasks(options(app, 1))?.define_job::<Import>();
    start(all).await?.run_once().await.map_err(|error| Error::Internal(error.into()))
}
