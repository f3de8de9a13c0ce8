//! The stress test with all faults combined (`--full`).
//!
//! While clients push and accept merge requests, and webhooks are delivered, nodes are killed, the object store fails, the database loses
//! connections and crashes, disks fill up, caches are deleted, maintenance commands run, and projects are renamed and
//! deleted. In the end the object store must contain exactly the listed packs.

mod database;
mod disk;
mod maintenance;
mod merge_requests;
mod projects;
mod ref_updates;
mod storage;

use std::sync::Arc;
use std::time::Instant;

use chrono::TimeDelta;
use holdfast_app::repository::maintenance::MaintenanceSettings;
use holdfast_app::{Actor, App, Clock, Entropy};
use holdfast_store::repository::audit;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use super::hooks::{self, HookEvents, HookScenario};
use super::node::{self, Program, Settings};
use super::report::log_line;
use super::{Arguments, Harness, Installation, check, report, setup};

/// Number of projects with hooks. They are the first ones, which are never renamed.
const HOOKED_PROJECTS: usize = 2;

/// Returns settings that shorten the retention periods of maintenance from days to seconds.
pub fn settings() -> Settings {
    let mut settings = hooks::settings();
    let seconds = |seconds: f64| (seconds / 86_400.0).to_string();
    settings.extend([
        ("HOLDFAST__MAINTENANCE__REF_RESTORE_DAYS", seconds(20.0)),
        ("HOLDFAST__MAINTENANCE__PRUNE_AFTER_DAYS", seconds(10.0)),
        ("HOLDFAST__MAINTENANCE__UNREFERENCED_PACK_RETENTION_DAYS", seconds(15.0)),
    ]);
    settings
}

/// Returns settings that make the object store fail, for all nodes but the one of the final check.
pub fn fault_settings() -> Settings {
    let percent = |number: f64| number.to_string();
    vec![
        ("HOLDFAST__FAULT_INJECTION__FAIL_PERCENT", percent(4.0)),
        ("HOLDFAST__FAULT_INJECTION__SLOW_PERCENT", percent(3.0)),
        ("HOLDFAST__FAULT_INJECTION__SLOW_MILLISECONDS", "500".into()),
        ("HOLDFAST__FAULT_INJECTION__TRUNCATE_PERCENT", percent(4.0)),
    ]
}

pub async fn torture(
    harness: &Arc<Harness>,
    app: &Arc<App>,
    program: &Arc<Program>,
    installation: &Installation,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let address = node::free_address(&mut StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes())))?;
    let mut hooks = Vec::new();
    for number in 0..setup::PROJECTS {
        let project = setup::create_project(harness, number).await?;
        if number < HOOKED_PROJECTS {
            for events in [HookEvents::BranchesAndTags, HookEvents::Branches, HookEvents::MergeRequests] {
                hooks.push(hooks::create_hook(harness, address, hooks.len(), Some(project.id), events).await?);
            }
        }
        let commits = setup::push_first(harness, &project, number, ref_updates::FIRST_COMMITS).await?;
        harness.first_commits().insert(project.id, Arc::new(commits));
        harness.projects().push(project);
    }
    let scenario = HookScenario::for_external_pushes(harness.clone(), hooks);
    let run_and_wait = async {
        super::run_workload(harness, app, program, arguments).await?;
        log_line("no more faults; waiting for all webhook deliveries");
        hooks::wait_for_deliveries(&scenario, app).await?;
        merge_requests::wait_for_updates(harness, &scenario).await
    };
    tokio::select! {
        failed = scenario.receiver.clone().run(address) => match failed? {},
        done = run_and_wait => done?,
    }
    check::stop_nodes(harness, app).await?;
    let summary = hooks::find_faults(&scenario, app).await?;
    let swept = sweep(installation, app).await?;
    let merge_lines = merge_requests::check(harness, program, &scenario.count_merge_events()).await?;
    let repositories = check::check(harness, app, program).await?;
    let stored = storage::check(harness, app, &installation.objects, &swept).await?;
    let mut lines = report::lines(harness, started.elapsed(), repositories);
    lines.extend(report::fault_lines(harness));
    lines.extend(stored);
    lines.extend(merge_lines);
    lines.extend([
        ("hooks", scenario.receiver.hooks().len() as u64),
        ("webhook requests", scenario.receiver.seen(hooks::ReceiverLog::requests)),
        ("deliveries accepted again", summary.duplicates),
        ("longest delivery delay in seconds", summary.max_delay),
        ("violations", harness.history.violations() as u64),
    ]);
    report::table(&lines)
}

pub fn spawn_faults(
    tasks: &mut JoinSet<anyhow::Result<()>>,
    harness: &Arc<Harness>,
    app: &Arc<App>,
    program: &Arc<Program>,
    arguments: &Arguments,
) {
    tasks.spawn(database::cut_connections(harness.clone(), app.clone()));
    match &arguments.restart_database {
        Some(command) => _ = tasks.spawn(database::restart_database(harness.clone(), command.clone())),
        None => log_line("the database is not crashed: --restart-database is not set"),
    }
    match (&arguments.small_disk, harness.nodes.last()) {
        (Some(disk), Some(node)) => _ = tasks.spawn(disk::fill(harness.clone(), disk.clone(), node.name.clone())),
        _ => log_line("no disk is filled: --small-disk is not set"),
    }
    tasks.spawn(disk::remove_caches(harness.clone()));
    tasks.spawn(maintenance::run(harness.clone(), program.clone()));
    tasks.spawn(projects::run(harness.clone()));
    merge_requests::spawn(tasks, harness, arguments);
}

/// How far in the future the final sweep runs: longer than an upload may take, shorter than the retention of events.
const SWEEP_OFFSET: TimeDelta = TimeDelta::days(2);

/// Runs the sweep with a clock that is two days ahead and without retention periods. Returns the unreferenced packs
/// that it should have deleted, but did not.
async fn sweep(installation: &Installation, app: &App) -> anyhow::Result<Vec<String>> {
    let mut settings = installation.settings.clone();
    let no_delay = TimeDelta::zero();
    settings.maintenance = MaintenanceSettings {
        ref_restore_period: no_delay,
        prune_after: no_delay,
        unreferenced_pack_retention: no_delay,
        ..settings.maintenance
    };
    let clock = Clock::system();
    let clock = Clock::new(move || clock.now() + SWEEP_OFFSET);
    let future_app = Arc::new(installation.build_app(settings, clock)?);
    // Unlock the jobs of killed nodes, such as the deletion of a project, so that they run now.
    audit::unlock_jobs(&mut *app.database.connection().await?).await?;
    holdfast_app::worker::run_once(&future_app).await?;
    let mut remaining = Vec::new();
    for _ in 0..10 {
        holdfast_app::worker::sweep_now(&future_app, &Actor::Operator).await?;
        remaining = audit::unreferenced_packs(&mut *app.database.connection().await?).await?;
        if remaining.is_empty() {
            break;
        }
    }
    future_app.database.close().await;
    Ok(remaining)
}
