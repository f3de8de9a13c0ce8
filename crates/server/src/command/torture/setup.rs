//! Before the first kill: an empty installation with somebody in it, nodes, and a few projects.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdfast_app::accounts::token::{self, CreateToken};
use holdfast_app::accounts::user::{self, UserChanges};
use holdfast_app::{Actor, App, Clock, Entropy};
use holdfast_domain::Field;
use holdfast_store::migrate::{self, State};
use holdfast_store::repository::audit;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio_util::sync::CancellationToken;

use super::client::MAIN;
use super::full::Faults;
use super::git::{Git, NewCommit};
use super::ledger::{Fate, Ledger};
use super::node::{Load, Node, Program};
use super::push::{Expected, Wish, push};
use super::rest::{Project, Rest};
use super::{Arguments, World};
use crate::configuration::Configuration;

/// Forks come later.
pub const PROJECTS: usize = 3;

pub async fn prepare(
    configuration: &Configuration,
    app: &App,
    arguments: &Arguments,
    seed: u64,
    directory: PathBuf,
    program: &Program,
) -> anyhow::Result<World> {
    refuse_used(configuration, app).await?;
    let username = format!("torture-{}", hex::encode(Entropy::system().bytes::<4>()));
    let token = sign_up(app, &username).await?;
    let git = Git {
        program: configuration.git.settings().program,
        authorization: format!("Basic {}", STANDARD.encode(format!("{username}:{token}"))),
    };
    // The seed decides what clients do. Which ports are free it cannot decide.
    let mut random = StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes()));
    let mut nodes = Vec::new();
    for number in 0..arguments.nodes {
        // Every other one makes room in its cache all the time.
        let cache_bytes = if number % 2 == 0 { 1 << 20 } else { 1 << 30 };
        let mut load =
            Load { workers: 1, cache_bytes, disk: None, is_calm: false, seed: seed.rotate_left(number.into()) };
        if number + 1 == arguments.nodes && arguments.small_disk.is_some() {
            load = Load { cache_bytes: 32 << 20, disk: arguments.small_disk.clone(), ..load };
        }
        let node = Node::new(program, format!("node-{number}"), &load, &mut random)?;
        node.start().await?;
        nodes.push(Arc::new(node));
    }
    let rest = Rest::new(token)?;
    // The user's own namespace has the user's name.
    let group = rest.create_group(&nodes[0], &format!("{username}-group")).await?;
    let origin = directory.join("origin.git");
    git.local(&directory, &["init", "--quiet", "--bare", &origin.to_string_lossy()], b"").await?;
    Ok(World {
        seed,
        nodes,
        ledger: Ledger::default(),
        git,
        rest,
        projects: Mutex::default(),
        group,
        origin,
        directory,
        faults: Faults::new(arguments.full),
        deleted: Mutex::default(),
        first_commits: Mutex::default(),
        over: CancellationToken::new(),
    })
}

/// What is tormented here is not to be used afterwards.
async fn refuse_used(configuration: &Configuration, app: &App) -> anyhow::Result<()> {
    let url = configuration.direct_url();
    let place = configuration.database_place();
    let is_used = match migrate::state(url).await.with_context(|| format!("{place} cannot be reached"))? {
        State::Ahead => bail!("the schema at {place} is newer than this program: name an empty database"),
        State::Current | State::Behind(_) => audit::has_projects(&mut *app.database.connection().await?).await?,
    };
    if is_used {
        bail!(
            "{place} has projects already, and this command may ruin them: name an empty database \
             (HOLDFAST__DATABASE__URL) and an empty storage (HOLDFAST__STORAGE__URL), or run dev/torture, which makes both"
        );
    }
    migrate::run(url, Clock::system().now().date_naive()).await?;
    Ok(())
}

async fn sign_up(app: &App, username: &str) -> anyhow::Result<String> {
    let changes = UserChanges {
        username: Field::Value(username.to_owned()),
        email: Field::Value(format!("{username}@example.com")),
        name: Field::Value("Torture".into()),
        password: Field::Value(hex::encode(Entropy::system().bytes::<12>())),
        admin: Some(true),
        ..UserChanges::default()
    };
    let user = user::create(app, &Actor::Operator, changes).await?;
    let input = CreateToken { name: "torture".into(), scopes: vec!["api".into()], expires_at: None };
    Ok(token::create_for(app, &Actor::Operator, user.id, input).await?.1)
}

pub async fn create_projects(world: &World) -> anyhow::Result<()> {
    for number in 0..PROJECTS {
        let project = create_project(world, number).await?;
        push_first(world, &project, number, 1).await?;
        world.projects().push(project);
    }
    Ok(())
}

pub async fn create_project(world: &World, number: usize) -> anyhow::Result<Project> {
    world.rest.create_project(&world.nodes[0], &world.group, &format!("project-{number}")).await
}

/// A branch of so many commits; gives them.
pub async fn push_first(world: &World, project: &Project, number: usize, count: usize) -> anyhow::Result<Vec<String>> {
    let mut commits: Vec<String> = Vec::new();
    for place in 0..count {
        let name = format!("project-{number}-{place}");
        let parent = commits.last().map(String::as_str);
        let new = NewCommit { name: &name, parent, file: "README", content: name.as_bytes() };
        commits.push(world.git.commit(&world.origin, &new).await?);
    }
    let tip = commits.last().context("nothing to push")?;
    world.git.local(&world.origin, &["update-ref", &format!("refs/origin/{number}"), tip], b"").await?;
    let wish = Wish { name: MAIN.into(), new: Some(tip.clone()), force: false, expected: Expected::Success };
    let fates = push(world, &world.origin, project, &world.nodes[0], &[wish], false).await?;
    if !matches!(fates[..], [Fate::Moved { .. }]) {
        bail!("the first push of all failed, before anything was killed");
    }
    Ok(commits)
}
