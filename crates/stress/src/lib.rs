//! The stress test `holdfast torture`, which kills nodes while clients push.
//!
//! Afterwards every acknowledged push must be in the ref log, its event must be published exactly once, and its objects
//! must be readable from a node with an empty cache. `hooks` tests webhook deliveries instead, and `full` combines
//! kills with all other faults.
//!
//! The nodes are processes of the running program. Everything else that the test needs to know about the installation is
//! in [`Installation`].

mod check;
mod client;
mod consistency;
mod faults;
mod full;
mod git;
mod history;
mod hooks;
mod killer;
mod known_refs;
mod merge_history;
mod mirror;
mod node;
mod push;
mod read;
mod report;
mod rest;
mod setup;
mod unreachable;
mod wire;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use holdfast_app::{App, Clock, Entropy, Settings};
use holdfast_store::{Database, Objects, objects};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use faults::{Attempt, Faults};
use git::Git;
use history::PushHistory;
use killer::{KillPoint, KillSchedule};
use merge_history::MergeHistory;
use node::{Node, Program};
use report::print_line;
use rest::{Group, Project, RestClient};

/// The installation under test.
pub struct Installation {
    /// The configuration file of the nodes, if they use one.
    pub configuration_file: Option<PathBuf>,
    pub settings: Settings,
    pub database: holdfast_store::Options,
    /// The URL that reaches PostgreSQL without a connection pooler.
    pub direct_url: String,
    /// Host, port and name of the database, without credentials.
    pub database_location: String,
    pub objects: objects::Options,
}

impl Installation {
    fn build_app(&self, settings: Settings, clock: Clock) -> anyhow::Result<App> {
        let (database, objects) = (Database::new(&self.database)?, Objects::new(self.objects.clone()));
        Ok(App::new(database, objects, settings, clock, Entropy::system()))
    }
}

/// The command line arguments of the stress test.
#[derive(clap::Args)]
pub struct Arguments {
    /// Number of nodes to start and kill.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    nodes: u16,
    /// Seconds for which clients push.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Number of concurrent clients.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    clients: u16,
    /// Seed of the random choices. The timing of kills differs between runs with the same seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Directory for clones, caches and logs. Without it, a temporary one is kept only after a violation.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Test webhooks instead: every hook must receive all events in order while nodes are killed and receivers fail.
    /// Nodes are killed for --seconds, and until all pushes are done.
    #[arg(long)]
    hooks: bool,
    /// Combine all faults: besides kills, the object store fails, database connections are cut, caches are deleted,
    /// maintenance commands run, projects are renamed and deleted, merge requests are accepted, and webhooks are delivered.
    #[arg(long, conflicts_with = "hooks")]
    full: bool,
    /// Shell command that crashes and restarts the database, for --full.
    #[arg(long, requires = "full", value_name = "COMMAND")]
    restart_database: Option<String>,
    /// Small file system for the cache of the last node, which --full fills up from time to time.
    #[arg(long, requires = "full", value_name = "DIRECTORY")]
    small_disk: Option<PathBuf>,
    /// Number of pushes, for --hooks.
    #[arg(long, default_value_t = 400, requires = "hooks")]
    pushes: u64,
}

/// The state that all tasks of a test share.
struct Harness {
    seed: u64,
    nodes: Vec<Arc<Node>>,
    history: PushHistory,
    merges: MergeHistory,
    git: Git,
    rest: RestClient,
    projects: Mutex<Vec<Project>>,
    group: Group,
    /// A repository with the first commits of all projects.
    origin: PathBuf,
    directory: PathBuf,
    faults: Faults,
    /// Projects that were deleted, or whose deletion was requested.
    deleted: Mutex<HashSet<i64>>,
    /// Initial commits of each project; a fork has those of its source.
    first_commits: Mutex<HashMap<i64, Arc<Vec<String>>>>,
    finished: CancellationToken,
}

impl Harness {
    fn projects(&self) -> MutexGuard<'_, Vec<Project>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deleted(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_commits(&self) -> MutexGuard<'_, HashMap<i64, Arc<Vec<String>>>> {
        self.first_commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether no more forks shall be created, which limits the duration of the final check. With all faults
    /// combined, forks are also deleted, so the existing projects are counted instead of the created forks.
    fn has_enough_forks(&self) -> bool {
        match self.faults.is_store_failing {
            true => self.projects().len() >= 12,
            false => self.history.counts().forks >= 20,
        }
    }

    /// Returns whether a fault other than a kill explains a failure with this output.
    fn is_explained(&self, attempt: Attempt<'_>, output: &str) -> bool {
        let is_explained = self.faults.explaining_fault(attempt, output).is_some();
        self.history.count(|counts| counts.explained += u64::from(is_explained));
        is_explained
    }

    /// Waits for this time. Returns false if the test has finished meanwhile.
    async fn pause(&self, time: Duration) -> bool {
        tokio::time::timeout(time, self.finished.cancelled()).await.is_err()
    }
}

/// Runs the stress test and prints its report. Fails if there is a violation, or if nothing was tested.
pub async fn run(installation: &Installation, arguments: &Arguments) -> anyhow::Result<()> {
    let seed = arguments.seed.unwrap_or_else(|| u64::from_le_bytes(Entropy::system().bytes()) >> 16);
    print_line(&format!("seed {seed}"))?;
    let mut temporary = None;
    let directory = match &arguments.directory {
        Some(directory) => {
            std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
            directory.canonicalize()?
        }
        None => temporary.insert(tempfile::Builder::new().prefix("holdfast-torture-").tempdir()?).path().to_owned(),
    };
    let app = Arc::new(installation.build_app(installation.settings.clone(), Clock::system())?);
    let (settings, fault_settings) = match (arguments.hooks, arguments.full) {
        (true, _) => (hooks::settings(), Vec::new()),
        (_, true) => (full::settings(), full::fault_settings()),
        _ => (Vec::new(), Vec::new()),
    };
    let program =
        Arc::new(Program::new(installation.configuration_file.as_deref(), &directory, settings, fault_settings)?);
    let started = Instant::now();
    let harness = Arc::new(setup::prepare(installation, &app, arguments, seed, directory, &program).await?);
    if arguments.hooks {
        hooks::torture(&harness, &app, arguments).await?;
    } else if arguments.full {
        full::torture(&harness, &app, &program, installation, arguments).await?;
    } else {
        setup::create_projects(&harness).await?;
        run_workload(&harness, &app, &program, arguments).await?;
        check::stop_nodes(&harness, &app).await?;
        let checked = check::check(&harness, &app, &program).await?;
        report::summary(&harness, &app, started.elapsed(), checked).await?;
    }
    let counts = harness.history.counts();
    match harness.history.violations() {
        0 if counts.acknowledged == 0 || counts.kills == 0 => {
            bail!("the test is void: no push was acknowledged, or no node was killed")
        }
        0 => Ok(()),
        count => {
            let path = temporary.map_or(harness.directory.clone(), tempfile::TempDir::keep);
            bail!("{count} violations with seed {seed}, see above; clones and logs are in {}", path.display())
        }
    }
}

/// Runs clients, killer and faults concurrently until the time is over. Returns the first error of a task.
async fn run_workload(
    harness: &Arc<Harness>,
    app: &Arc<App>,
    program: &Arc<Program>,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for number in 0..arguments.clients {
        tasks.spawn(client::run(harness.clone(), number));
    }
    use KillPoint::{Any, Committed, Uploading};
    let points = vec![Committed, Committed, Uploading, Any, Any];
    let interval_millis = if arguments.full { 1000..3000 } else { 100..2000 };
    tasks.spawn(killer::run(harness.clone(), app.clone(), KillSchedule { interval_millis, points }));
    if arguments.full {
        full::spawn_faults(&mut tasks, harness, app, program, arguments);
    }
    tasks.spawn(report::progress(harness.clone(), app.clone()));
    let end = tokio::time::Instant::now() + Duration::from_secs(arguments.seconds);
    let mut first_failure = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end), if !harness.finished.is_cancelled() => harness.finished.cancel(),
            ended = tasks.join_next() => match ended {
                None => break,
                Some(ended) => if let Err(error) = ended? {
                    harness.finished.cancel();
                    first_failure.get_or_insert(error);
                },
            },
        }
    }
    first_failure.map_or(Ok(()), Err)
}
