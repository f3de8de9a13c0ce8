//! The test kit: a whole server on a free port with a database of its own, a clock that stands still and randomness
//! that repeats, so that bodies can be compared as they are.

mod client;
pub mod database;
mod dice;
mod git;
pub mod log;
mod receiver;
pub mod ssh;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_app::accounts::token::{self, CreateToken};
use holdfast_app::accounts::user::{self, UserChanges};
use holdfast_app::ci::{CiSettings, tending};
use holdfast_app::hooks::HookSettings;
use holdfast_app::repository::engine::{GitSettings, PackLimits};
use holdfast_app::repository::maintenance::MaintenanceSettings;
use holdfast_app::{Actor, App, Clock, Entropy, SealingKey, Settings};
use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use holdfast_http::{Connections, Limits, Site};
use holdfast_store::{Database, Objects, Options, objects};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use client::{Answer, Client};
pub use dice::Dice;
pub use git::{Outcome, WorkTree, programs};
pub use receiver::{Received, Receiver};

/// The time at which every test begins.
pub const BEGINNING: &str = "2026-01-02T03:04:05.678Z";
pub const PASSWORD: &str = "correct horse battery";

/// A server of its own for one test. It ends with the test's runtime.
pub struct Server {
    pub app: Arc<App>,
    pub base: String,
    /// Of the user `root`, an administrator with id 1; its token may act as others.
    pub admin: Client,
    database_url: String,
    now: Arc<Mutex<DateTime<Utc>>>,
    /// Where objects are, unless they are in a bucket.
    pub directory: TempDir,
    /// This node's copies of repositories.
    pub cache: TempDir,
    clock: Clock,
    objects: objects::Options,
    nodes: AtomicU64,
}

/// What a test may set differently.
pub struct Setup {
    pub settings: Settings,
    pub limits: Limits,
    /// None is a directory of its own.
    pub objects: Option<objects::Options>,
    /// Where this node's copies are, in a directory of their own; None is wherever there is room.
    pub cache_in: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings {
                projects_limit: 100,
                can_create_group: true,
                session_days: 30,
                sign_ins_per_minute: 0,
                git: GitSettings {
                    program: "git".into(),
                    cache_directory: "/nonexistent".into(),
                    cache_max_bytes: 1 << 30,
                    pack_limits: PackLimits {
                        max_pack_bytes: 100 << 20,
                        max_object_bytes: 100 << 20,
                        max_inflated_bytes: 8 << 30,
                    },
                    max_refs: 100_000,
                    max_memory_bytes: 1 << 30,
                    max_fetches: 16,
                    max_fetches_per_repository: 8,
                    max_pushes: 16,
                    inline_pack_bytes: 64 << 10,
                    compact_at: 20,
                    bundle_from_bytes: 64 << 20,
                    request_timeout: Duration::from_secs(60),
                },
                maintenance: MaintenanceSettings {
                    undo: TimeDelta::days(30),
                    prune_after: TimeDelta::days(14),
                    backup_window: TimeDelta::days(14),
                },
                import_networks: Vec::new(),
                // Bodies name the same host in every run; the client dials the real one.
                site: Site::new(&"http://holdfast.test".parse().expect("a url"), 22),
                hooks: HookSettings {
                    allowed_networks: vec!["127.0.0.0/8".parse().expect("a network")],
                    concurrency: 16,
                    timeout: Duration::from_secs(20),
                    kept: TimeDelta::days(30),
                },
                ci: CiSettings {
                    build_timeout: TimeDelta::hours(1),
                    silent_after: TimeDelta::hours(1),
                    longest_wait: Duration::from_secs(20),
                    max_trace_bytes: 16 << 20,
                    max_artifact_bytes: 16 << 20,
                },
                sealing_key: Some(SealingKey::new([7; 32])),
            },
            limits: Limits {
                max_body_bytes: 1 << 20,
                max_upload_bytes: 10 << 20,
                request_timeout: Duration::from_secs(30),
                requests_per_minute: 0,
                anonymous_requests_per_minute: 0,
                trusted_proxies: Vec::new(),
                max_connections: 1000,
                max_connections_per_address: 1000,
                head_timeout: Duration::from_secs(15),
                stall_timeout: Duration::from_secs(60),
            },
            objects: None,
            cache_in: None,
        }
    }
}

impl Server {
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub async fn with(setup: Setup) -> Self {
        log::capture();
        let database_url = database::create().await;
        let database = Database::new(&options(&database_url)).expect("a valid url");
        let now = Arc::new(Mutex::new(BEGINNING.parse().expect("a timestamp")));
        let clock = Clock::new({
            let now = now.clone();
            move || *now.lock().expect("no test panics while holding it")
        });
        let directory = tempfile::tempdir().expect("a directory");
        let cache = setup.cache_in.map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a directory");
        let objects = setup.objects.unwrap_or(objects::Options::Directory(directory.path().to_owned()));
        let mut settings = setup.settings;
        settings.git.cache_directory = cache.path().to_owned();
        let app =
            Arc::new(App::new(database, Objects::new(objects.clone()), settings, clock.clone(), Entropy::seeded(1)));
        let base = format!("http://{}", serve(app.clone(), setup.limits).await);

        let anonymous = Client::new(&base, None);
        let nodes = AtomicU64::default();
        let mut server =
            Self { app, base, admin: anonymous, database_url, now, directory, cache, clock, objects, nodes };
        let changes = UserChanges { admin: Some(true), ..named("root") };
        let root = user::create(&server.app, &Actor::Operator, changes).await.expect("the first user");
        let secret = server.token(root.id, &["api", "sudo"]).await;
        server.admin = Client::new(&server.base, Some(&secret));
        server
    }

    /// Host and port.
    pub fn address(&self) -> String {
        self.base.trim_start_matches("http://").to_owned()
    }

    /// A second node on the same database and object store, with an empty cache; its host and port.
    pub async fn another_node(&self) -> String {
        self.another_node_in(self.cache.path()).await
    }

    /// The same, with its cache on another disk.
    pub async fn another_node_in(&self, directory: &Path) -> String {
        serve(self.another_app_in(directory), Setup::default().limits).await
    }

    pub fn another_app(&self) -> Arc<App> {
        self.another_app_in(self.cache.path())
    }

    /// Starts a node that reaches the database through this address, and returns its host and port and its SSH server.
    pub async fn another_node_through(&self, address: &str) -> (String, ssh::Ssh) {
        let mut url: url::Url = self.database_url.parse().expect("a valid url");
        let address: SocketAddr = address.parse().expect("an address with a port");
        url.set_ip_host(address.ip())
            .and(url.set_port(Some(address.port())))
            .expect("the url of a database has a host");
        let app = self.another_app_of(url.as_str(), self.cache.path());
        (serve(app.clone(), Setup::default().limits).await, ssh::Ssh::of(app, |_| {}))
    }

    fn another_app_in(&self, directory: &Path) -> Arc<App> {
        self.another_app_of(&self.database_url, directory)
    }

    /// Starts a node whose clock is another one, and returns its host and port.
    pub async fn another_node_with_clock(&self, clock: Clock) -> String {
        let app = self.another_app_with(&self.database_url, self.cache.path(), clock);
        serve(app, Setup::default().limits).await
    }

    fn another_app_of(&self, database_url: &str, directory: &Path) -> Arc<App> {
        self.another_app_with(database_url, directory, self.clock.clone())
    }

    fn another_app_with(&self, database_url: &str, directory: &Path, clock: Clock) -> Arc<App> {
        let database = Database::new(&options(database_url)).expect("a valid url");
        let mut settings = self.app.settings.clone();
        let number = self.nodes.fetch_add(1, Ordering::Relaxed);
        settings.git.cache_directory = directory.join(format!("node-{number}"));
        let objects = Objects::new(self.objects.clone());
        Arc::new(App::new(database, objects, settings, clock, Entropy::seeded(100 + number)))
    }

    pub fn anonymous(&self) -> Client {
        Client::new(&self.base, None)
    }

    pub fn with_token(&self, token: &str) -> Client {
        Client::new(&self.base, Some(token))
    }

    /// An ordinary user and its client.
    pub async fn user(&self, username: &str) -> (UserId, Client) {
        self.user_with(named(username)).await
    }

    pub async fn user_with(&self, changes: UserChanges) -> (UserId, Client) {
        let user = user::create(&self.app, &Actor::Operator, changes).await.expect("a valid user");
        let secret = self.token(user.id, &["api"]).await;
        (user.id, Client::new(&self.base, Some(&secret)))
    }

    pub async fn token(&self, user: UserId, scopes: &[&str]) -> String {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let input = CreateToken { name: "test".into(), scopes, expires_at: None };
        token::create_for(&self.app, &Actor::Operator, user, input).await.expect("a valid token").1
    }

    /// A group owned by whoever asks.
    pub async fn group(&self, owner: &Client, path: &str, visibility: i64) -> i64 {
        let form = [("name", path), ("path", path), ("visibility_level", &visibility.to_string())];
        let group = owner.post("/groups", &form).await;
        assert_eq!(group.status, 201, "{}", group.body);
        group.body["id"].as_i64().expect("an id")
    }

    /// A project of whoever asks, in its own namespace.
    pub async fn project(&self, owner: &Client, path: &str, visibility: i64) -> i64 {
        self.project_in(owner, path, visibility, None).await
    }

    pub async fn project_in(&self, owner: &Client, path: &str, visibility: i64, namespace: Option<i64>) -> i64 {
        let (level, namespace) = (visibility.to_string(), namespace.map(|id| id.to_string()).unwrap_or_default());
        let form = [("name", path), ("path", path), ("visibility_level", &level), ("namespace_id", &namespace)];
        let project = owner.post("/projects", &form).await;
        assert_eq!(project.status, 201, "{}", project.body);
        project.body["id"].as_i64().expect("an id")
    }

    /// Does the jobs that are due.
    pub async fn work(&self) {
        holdfast_app::worker::run_once(&self.app).await.expect("a worker");
    }

    /// Gives builds up that nobody does.
    pub async fn tend(&self) {
        tending::tend(&self.app).await.expect("builds are tended");
    }

    /// What is done once a day for builds.
    pub async fn sweep(&self) {
        tending::sweep(&self.app).await.expect("what is wanted no more goes");
    }

    /// Tells hooks what is to be told now.
    pub async fn deliver(&self) {
        holdfast_app::hooks::sending::settle(&self.app).await.expect("hooks are told");
    }

    pub fn advance(&self, by: TimeDelta) {
        *self.now.lock().expect("no test panics while holding it") += by;
    }

    /// A connection for what no endpoint does, such as filling tables.
    pub async fn database(&self) -> sqlx::PgConnection {
        use sqlx::Connection;
        sqlx::PgConnection::connect(&self.database_url).await.expect("the test database")
    }

    /// Lets a day pass since this migration was applied: no node of the version before it runs any more.
    pub async fn end_upgrade(&self, migration: i64) {
        let statement = "update _sqlx_migrations set installed_on = now() - interval '25 hours' where version = $1";
        let updated = sqlx::query(statement).bind(migration).execute(&mut self.database().await).await;
        assert_eq!(updated.expect("the test database").rows_affected(), 1, "there is no migration {migration}");
    }

    /// Everything the instance keeps, for tests that nothing else changed.
    pub async fn contents(&self) -> Value {
        database::contents(&mut self.database().await).await
    }
}

fn options(url: &str) -> Options {
    Options {
        url: url.to_owned(),
        max_connections: 5,
        acquire_timeout: Duration::from_secs(120),
        statement_timeout: Duration::from_secs(120),
    }
}

/// On a free port; its address.
async fn serve(app: Arc<App>, limits: Limits) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let router = holdfast_http::router(app, limits.clone());
    let connections = Connections::new("http", router, &limits);
    tokio::spawn(async move {
        loop {
            let (socket, peer) = listener.accept().await.expect("a connection can be accepted");
            if let Some(serving) = connections.accept(socket, peer, CancellationToken::new(), Duration::ZERO) {
                tokio::spawn(serving);
            }
        }
    });
    address
}

/// A user with nothing special about it.
pub fn named(username: &str) -> UserChanges {
    UserChanges {
        username: Field::Value(username.into()),
        email: Field::Value(format!("{username}@example.com")),
        name: Field::Value(format!("User {username}")),
        password: Field::Value(PASSWORD.into()),
        ..UserChanges::default()
    }
}
