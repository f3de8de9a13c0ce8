//! The test kit: starts a server on a free port with a database of its own.
//!
//! The clock stands still and random numbers are seeded, so that whole response bodies can be compared.

mod browser;
mod client;
pub mod database;
mod git;
pub mod log;
mod receiver;
mod rng;
pub mod ssh;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use holdfast_app::accounts::token::{self, CreateToken};
use holdfast_app::accounts::user::{self, UserChanges};
use holdfast_app::ci::{CiSettings, retention, stale_builds};
use holdfast_app::hooks::HookSettings;
use holdfast_app::instance::configuration::{EffectiveSetting, SettingSource, SettingValue};
use holdfast_app::repository::git_runtime::{GitSettings, PackLimits};
use holdfast_app::repository::maintenance::MaintenanceSettings;
use holdfast_app::{Actor, App, Clock, EncryptionKey, Entropy, Settings};
use holdfast_domain::Field;
use holdfast_domain::ids::UserId;
use holdfast_http::{Connections, InstanceUrls, Limits, RequestLimits};
use holdfast_store::{Database, Objects, Options, objects};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use browser::{Browser, PageForm, PageResponse, has_attribute};
pub use client::{Client, TestResponse};
use database::TestDatabase;
pub use git::{GitOutcome, WorkTree, git_program, git_programs};
pub use receiver::{ReceivedRequest, Receiver};
pub use rng::SeededRng;

/// The time of the test clock at the start of every test.
pub const START_TIME: &str = "2026-01-02T03:04:05.678Z";
pub const PASSWORD: &str = "correct horse battery";

/// A server for one test. It stops when the runtime of the test ends.
pub struct Server {
    pub app: Arc<App>,
    pub base_url: String,
    /// The client of `root`, an administrator with id 1, whose token may use sudo.
    pub admin: Client,
    test_database: TestDatabase,
    now: Arc<Mutex<DateTime<Utc>>>,
    /// The directory of the object store, unless objects are in a bucket.
    pub directory: TempDir,
    /// The repository cache of this node.
    pub cache: TempDir,
    clock: Clock,
    objects: objects::Options,
    nodes: AtomicU64,
}

/// The options of a test server.
pub struct Setup {
    pub settings: Settings,
    pub limits: Limits,
    /// The object store; `None` is a new directory.
    pub objects: Option<objects::Options>,
    /// The directory in which the repository cache is created; `None` is the default temporary directory.
    pub cache_parent: Option<PathBuf>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: Settings {
                projects_limit: 100,
                can_create_group: true,
                session_lifetime_days: 30,
                confirm_minutes: 15,
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
                    max_process_memory_bytes: 1 << 30,
                    max_fetches: 16,
                    max_fetches_per_repository: 8,
                    max_pushes: 16,
                    inline_pack_bytes: 64 << 10,
                    bundle_min_bytes: 64 << 20,
                    request_timeout: Duration::from_secs(60),
                },
                maintenance: MaintenanceSettings {
                    repack_threshold_packs: 20,
                    ref_restore_period: TimeDelta::days(30),
                    prune_after: TimeDelta::days(14),
                    unreferenced_pack_retention: TimeDelta::days(14),
                },
                import_networks: Vec::new(),
                // Response bodies contain a fixed host, while the client connects to the real address.
                site: InstanceUrls::new(&"http://holdfast.test".parse().expect("a url"), 22),
                hooks: HookSettings {
                    allowed_networks: vec!["127.0.0.0/8".parse().expect("a network")],
                    concurrency: 16,
                    timeout: Duration::from_secs(20),
                    retention: TimeDelta::days(30),
                },
                ci: CiSettings {
                    build_timeout: TimeDelta::hours(1),
                    runner_heartbeat_timeout: TimeDelta::hours(1),
                    long_poll_timeout: Duration::from_secs(20),
                    max_trace_bytes: 16 << 20,
                    max_artifact_bytes: 16 << 20,
                },
                encryption_key: Some(EncryptionKey::new([7; 32])),
                web: holdfast_app::WebSettings { public_projects: true },
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
            cache_parent: None,
        }
    }
}

impl Server {
    pub async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    pub async fn start_with(setup: Setup) -> Self {
        // Boxed, because every test would otherwise contain the large future.
        Box::pin(Self::create(setup)).await
    }

    async fn create(setup: Setup) -> Self {
        log::capture();
        let test_database = database::create().await;
        let database = Database::new(&database_options(&test_database.url)).expect("a valid url");
        let now = Arc::new(Mutex::new(START_TIME.parse().expect("a timestamp")));
        let clock = Clock::new({
            let now = now.clone();
            move || *now.lock().expect("no test panics while holding it")
        });
        let directory = tempfile::tempdir().expect("a directory");
        let cache = setup.cache_parent.map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a directory");
        let objects = setup.objects.unwrap_or(objects::Options::Directory(directory.path().to_owned()));
        let mut settings = setup.settings;
        settings.git.cache_directory = cache.path().to_owned();
        let app = App::new(database, Objects::new(objects.clone()), settings, clock.clone(), Entropy::seeded(1));
        let app = Arc::new(app.with_configuration(configuration()));
        let base = format!("http://{}", serve(app.clone(), setup.limits).await);

        let anonymous = Client::new(&base, None);
        let nodes = AtomicU64::default();
        let mut server =
            Self { app, base_url: base, admin: anonymous, test_database, now, directory, cache, clock, objects, nodes };
        let changes = UserChanges { admin: Some(true), ..user_attributes("root") };
        let root = user::create(&server.app, &Actor::Operator, changes).await.expect("the first user");
        let secret = server.token(root.id, &["api", "sudo"]).await;
        server.admin = Client::new(&server.base_url, Some(&secret));
        server
    }

    /// Returns host and port of the server.
    pub fn address(&self) -> String {
        self.base_url.trim_start_matches("http://").to_owned()
    }

    /// Starts a second node on the same database and object store, with an empty cache, and returns its host and port.
    pub async fn another_node(&self) -> String {
        self.another_node_in(self.cache.path()).await
    }

    /// Like [`Self::another_node`], but with the cache in another directory.
    pub async fn another_node_in(&self, directory: &Path) -> String {
        serve(self.another_app_in(directory), Setup::default().limits).await
    }

    pub fn another_app(&self) -> Arc<App> {
        self.another_app_in(self.cache.path())
    }

    /// Starts a node that reaches the database through this address, and returns its host and port and its SSH server.
    pub async fn another_node_through(&self, address: &str) -> (String, ssh::SshServer) {
        let mut url: url::Url = self.test_database.url.parse().expect("a valid url");
        let address: SocketAddr = address.parse().expect("an address with a port");
        url.set_ip_host(address.ip())
            .and(url.set_port(Some(address.port())))
            .expect("the url of a database has a host");
        let app = self.another_app_on(url.as_str(), self.cache.path());
        (serve(app.clone(), Setup::default().limits).await, ssh::SshServer::start(app, |_| {}))
    }

    fn another_app_in(&self, directory: &Path) -> Arc<App> {
        self.another_app_on(&self.test_database.url, directory)
    }

    /// Starts a node with another clock, and returns its host and port.
    pub async fn another_node_with_clock(&self, clock: Clock) -> String {
        let app = self.another_app_with(&self.test_database.url, self.cache.path(), clock);
        serve(app, Setup::default().limits).await
    }

    fn another_app_on(&self, database_url: &str, directory: &Path) -> Arc<App> {
        self.another_app_with(database_url, directory, self.clock.clone())
    }

    fn another_app_with(&self, database_url: &str, directory: &Path, clock: Clock) -> Arc<App> {
        let database = Database::new(&database_options(database_url)).expect("a valid url");
        let mut settings = self.app.settings.clone();
        let number = self.nodes.fetch_add(1, Ordering::Relaxed);
        settings.git.cache_directory = directory.join(format!("node-{number}"));
        let objects = Objects::new(self.objects.clone());
        Arc::new(App::new(database, objects, settings, clock, Entropy::seeded(100 + number)))
    }

    pub fn anonymous(&self) -> Client {
        Client::new(&self.base_url, None)
    }

    /// Returns a browser that is not signed in.
    pub fn browser(&self) -> Browser {
        Browser::new(&self.base_url, &self.app.settings.site.url(""))
    }

    /// Returns a browser in which this user is signed in with [`PASSWORD`].
    pub async fn sign_in(&self, username: &str) -> Browser {
        let browser = self.browser();
        let response = browser.sign_in(username, PASSWORD).await;
        assert_eq!(response.status, 303, "{}", response.text);
        browser
    }

    pub fn with_token(&self, token: &str) -> Client {
        Client::new(&self.base_url, Some(token))
    }

    /// Creates a regular user, and returns its id and client.
    pub async fn user(&self, username: &str) -> (UserId, Client) {
        self.user_with(user_attributes(username)).await
    }

    pub async fn user_with(&self, changes: UserChanges) -> (UserId, Client) {
        let user = user::create(&self.app, &Actor::Operator, changes).await.expect("a valid user");
        let secret = self.token(user.id, &["api"]).await;
        (user.id, Client::new(&self.base_url, Some(&secret)))
    }

    pub async fn token(&self, user: UserId, scopes: &[&str]) -> String {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let input = CreateToken { name: "test".into(), scopes, expires_at: None };
        token::create_for_user(&self.app, &Actor::Operator, user, input).await.expect("a valid token").1
    }

    /// Creates a group that is owned by the user of `owner`, and returns its id.
    pub async fn group(&self, owner: &Client, path: &str, visibility: i64) -> i64 {
        let form = [("name", path), ("path", path), ("visibility_level", &visibility.to_string())];
        let group = owner.post("/groups", &form).await;
        assert_eq!(group.status, 201, "{}", group.body);
        group.body["id"].as_i64().expect("an id")
    }

    /// Creates a project in the namespace of the user of `owner`, and returns its id.
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

    /// Runs the jobs that are due.
    pub async fn run_jobs(&self) {
        holdfast_app::worker::run_once(&self.app).await.expect("a worker");
    }

    /// Fails the builds whose runner is silent or that no runner claimed in time.
    pub async fn fail_stale_builds(&self) {
        stale_builds::run(&self.app).await.expect("builds are tended");
    }

    /// Runs the daily cleanup of builds.
    pub async fn sweep_builds(&self) {
        retention::delete_expired(&self.app).await.expect("what is wanted no more goes");
    }

    /// Fans out pending events and makes the delivery attempts that are due.
    pub async fn deliver_hooks(&self) {
        holdfast_app::hooks::dispatch::run_once(&self.app).await.expect("deliveries are sent");
    }

    pub fn advance(&self, duration: TimeDelta) {
        *self.now.lock().expect("no test panics while holding it") += duration;
    }

    pub fn database_url(&self) -> &str {
        &self.test_database.url
    }

    /// Opens a database connection, for setup that no endpoint offers.
    pub async fn database(&self) -> sqlx::PgConnection {
        use sqlx::Connection;
        sqlx::PgConnection::connect(&self.test_database.url).await.expect("the test database")
    }

    /// Sets the time of a migration back by 25 hours. A day after a migration no node of the previous version is
    /// expected to run.
    pub async fn end_upgrade(&self, migration: i64) {
        let statement = "update _sqlx_migrations set installed_on = now() - interval '25 hours' where version = $1";
        let updated = sqlx::query(statement).bind(migration).execute(&mut self.database().await).await;
        assert_eq!(updated.expect("the test database").rows_affected(), 1, "there is no migration {migration}");
    }

    /// Returns all rows of all tables, for tests that nothing else changed.
    pub async fn dump_database(&self) -> Value {
        database::dump(&mut self.database().await).await
    }
}

fn database_options(url: &str) -> Options {
    Options {
        url: url.to_owned(),
        max_connections: 5,
        acquire_timeout: Duration::from_secs(120),
        statement_timeout: Duration::from_secs(120),
    }
}

/// Serves the API, git, runners and pages on a free port and returns its address.
async fn serve(app: Arc<App>, limits: Limits) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let request_limits = Arc::new(RequestLimits::new(limits.clone()));
    let pages = holdfast_web::router(app.clone(), request_limits.clone());
    let router = holdfast_http::router_with_pages(app, request_limits, pages);
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

/// Returns some settings as the server reads them from their sources.
fn configuration() -> Vec<EffectiveSetting> {
    let setting = |section: &str, key: &str, value, source| EffectiveSetting {
        section: section.into(),
        key: key.into(),
        value,
        source,
    };
    vec![
        setting("accounts", "projects_limit", SettingValue::Shown("100".into()), SettingSource::File),
        setting("database", "url", SettingValue::Secret { is_set: true }, SettingSource::Environment),
        setting("encryption", "key", SettingValue::Secret { is_set: false }, SettingSource::Default),
    ]
}

/// Returns the attributes of a regular user.
pub fn user_attributes(username: &str) -> UserChanges {
    UserChanges {
        username: Field::Value(username.into()),
        email: Field::Value(format!("{username}@example.com")),
        name: Field::Value(format!("User {username}")),
        password: Field::Value(PASSWORD.into()),
        ..UserChanges::default()
    }
}
