//! Sets up a test: checks that the installation is empty, and creates an administrator, nodes and projects.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdfast_app::accounts::token::{self, CreateToken};
use holdfast_app::accounts::user::{self, UserChanges};
use holdfast_app::{Actor, App, Clock, Entropy};
use holdfast_domain::Field;
use holdfast_store::migrate::{self, SchemaState};
use holdfast_store::repository::audit;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio_util::sync::CancellationToken;

use super::faults::Faults;
use super::git::{Git, MAIN, NewCommit};
use super::history::{PushHistory, UpdateOutcome};
use super::merge_history::MergeHistory;
use super::node::{Node, NodeOptions, Program};
use super::push::{Expected, RefUpdate, push};
use super::rest::{Project, RestClient};
use super::{Arguments, Harness, Installation};

/// Number of projects at the start, without forks.
pub const PROJECTS: usize = 3;

pub async fn prepare(
    installation: &Installation,
    app: &App,
    arguments: &Arguments,
    seed: u64,
    directory: PathBuf,
    program: &Program,
) -> anyhow::Result<Harness> {
    ensure_empty(installation, app).await?;
    let username = format!("torture-{}", hex::encode(Entropy::system().bytes::<4>()));
    let token = create_admin(app, &username).await?;
    let git = Git {
        program: installation.settings.git.program.clone(),
        authorization: format!("Basic {}", STANDARD.encode(format!("{username}:{token}"))),
    };
    // Ports do not depend on the seed, because other programs may use them.
    let mut random = StdRng::seed_from_u64(u64::from_le_bytes(Entropy::system().bytes()));
    let mut nodes = Vec::new();
    for number in 0..arguments.nodes {
        // Every other node has a small cache, so that it evicts constantly.
        let cache_bytes = if number % 2 == 0 { 1 << 20 } else { 1 << 30 };
        let mut load = NodeOptions {
            workers: 1,
            cache_bytes,
            disk: None,
            is_fault_free: false,
            seed: seed.rotate_left(number.into()),
        };
        if number + 1 == arguments.nodes && arguments.small_disk.is_some() {
            load = NodeOptions { cache_bytes: 32 << 20, disk: arguments.small_disk.clone(), ..load };
        }
        let node = Node::new(program, format!("node-{number}"), &load, &mut random)?;
        node.start().await?;
        nodes.push(Arc::new(node));
    }
    let rest = RestClient::new(token)?;
    // The user's personal namespace already has the plain username.
    let group = rest.create_group(&nodes[0], &format!("{username}-group")).await?;
    let origin = directory.join("origin.git");
    git.run_local(&directory, &["init", "--quiet", "--bare", &origin.to_string_lossy()], b"").await?;
    Ok(Harness {
        seed,
        nodes,
        history: PushHistory::default(),
        merges: MergeHistory::default(),
        git,
        rest,
        projects: Mutex::default(),
        group,
        origin,
        directory,
        faults: Faults::new(arguments.full),
        deleted: Mutex::default(),
        first_commits: Mutex::default(),
        finished: CancellationToken::new(),
    })
}

/// Fails if the installation has projects, because the test may destroy data. Applies missing migrations.
async fn ensure_empty(installation: &Installation, app: &App) -> anyhow::Result<()> {
    let (url, location) = (&installation.direct_url, &installation.database_location);
    let is_used = match migrate::state(url).await.with_context(|| format!("{location} cannot be reached"))? {
        SchemaState::Ahead => bail!(
            "the schema at {location} is newer than this version of holdfast: set database.url to an empty database"
        ),
        SchemaState::Current | SchemaState::Behind(_) => {
            audit::has_projects(&mut *app.database.connection().await?).await?
        }
    };
    if is_used {
        bail!(
            "{location} contains projects, which this command may destroy: set an empty database \
             (HOLDFAST__DATABASE__URL) and an empty storage (HOLDFAST__STORAGE__URL), or run dev/torture"
        );
    }
    migrate::run(url, Clock::system().now().date_naive()).await?;
    Ok(())
}

async fn create_admin(app: &App, username: &str) -> anyhow::Result<String> {
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
    Ok(token::create_for_user(app, &Actor::Operator, user.id, input).await?.1)
}

pub async fn create_projects(harness: &Harness) -> anyhow::Result<()> {
    for number in 0..PROJECTS {
        let project = create_project(harness, number).await?;
        push_first(harness, &project, number, 1).await?;
        harness.projects().push(project);
    }
    Ok(())
}

pub async fn create_project(harness: &Harness, number: usize) -> anyhow::Result<Project> {
    harness.rest.create_project(&harness.nodes[0], &harness.group, &format!("project-{number}")).await
}

/// Pushes the default branch with `count` commits, and returns them.
pub async fn push_first(
    harness: &Harness,
    project: &Project,
    number: usize,
    count: usize,
) -> anyhow::Result<Vec<String>> {
    let mut commits: Vec<String> = Vec::new();
    for index in 0..count {
        let name = format!("project-{number}-{index}");
        let parent = commits.last().map(String::as_str);
        let new = NewCommit { name: &name, parent, file: "README", content: name.as_bytes() };
        commits.push(harness.git.commit(&harness.origin, &new).await?);
    }
    let tip = commits.last().context("nothing to push")?;
    harness.git.run_local(&harness.origin, &["update-ref", &format!("refs/origin/{number}"), tip], b"").await?;
    let update = RefUpdate { name: MAIN.into(), new: Some(tip.clone()), is_forced: false, expected: Expected::Success };
    let outcomes = push(harness, &harness.origin, project, &harness.nodes[0], &[update], false).await?;
    if !matches!(outcomes[..], [UpdateOutcome::Updated { .. }]) {
        bail!("the first push failed before any node was killed");
    }
    Ok(commits)
}
