//! The second scenario: whether hooks are told all that happened, in order, though nodes are killed and receivers fail.

mod check;
mod pusher;
mod receipt;
mod receiver;
mod request;
mod wait;

use std::collections::HashMap;
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

use super::killer::{self, Habits, Moment};
use super::node::Settings;
use super::report::{say, table};
use super::{Arguments, World, node, setup};
use check::{duplicates, faults, happened, longest_delay, shared_ids, told};
use receipt::Hook;
use receiver::Receiver;
pub use receiver::Seen;
pub use wait::until_all_is_told;

/// What nodes need besides, so that they deliver to this machine, give up soon, and say the same of where they are.
pub fn settings() -> Settings {
    vec![
        ("HOLDFAST__HOOKS__ALLOWED_NETWORKS", "127.0.0.0/8".into()),
        ("HOLDFAST__HOOKS__TIMEOUT_SECONDS", "1".into()),
        ("HOLDFAST__SERVER__EXTERNAL_URL", "http://holdfast.example".into()),
    ]
}

const PROJECTS: usize = 6;
const HOOKS_OF_A_PROJECT: usize = 3;
/// Of the first branch of each project. All other refs are moved among them.
const COMMITS: usize = 8;
/// Less often than when pushes are tried: another node takes over a hook only after a while.
const KILLER_PAUSE: std::ops::Range<u64> = 500..15_000;

/// What all tasks share.
pub struct Scene {
    world: Arc<World>,
    pub receiver: Arc<Receiver>,
    /// By project.
    commits: HashMap<i64, Vec<String>>,
    pushes_left: AtomicU64,
}

impl Scene {
    /// Where others push.
    pub fn of_others(world: Arc<World>, hooks: Vec<Hook>) -> Self {
        let receiver = Arc::new(Receiver::new(hooks, world.seed));
        Self { world, receiver, commits: HashMap::new(), pushes_left: AtomicU64::new(0) }
    }

    fn take_push(&self) -> bool {
        self.pushes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

pub async fn torture(world: &Arc<World>, app: &Arc<App>, arguments: &Arguments) -> anyhow::Result<()> {
    let began = Instant::now();
    let address = node::free_address(&mut StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes())))?;
    let hooks = create_hooks(world, address).await?;
    let receiver = Arc::new(Receiver::new(hooks, world.seed));
    let mut commits = HashMap::new();
    let projects = world.projects().clone();
    for (number, project) in projects.iter().enumerate() {
        commits.insert(project.id, setup::push_first(world, project, number, COMMITS).await?);
    }
    let pushes_left = AtomicU64::new(arguments.pushes);
    let scene = Arc::new(Scene { world: world.clone(), receiver: receiver.clone(), commits, pushes_left });
    tokio::select! {
        failed = receiver.run(address) => match failed? {},
        done = torment_and_wait(&scene, app, arguments) => done?,
    }
    super::check::stop(world, app).await?;
    super::check::check_rows(world, app).await?;
    check(&scene, app, began.elapsed()).await
}

/// Before the first push, so that each is told of all pushes.
async fn create_hooks(world: &World, address: SocketAddr) -> anyhow::Result<Vec<Hook>> {
    let mut hooks: Vec<Hook> = Vec::new();
    for number in 0..PROJECTS {
        let project = setup::create_project(world, number).await?;
        for place in 0..HOOKS_OF_A_PROJECT {
            hooks.push(create_hook(world, address, hooks.len(), Some(project.id), place == 1).await?);
        }
        world.projects().push(project);
    }
    hooks.push(create_hook(world, address, hooks.len(), None, false).await?);
    Ok(hooks)
}

pub async fn create_hook(
    world: &World,
    address: SocketAddr,
    number: usize,
    project: Option<i64>,
    tags: bool,
) -> anyhow::Result<Hook> {
    let secret = Entropy::system().bytes::<24>();
    // Some of both kinds.
    let is_plain = project.is_none() || number.is_multiple_of(HOOKS_OF_A_PROJECT);
    let token = if is_plain { hex::encode(secret) } else { format!("whsec_{}", STANDARD.encode(secret)) };
    let url = format!("http://{address}/{number}");
    let tag_push_events = if tags { "true" } else { "false" };
    let fields =
        [("url", url.as_str()), ("token", &token), ("push_events", "true"), ("tag_push_events", tag_push_events)];
    let id = world.rest.create_hook(&world.nodes[0], project, &fields).await?.id;
    Ok(Hook { id, project, token, tags })
}

async fn torment_and_wait(scene: &Arc<Scene>, app: &Arc<App>, arguments: &Arguments) -> anyhow::Result<()> {
    let world = &scene.world;
    let mut torment = JoinSet::new();
    let moments = vec![Moment::Delivering(scene.receiver.request.clone()), Moment::Committed, Moment::Any];
    torment.spawn(killer::run(world.clone(), app.clone(), Habits { pause: KILLER_PAUSE, moments }));
    torment.spawn(progress(scene.clone()));
    let mut clients = JoinSet::new();
    for number in 0..arguments.clients {
        clients.spawn(pusher::run(scene.clone(), number));
    }
    let end = tokio::time::Instant::now() + Duration::from_secs(arguments.seconds);
    let all_is_pushed = async {
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        tokio::time::sleep_until(end).await;
        anyhow::Ok(())
    };
    let first = tokio::select! {
        pushed = all_is_pushed => pushed,
        Some(ended) = torment.join_next() => ended?,
    };
    world.over.cancel();
    first?;
    while let Some(ended) = torment.join_next().await {
        ended??;
    }
    say("all is pushed and no node is killed any more; waiting until all is delivered");
    until_all_is_told(scene, app).await
}

async fn progress(scene: Arc<Scene>) -> anyhow::Result<()> {
    let mut seconds = 0;
    while scene.world.pause(Duration::from_secs(5)).await {
        seconds += 5;
        let counts = scene.world.ledger.counts();
        let (requests, accepted, outages) =
            scene.receiver.seen(|seen| (seen.requests(), seen.accepted(), seen.outages));
        say(&format!(
            "{seconds:>4} s: {} pushes acknowledged, {} unknown, {} kills, {requests} requests of hooks, {accepted} \
             accepted, {outages} outages, {} violations",
            counts.acknowledged,
            counts.unknown,
            counts.kills,
            scene.world.ledger.violations(),
        ));
    }
    Ok(())
}

/// Of one hook; more would bury those of others.
const MOST_FAULTS: usize = 5;

async fn check(scene: &Scene, app: &App, took: Duration) -> anyhow::Result<()> {
    let told = find_faults(scene, app).await?;
    report(scene, took, &told)
}

/// How hooks were told, where there was nothing wrong with it.
pub struct Telling {
    /// The longest, in seconds.
    pub delay: u64,
    pub repeated: u64,
}

pub async fn find_faults(scene: &Scene, app: &App) -> anyhow::Result<Telling> {
    let world = &scene.world;
    let log = audit::log(&mut *app.database.connection().await?).await?;
    let seen = scene.receiver.seen(Seen::clone);
    let violate = |text: String| world.ledger.violate(format!("seed {}: {text}", world.seed));
    let (mut delay, mut repeated) = (chrono::TimeDelta::zero(), 0);
    for (number, (hook, history)) in scene.receiver.hooks().iter().zip(&seen.histories).enumerate() {
        let happened = happened(hook, &log);
        let found = faults(history, &happened);
        for text in found.iter().take(MOST_FAULTS) {
            violate(format!("hook {number} (id {}, project {:?}): {text}", hook.id, hook.project));
        }
        if let Some(more @ 1..) = found.len().checked_sub(MOST_FAULTS) {
            violate(format!("hook {number} (id {}, project {:?}): {more} more", hook.id, hook.project));
        }
        delay = delay.max(longest_delay(&happened, &told(history)));
        repeated += duplicates(history);
    }
    shared_ids(&seen.histories).into_iter().chain(seen.strange.iter().cloned()).for_each(violate);
    Ok(Telling { delay: delay.num_seconds().unsigned_abs(), repeated: repeated as u64 })
}

fn report(scene: &Scene, took: Duration, told: &Telling) -> anyhow::Result<()> {
    let seen = scene.receiver.seen(Seen::clone);
    let counts = scene.world.ledger.counts();
    let mut lines = vec![
        ("seed", scene.world.seed),
        ("seconds, with setting up and checking", took.as_secs()),
        ("nodes", scene.world.nodes.len() as u64),
        ("hooks", scene.receiver.hooks().len() as u64),
        ("pushes acknowledged", counts.acknowledged),
        ("ref changes acknowledged", counts.moved),
        ("pushes of unknown outcome", counts.unknown),
        ("ref changes made without the client's hearing of it", counts.silent),
        ("pushes refused as expected, in part or whole", counts.refused),
        ("kills", counts.kills),
        ("outages of the receiver", seen.outages),
        ("requests of hooks", seen.requests()),
    ];
    lines.extend(seen.moods.iter().map(|(mood, count)| (mood.name(), *count)));
    lines.extend([
        ("deliveries", seen.accepted() - told.repeated),
        ("accepted again", told.repeated),
        ("longest delay in seconds", told.delay),
        ("violations", scene.world.ledger.violations() as u64),
    ]);
    table(&lines)
}
