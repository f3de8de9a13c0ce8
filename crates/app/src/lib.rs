//! The use cases of Holdfast.
//!
//! - A use case authorizes its actor before it does anything else; see [`access`].
//! - Every entry point calls the same use cases: HTTP, SSH, the command line and background jobs.

pub mod access;
pub mod accounts;
pub mod activity;
pub mod actor;
pub mod ci;
pub mod client;
pub mod clock;
mod encryption;
pub mod entropy;
pub mod error;
mod events;
pub mod gitlab_export;
pub mod hooks;
pub mod instance;
pub mod large_response;
pub mod live;
pub mod merge_requests;
pub mod namespaces;
mod network;
pub mod planning;
pub mod prefetched;
pub mod progress_budget;
pub mod projects;
mod redaction;
pub mod repository;
pub mod throttle;
pub mod worker;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::InstanceUrls;
use holdfast_store::{Database, Objects};
use ipnet::IpNet;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use actor::Actor;
pub use clock::Clock;
pub use encryption::EncryptionKey;
pub use entropy::Entropy;
pub use error::{Error, Resource, Result};

/// Makes an `async fn` return a boxed future. Without it, the optimizing compiler would compile the body of a use case
/// in the crates that call it, and not here: twice, and again after every change of a caller (ADR 0033).
pub(crate) use async_recursion::async_recursion as boxed;

use accounts::password::Passwords;
use ci::CiSettings;
use ci::long_poll::LongPollRegistry;
use encryption::Cipher;
use hooks::HookSettings;
use instance::configuration::EffectiveSetting;
use large_response::LargeResponses;
use live::LiveRegistry;
use repository::git_runtime::{GitRuntime, GitSettings};
use repository::maintenance::MaintenanceSettings;
use throttle::Throttle;

/// Runtime settings, converted from the configuration file.
#[derive(Clone, Debug)]
pub struct Settings {
    pub projects_limit: i32,
    pub can_create_group: bool,
    pub session_lifetime_days: u32,
    /// How long after the user entered the password a browser session may act on credentials, in minutes.
    pub confirm_minutes: u32,
    pub sign_ins_per_minute: u32,
    pub git: GitSettings,
    pub maintenance: MaintenanceSettings,
    /// Networks that repositories may be imported from although their addresses are not public.
    pub import_networks: Vec<IpNet>,
    pub hooks: HookSettings,
    pub ci: CiSettings,
    /// The key for secrets at rest. Without it CI variables cannot be stored, and tokens of hooks are stored in clear.
    pub encryption_key: Option<EncryptionKey>,
    pub site: InstanceUrls,
    pub web: WebSettings,
}

/// Runtime settings of the web interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebSettings {
    /// Whether anonymous visitors may list public projects and groups.
    pub public_projects: bool,
}

/// Maximum number of CI files that are parsed at once to create pipelines.
const MAX_CONCURRENT_CI_FILES: usize = 4;
/// Maximum number of CI files that are parsed at once for lint requests. Each takes a processor for up to a second.
const MAX_CONCURRENT_LINTS: usize = 2;
/// Maximum number of lint requests that run or wait; further requests are rejected. Bounds the memory for their files.
const MAX_LINT_REQUESTS: usize = 16;

/// The dependencies of all use cases.
pub struct App {
    pub database: Database,
    pub objects: Objects,
    pub git_runtime: GitRuntime,
    pub settings: Settings,
    pub large_responses: LargeResponses,
    /// Cancelled when the graceful shutdown of this node begins. From then on the node is not ready, long polls are
    /// answered, every response closes its connection, and no new background work is started.
    pub shutdown: CancellationToken,
    clock: Clock,
    entropy: Entropy,
    passwords: Passwords,
    sign_in_throttle: Throttle,
    cipher: Cipher,
    /// Limits how many CI files are parsed at once to create pipelines.
    ci_file_permits: Arc<Semaphore>,
    lint_permits: Arc<Semaphore>,
    lint_request_permits: Semaphore,
    /// The long polls of runners at this node.
    pub(crate) runner_polls: LongPollRegistry,
    /// What the viewers of pages at this node watch.
    pub live: LiveRegistry,
    /// Whether this node knows that there is a user. It never becomes false again.
    pub(crate) has_users: AtomicBool,
    /// The settings of this node with their sources, for administrators. Secrets are left out.
    pub(crate) configuration: Vec<EffectiveSetting>,
}

impl App {
    pub fn new(database: Database, objects: Objects, settings: Settings, clock: Clock, entropy: Entropy) -> Self {
        Self {
            database,
            objects,
            passwords: Passwords::new(entropy.bytes()),
            git_runtime: GitRuntime::new(settings.git.clone()),
            sign_in_throttle: Throttle::per_minute(settings.sign_ins_per_minute),
            cipher: Cipher::new(settings.encryption_key.as_ref()),
            ci_file_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_CI_FILES)),
            lint_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_LINTS)),
            lint_request_permits: Semaphore::new(MAX_LINT_REQUESTS),
            runner_polls: LongPollRegistry::default(),
            live: LiveRegistry::default(),
            has_users: AtomicBool::new(false),
            configuration: Vec::new(),
            large_responses: LargeResponses::default(),
            shutdown: CancellationToken::new(),
            settings,
            clock,
            entropy,
        }
    }

    /// Returns the application with the settings that administrators see.
    pub fn with_configuration(self, configuration: Vec<EffectiveSetting>) -> Self {
        Self { configuration, ..self }
    }

    /// Returns a random number from 0 to 1.
    pub fn random_fraction(&self) -> f64 {
        f64::from(u32::from_be_bytes(self.entropy.bytes())) / f64::from(u32::MAX)
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    pub fn today(&self) -> NaiveDate {
        self.clock.now().date_naive()
    }
}
