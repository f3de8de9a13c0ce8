//! Everything at once: nodes are killed, the object store fails, the database loses connections and crashes, disks fill
//! up, caches vanish, operators clean up, projects come and go, while clients push and hooks are told.

mod database;
mod disk;
mod faults;
pub mod hidden;
mod maintenance;
mod moves;
mod projects;
mod storage;

use std::sync::Arc;
use std::time::Instant;

use chrono::TimeDelta;
use holdfast_app::repository::maintenance::MaintenanceSettings;
use holdfast_app::{Actor, App, Clock, Entropy};
use holdfast_store::repository::audit;
use holdfast_store::{Database, Objects};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

pub use faults::{Attempt, Faults};

use super::hooks::{self, Scene};
use super::node::{self, Program, Settings};
use super::report::say;
use super::{Arguments, World, check, report, setup};
use crate::configuration::Configuration;

/// Of the first projects, which are never renamed.
const HOOKED: usize = 2;

/// What is done once a day or after weeks is done within seconds.
pub fn settings() -> Settings {
    let mut settings = hooks::settings();
    let seconds = |seconds: f64| (seconds / 86_400.0).to_string();
    settings.extend([
        ("HOLDFAST__MAINTENANCE__UNDO_DAYS", seconds(20.0)),
        ("HOLDFAST__MAINTENANCE__PRUNE_AFTER_DAYS", seconds(10.0)),
        ("HOLDFAST__MAINTENANCE__BACKUP_WINDOW_DAYS", seconds(15.0)),
    ]);
    settings
}

/// For the object store of all nodes but the last one.
pub fn unrest() -> Settings {
    let percent = |number: f64| number.to_string();
    vec![
        ("HOLDFAST__CHAOS__FAIL_PERCENT", percent(4.0)),
        ("HOLDFAST__CHAOS__SLOW_PERCENT", percent(3.0)),
        ("HOLDFAST__CHAOS__SLOW_MILLISECONDS", "500".into()),
        ("HOLDFAST__CHAOS__TEAR_PERCENT", percent(4.0)),
    ]
}

pub async fn torture(
    world: &Arc<World>,
    app: &Arc<App>,
    program: &Arc<Program>,
    configuration: &Configuration,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let address = node::free_address(&mut StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes())))?;
    let mut hooks = Vec::new();
    for number in 0..setup::PROJECTS {
        let project = setup::create_project(world, number).await?;
        if number < HOOKED {
            hooks.push(hooks::create_hook(world, address, hooks.len(), Some(project.id), true).await?);
            hooks.push(hooks::create_hook(world, address, hooks.len(), Some(project.id), false).await?);
        }
        let commits = setup::push_first(world, &project, number, moves::COMMITS).await?;
        world.first_commits().insert(project.id, Arc::new(commits));
        world.projects().push(project);
    }
    let scene = Scene::of_others(world.clone(), hooks);
    let torment_and_wait = async {
        super::torment(world, app, program, arguments).await?;
        say("no faults any more; waiting until hooks are told all");
        hooks::until_all_is_told(&scene, app).await
    };
    tokio::select! {
        failed = scene.receiver.clone().run(address) => match failed? {},
        done = torment_and_wait => done?,
    }
    check::stop(world, app).await?;
    let told = hooks::find_faults(&scene, app).await?;
    let swept = sweep(configuration, app).await?;
    let repositories = check::check(world, app, program).await?;
    let stored = storage::check(world, app, configuration, &swept).await?;
    let mut lines = report::lines(world, began.elapsed(), repositories);
    lines.extend(report::fault_lines(world));
    lines.extend(stored);
    lines.extend([
        ("hooks", scene.receiver.hooks().len() as u64),
        ("requests of hooks", scene.receiver.seen(hooks::Seen::requests)),
        ("deliveries accepted again", told.repeated),
        ("longest delay of a delivery in seconds", told.delay),
        ("violations", world.ledger.violations() as u64),
    ]);
    report::table(&lines)
}

pub fn spawn(
    tasks: &mut JoinSet<anyhow::Result<()>>,
    world: &Arc<World>,
    app: &Arc<App>,
    program: &Arc<Program>,
    arguments: &Arguments,
) {
    tasks.spawn(database::cut(world.clone(), app.clone()));
    match &arguments.restart_database {
        Some(command) => _ = tasks.spawn(database::restart(world.clone(), command.clone())),
        None => say("the database is not crashed: --restart-database does not say how"),
    }
    match (&arguments.small_disk, world.nodes.last()) {
        (Some(disk), Some(node)) => _ = tasks.spawn(disk::fill(world.clone(), disk.clone(), node.name.clone())),
        _ => say("no disk is filled: --small-disk names none"),
    }
    tasks.spawn(disk::remove_caches(world.clone()));
    tasks.spawn(maintenance::run(world.clone(), program.clone()));
    tasks.spawn(projects::run(world.clone()));
}

/// Longer than an upload may take, and shorter than events are kept.
const LATER: TimeDelta = TimeDelta::days(2);

/// As in two days, with nothing left to wait for; gives what is still there that should have gone.
async fn sweep(configuration: &Configuration, app: &App) -> anyhow::Result<Vec<String>> {
    let mut settings = configuration.settings()?;
    let at_once = TimeDelta::zero();
    settings.maintenance = MaintenanceSettings { undo: at_once, prune_after: at_once, backup_window: at_once };
    let clock = Clock::system();
    let clock = Clock::new(move || clock.now() + LATER);
    let database = Database::new(&configuration.database_options())?;
    let later = App::new(database, Objects::new(configuration.storage.options()?), settings, clock, Entropy::system());
    // What nodes had begun that were killed in the last minutes, such as to remove a deleted project.
    audit::release_jobs(&mut *app.database.connection().await?).await?;
    let later = Arc::new(later);
    holdfast_app::worker::run_once(&later).await?;
    let mut left = Vec::new();
    for _ in 0..10 {
        holdfast_app::worker::sweep_now(&later, &Actor::Operator).await?;
        left = audit::packs_to_go(&mut *app.database.connection().await?).await?;
        if left.is_empty() {
            break;
        }
    }
    later.database.close().await;
    Ok(left)
}
