//! Tries to make the service break its promise: nodes are killed while clients push, and afterwards every push that was
//! acknowledged must be there, told of once, and readable from a node that has never seen it.

mod branches;
mod check;
mod client;
mod contradiction;
mod full;
mod git;
mod hooks;
mod killer;
mod ledger;
mod mirror;
mod node;
mod push;
mod read;
mod report;
mod rest;
mod setup;
mod wire;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use holdfast_app::{App, Entropy};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{application, print, serve};
use crate::configuration::Configuration;
use full::{Attempt, Faults};
use git::Git;
use killer::{Habits, Moment};
use ledger::Ledger;
use node::{Node, Program};
use rest::{Group, Project, Rest};

#[derive(clap::Args)]
pub struct Arguments {
    /// How many nodes there are to kill.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=16))]
    nodes: u16,
    /// How long clients push.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many clients push at once.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=200))]
    clients: u16,
    /// Makes the same choices again; when they meet a kill is chance.
    #[arg(long)]
    seed: Option<u64>,
    /// Where clones, caches and logs go; it is kept. Without it a temporary one is kept only after a violation.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Checks hooks instead: whether each is told all that happened, in order, though nodes die and receivers fail. Nodes
    /// are killed for as long as --seconds says, and until all is pushed.
    #[arg(long)]
    hooks: bool,
    /// Everything at once: besides kills, the object store fails, connections of the database are cut, caches vanish,
    /// operators clean up, projects are renamed and deleted, hooks are told.
    #[arg(long, conflicts_with = "hooks")]
    full: bool,
    /// A command that crashes the database and starts it again, for --full; it is given to `sh -c`.
    #[arg(long, requires = "full", value_name = "COMMAND")]
    restart_database: Option<String>,
    /// A small file system for the cache of the last node, which --full fills up now and then.
    #[arg(long, requires = "full", value_name = "DIRECTORY")]
    small_disk: Option<PathBuf>,
    /// How often clients push when hooks are checked.
    #[arg(long, default_value_t = 400, requires = "hooks")]
    pushes: u64,
}

/// What all tasks share.
struct World {
    seed: u64,
    nodes: Vec<Arc<Node>>,
    ledger: Ledger,
    git: Git,
    rest: Rest,
    projects: Mutex<Vec<Project>>,
    group: Group,
    /// A repository with the first commits of all projects.
    origin: PathBuf,
    directory: PathBuf,
    faults: Faults,
    /// Projects that somebody has deleted, or has tried to.
    deleted: Mutex<HashSet<i64>>,
    /// Of each project, or of the one that it was forked from in the beginning.
    first_commits: Mutex<HashMap<i64, Arc<Vec<String>>>>,
    over: CancellationToken,
}

impl World {
    fn projects(&self) -> MutexGuard<'_, Vec<Project>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deleted(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_commits(&self) -> MutexGuard<'_, HashMap<i64, Arc<Vec<String>>>> {
        self.first_commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More would only be more to check in the end; where some are deleted there is room for others.
    fn has_forks_enough(&self) -> bool {
        match self.faults.store_fails {
            true => self.projects().len() >= 12,
            false => self.ledger.counts().forks >= 20,
        }
    }

    /// Whether a fault other than a kill explains that somebody was told this.
    fn excuses(&self, attempt: Attempt<'_>, said: &str) -> bool {
        let is_excused = self.faults.excuse(attempt, said).is_some();
        self.ledger.count(|counts| counts.excused += u64::from(is_excused));
        is_excused
    }

    /// Whether there is more to do after this time.
    async fn pause(&self, time: Duration) -> bool {
        tokio::time::timeout(time, self.over.cancelled()).await.is_err()
    }
}

pub fn run(configuration: &Configuration, file: Option<&Path>, arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = torture(configuration, file, arguments) => done,
            told = serve::told_to_stop() => {
                told?;
                bail!("stopped before the end: nothing was checked");
            }
        }
    })
}

async fn torture(configuration: &Configuration, file: Option<&Path>, arguments: &Arguments) -> anyhow::Result<()> {
    let seed = arguments.seed.unwrap_or_else(|| u64::from_le_bytes(Entropy::system().bytes()) >> 16);
    print(format!("seed {seed}"))?;
    let mut temporary = None;
    let directory = match &arguments.directory {
        Some(directory) => {
            std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
            directory.canonicalize()?
        }
        None => temporary.insert(tempfile::Builder::new().prefix("holdfast-torture-").tempdir()?).path().to_owned(),
    };
    let app = Arc::new(application(configuration)?);
    let (settings, unrest) = match (arguments.hooks, arguments.full) {
        (true, _) => (hooks::settings(), Vec::new()),
        (_, true) => (full::settings(), full::unrest()),
        _ => (Vec::new(), Vec::new()),
    };
    let program = Arc::new(Program::new(file, &directory, settings, unrest)?);
    let began = Instant::now();
    let world = Arc::new(setup::prepare(configuration, &app, arguments, seed, directory, &program).await?);
    if arguments.hooks {
        hooks::torture(&world, &app, arguments).await?;
    } else if arguments.full {
        full::torture(&world, &app, &program, configuration, arguments).await?;
    } else {
        setup::create_projects(&world).await?;
        torment(&world, &app, &program, arguments).await?;
        check::stop(&world, &app).await?;
        let checked = check::check(&world, &app, &program).await?;
        report::summary(&world, &app, began.elapsed(), checked).await?;
    }
    let counts = world.ledger.counts();
    match world.ledger.violations() {
        0 if counts.acknowledged == 0 || counts.kills == 0 => bail!("nothing was tried: nobody pushed, or nobody died"),
        0 => Ok(()),
        count => {
            let kept = temporary.map_or(world.directory.clone(), tempfile::TempDir::keep);
            bail!("{count} violations with seed {seed}, see above; clones and logs are in {}", kept.display())
        }
    }
}

/// All at once until the time is over.
async fn torment(
    world: &Arc<World>,
    app: &Arc<App>,
    program: &Arc<Program>,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for number in 0..arguments.clients {
        tasks.spawn(client::run(world.clone(), number));
    }
    use Moment::{Any, Committed, Uploading};
    let moments = vec![Committed, Committed, Uploading, Any, Any];
    let pause = if arguments.full { 1000..3000 } else { 100..2000 };
    tasks.spawn(killer::run(world.clone(), app.clone(), Habits { pause, moments }));
    if arguments.full {
        full::spawn(&mut tasks, world, app, program, arguments);
    }
    tasks.spawn(report::progress(world.clone(), app.clone()));
    let end = tokio::time::Instant::now() + Duration::from_secs(arguments.seconds);
    let mut first_failure = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(end), if !world.over.is_cancelled() => world.over.cancel(),
            ended = tasks.join_next() => match ended {
                None => break,
                Some(ended) => if let Err(error) = ended? {
                    world.over.cancel();
                    first_failure.get_or_insert(error);
                },
            },
        }
    }
    first_failure.map_or(Ok(()), Err)
}
