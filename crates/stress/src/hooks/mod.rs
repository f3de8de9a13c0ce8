//! The stress test of webhooks (`--hooks`): every hook must receive all events in order, although nodes are killed and
//! the receiver fails.

mod check;
mod pusher;
mod received_delivery;
mod receiver;
mod request;
mod wait;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdfast_app::{App, Entropy};
use holdfast_store::repository::audit;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use super::killer::{self, KillPoint, KillSchedule};
use super::node::Settings;
use super::report::{log_line, table};
use super::{Arguments, Harness, node, setup};
use check::ReceiverEvent;
use check::{count_duplicates, delivered_history, expected_history, find_shared_ids, find_violations, max_delay};
pub use received_delivery::HookEvents;
use received_delivery::{Hook, ReceivedDelivery};
use receiver::Receiver;
pub use receiver::ReceiverLog;
pub use wait::wait_for_deliveries;

/// Returns settings for nodes: deliveries to loopback addresses are allowed and time out early, and all nodes have the
/// same external URL, so that payloads do not depend on the node.
pub fn settings() -> Settings {
    vec![
        ("HOLDFAST__HOOKS__ALLOWED_NETWORKS", "127.0.0.0/8".into()),
        ("HOLDFAST__HOOKS__TIMEOUT_SECONDS", "1".into()),
        ("HOLDFAST__SERVER__EXTERNAL_URL", "http://holdfast.example".into()),
    ]
}

const PROJECTS: usize = 6;
const HOOKS_PER_PROJECT: usize = 3;
/// Number of commits of the default branch of each project. All other refs are updated among them.
const COMMITS: usize = 8;
/// Range of milliseconds between two kills. Longer than in the test of pushes, because another node takes over a hook
/// only when its lease has expired.
const KILL_INTERVAL_MILLIS: std::ops::Range<u64> = 500..15_000;

/// The state that all tasks of this test share.
pub struct HookScenario {
    harness: Arc<Harness>,
    pub receiver: Arc<Receiver>,
    /// Initial commits by project.
    commits: HashMap<i64, Vec<String>>,
    pushes_left: AtomicU64,
}

impl HookScenario {
    /// Creates a scenario in which other tasks push.
    pub fn for_external_pushes(harness: Arc<Harness>, hooks: Vec<Hook>) -> Self {
        let receiver = Arc::new(Receiver::new(hooks, harness.seed));
        Self { harness, receiver, commits: HashMap::new(), pushes_left: AtomicU64::new(0) }
    }

    /// Returns how many deliveries about the merge of each merge request were accepted, by project. Repeated deliveries
    /// count once. Projects without a hook for merge requests are left out.
    pub fn count_merge_events(&self) -> HashMap<i64, HashMap<i64, usize>> {
        let histories = self.receiver.seen(|seen| seen.histories.clone());
        let mut counts: HashMap<i64, HashMap<i64, usize>> = HashMap::new();
        for (hook, history) in self.receiver.hooks().iter().zip(&histories) {
            let Some(project) = hook.project.filter(|_| hook.events == HookEvents::MergeRequests) else { continue };
            let events = counts.entry(project).or_default();
            let mut counted = HashSet::new();
            for event in history {
                if let ReceiverEvent::Received(ReceivedDelivery { sequence, merged_request: Some(request), .. }) = event
                    && counted.insert(*sequence)
                {
                    *events.entry(*request).or_default() += 1;
                }
            }
        }
        counts
    }

    fn claim_push(&self) -> bool {
        self.pushes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

pub async fn torture(harness: &Arc<Harness>, app: &Arc<App>, arguments: &Arguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let address = node::free_address(&mut StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes())))?;
    let hooks = create_hooks(harness, address).await?;
    let receiver = Arc::new(Receiver::new(hooks, harness.seed));
    let mut commits = HashMap::new();
    let projects = harness.projects().clone();
    for (number, project) in projects.iter().enumerate() {
        commits.insert(project.id, setup::push_first(harness, project, number, COMMITS).await?);
    }
    let pushes_left = AtomicU64::new(arguments.pushes);
    let scenario =
        Arc::new(HookScenario { harness: harness.clone(), receiver: receiver.clone(), commits, pushes_left });
    tokio::select! {
        failed = receiver.run(address) => match failed? {},
        done = run_and_wait(&scenario, app, arguments) => done?,
    }
    super::check::stop_nodes(harness, app).await?;
    super::check::check_rows(harness, app).await?;
    check(&scenario, app, started.elapsed()).await
}

/// Creates projects and hooks before the first push, so that each hook receives all events.
async fn create_hooks(harness: &Harness, address: SocketAddr) -> anyhow::Result<Vec<Hook>> {
    let mut hooks: Vec<Hook> = Vec::new();
    for number in 0..PROJECTS {
        let project = setup::create_project(harness, number).await?;
        for index in 0..HOOKS_PER_PROJECT {
            let events = if index == 1 { HookEvents::BranchesAndTags } else { HookEvents::Branches };
            hooks.push(create_hook(harness, address, hooks.len(), Some(project.id), events).await?);
        }
        harness.projects().push(project);
    }
    hooks.push(create_hook(harness, address, hooks.len(), None, HookEvents::Branches).await?);
    Ok(hooks)
}

pub async fn create_hook(
    harness: &Harness,
    address: SocketAddr,
    number: usize,
    project: Option<i64>,
    events: HookEvents,
) -> anyhow::Result<Hook> {
    let secret = Entropy::system().bytes::<24>();
    // Both kinds of secrets are tested: plain tokens, and Standard Webhooks secrets.
    let is_plain = project.is_none() || number.is_multiple_of(HOOKS_PER_PROJECT);
    let token = if is_plain { hex::encode(secret) } else { format!("whsec_{}", STANDARD.encode(secret)) };
    let url = format!("http://{address}/{number}");
    let flag = |is_set: bool| if is_set { "true" } else { "false" };
    let fields = [
        ("url", url.as_str()),
        ("token", &token),
        ("push_events", flag(events != HookEvents::MergeRequests)),
        ("tag_push_events", flag(events == HookEvents::BranchesAndTags)),
        ("merge_requests_events", flag(events == HookEvents::MergeRequests)),
    ];
    let id = harness.rest.create_hook(&harness.nodes[0], project, &fields).await?.id;
    Ok(Hook { id, project, token, events })
}

async fn run_and_wait(scenario: &Arc<HookScenario>, app: &Arc<App>, arguments: &Arguments) -> anyhow::Result<()> {
    let harness = &scenario.harness;
    let mut tasks = JoinSet::new();
    let points = vec![KillPoint::Delivering(scenario.receiver.request.clone()), KillPoint::Committed, KillPoint::Any];
    tasks.spawn(killer::run(
        harness.clone(),
        app.clone(),
        KillSchedule { interval_millis: KILL_INTERVAL_MILLIS, points },
    ));
    tasks.spawn(print_progress(scenario.clone()));
    let mut clients = JoinSet::new();
    for number in 0..arguments.clients {
        clients.spawn(pusher::run(scenario.clone(), number));
    }
    let end = tokio::time::Instant::now() + Duration::from_secs(arguments.seconds);
    let pushing = async {
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        tokio::time::sleep_until(end).await;
        anyhow::Ok(())
    };
    let first = tokio::select! {
        pushed = pushing => pushed,
        Some(ended) = tasks.join_next() => ended?,
    };
    harness.finished.cancel();
    first?;
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    log_line("all pushes are done and no more nodes are killed; waiting for all deliveries");
    wait_for_deliveries(scenario, app).await
}

async fn print_progress(scenario: Arc<HookScenario>) -> anyhow::Result<()> {
    let mut seconds = 0;
    while scenario.harness.pause(Duration::from_secs(5)).await {
        seconds += 5;
        let counts = scenario.harness.history.counts();
        let (requests, accepted, outages) =
            scenario.receiver.seen(|seen| (seen.requests(), seen.accepted(), seen.outages));
        log_line(&format!(
            "{seconds:>4} s: {} pushes acknowledged, {} unknown, {} kills, {requests} webhook requests, {accepted} \
             accepted, {outages} outages, {} violations",
            counts.acknowledged,
            counts.unknown,
            counts.kills,
            scenario.harness.history.violations(),
        ));
    }
    Ok(())
}

/// Maximum number of violations that are reported for one hook, so that those of other hooks are still found.
const MAX_REPORTED_FAULTS: usize = 5;

async fn check(scenario: &HookScenario, app: &App, elapsed: Duration) -> anyhow::Result<()> {
    let summary = find_faults(scenario, app).await?;
    print_report(scenario, elapsed, &summary)
}

/// Figures about deliveries that are not violations.
pub struct DeliverySummary {
    /// Longest time from a ref update to its accepted delivery, in seconds.
    pub max_delay: u64,
    pub duplicates: u64,
}

pub async fn find_faults(scenario: &HookScenario, app: &App) -> anyhow::Result<DeliverySummary> {
    let harness = &scenario.harness;
    let log = audit::list_log(&mut *app.database.connection().await?).await?;
    let received = scenario.receiver.seen(ReceiverLog::clone);
    let violate = |text: String| harness.history.report_violation(format!("seed {}: {text}", harness.seed));
    let (mut delay, mut duplicate_count) = (chrono::TimeDelta::zero(), 0);
    for (number, (hook, history)) in scenario.receiver.hooks().iter().zip(&received.histories).enumerate() {
        let expected = expected_history(hook, &log);
        let found = find_violations(history, &expected);
        for text in found.iter().take(MAX_REPORTED_FAULTS) {
            violate(format!("hook {number} (id {}, project {:?}): {text}", hook.id, hook.project));
        }
        if let Some(more @ 1..) = found.len().checked_sub(MAX_REPORTED_FAULTS) {
            violate(format!("hook {number} (id {}, project {:?}): {more} more", hook.id, hook.project));
        }
        delay = delay.max(max_delay(&expected, &delivered_history(history)));
        duplicate_count += count_duplicates(history);
    }
    find_shared_ids(&received.histories).into_iter().chain(received.unexpected.iter().cloned()).for_each(violate);
    Ok(DeliverySummary { max_delay: delay.num_seconds().unsigned_abs(), duplicates: duplicate_count as u64 })
}

fn print_report(scenario: &HookScenario, elapsed: Duration, summary: &DeliverySummary) -> anyhow::Result<()> {
    let log = scenario.receiver.seen(ReceiverLog::clone);
    let counts = scenario.harness.history.counts();
    let mut lines = vec![
        ("seed", scenario.harness.seed),
        ("seconds, including setup and checks", elapsed.as_secs()),
        ("nodes", scenario.harness.nodes.len() as u64),
        ("hooks", scenario.receiver.hooks().len() as u64),
        ("pushes acknowledged", counts.acknowledged),
        ("ref updates acknowledged", counts.updated_refs),
        ("pushes with unknown outcome", counts.unknown),
        ("ref updates applied without a response to the client", counts.unacknowledged_updates),
        ("pushes rejected as expected, partly or completely", counts.rejected),
        ("kills", counts.kills),
        ("outages of the receiver", log.outages),
        ("webhook requests", log.requests()),
    ];
    lines.extend(log.behaviors.iter().map(|(mood, count)| (mood.label(), *count)));
    lines.extend([
        ("deliveries", log.accepted() - summary.duplicates),
        ("deliveries accepted again", summary.duplicates),
        ("longest delivery delay in seconds", summary.max_delay),
        ("violations", scenario.harness.history.violations() as u64),
    ]);
    table(&lines)
}
