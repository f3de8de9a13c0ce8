//! Tries to make the service break its promise: nodes are killed while clients push, and afterwards every push that was
//! acknowledged must be there, told of once, and readable from a node that has never seen it.

mod branches;
mod check;
mod client;
mod contradiction;
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

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use holdfast_app::{App, Entropy};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{application, print, serve};
use crate::configuration::Configuration;
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
    over: CancellationToken,
}

impl World {
    fn projects(&self) -> MutexGuard<'_, Vec<Project>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
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
    let settings = if arguments.hooks { hooks::SETTINGS } else { &[] };
    let program = Program::new(file, &directory, settings)?;
    let began = Instant::now();
    let world = Arc::new(setup::prepare(configuration, &app, arguments, seed, directory, &program).await?);
    if arguments.hooks {
        hooks::torture(&world, &app, arguments).await?;
    } else {
        setup::create_projects(&world).await?;
        torment(&world, &app, arguments).await?;
        let checked = check::check(&world, &app, &program).await?;
        report::summary(&world, &app, began.elapsed(), checked).await?;
    }
    match world.ledger.violations() {
        0 => Ok(()),
        count => {
            let kept = temporary.map_or(world.directory.clone(), tempfile::TempDir::keep);
            bail!("{count} violations with seed {seed}, see above; clones and logs are in {}", kept.display())
        }
    }
}

/// All at once until the time is over.
async fn torment(world: &Arc<World>, app: &Arc<App>, arguments: &Arguments) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for number in 0..arguments.clients {
        tasks.spawn(client::run(world.clone(), number));
    }
    use Moment::{Any, Committed, Uploading};
    let moments = vec![Committed, Committed, Uploading, Any, Any];
    tasks.spawn(killer::run(world.clone(), app.clone(), Habits { pause: 100..2000, moments }));
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
