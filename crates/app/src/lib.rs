//! The use cases. Each one authorises in its first line, works in one transaction, and is the same for every front
//! door: REST, git, pages and the command line.

pub mod access;
pub mod accounts;
pub mod activity;
pub mod actor;
pub mod ci;
pub mod client;
pub mod clock;
pub mod entropy;
pub mod error;
pub mod hooks;
pub mod large_response;
pub mod namespaces;
mod network;
pub mod planning;
pub mod progress_budget;
pub mod projects;
pub mod repository;
mod sealing;
pub mod throttle;
pub mod worker;

use std::sync::Arc;

use chrono::NaiveDate;
use holdfast_domain::Site;
use holdfast_store::{Database, Objects};
use ipnet::IpNet;
use tokio::sync::Semaphore;

pub use actor::Actor;
pub use clock::Clock;
pub use entropy::Entropy;
pub use error::{Error, Result, Thing};
pub use sealing::SealingKey;

use accounts::password::Passwords;
use ci::CiSettings;
use ci::waiting::Waiting;
use hooks::HookSettings;
use large_response::LargeResponses;
use repository::engine::{Engine, GitSettings};
use repository::maintenance::MaintenanceSettings;
use sealing::Sealing;
use throttle::Throttle;

/// What operators decide about accounts.
#[derive(Clone, Debug)]
pub struct Settings {
    pub projects_limit: i32,
    pub can_create_group: bool,
    pub session_days: u32,
    pub sign_ins_per_minute: u32,
    pub git: GitSettings,
    pub maintenance: MaintenanceSettings,
    /// Networks from which repositories may be imported although they are not of the internet at large.
    pub import_networks: Vec<IpNet>,
    pub hooks: HookSettings,
    pub ci: CiSettings,
    /// Without one nothing can be kept that has to be sealed.
    pub sealing_key: Option<SealingKey>,
    pub site: Site,
}

const CI_FILES_AT_ONCE: usize = 4;
/// CI files that are checked for anybody at once. Each takes a processor for up to a second.
const MAX_CONCURRENT_LINTS: usize = 2;
/// The same with those that wait; further requests are turned away. Bounds the memory for their files.
const MAX_LINT_REQUESTS: usize = 16;

/// Everything a use case needs beside its input.
pub struct App {
    pub database: Database,
    pub objects: Objects,
    pub engine: Engine,
    pub settings: Settings,
    pub large_responses: LargeResponses,
    clock: Clock,
    entropy: Entropy,
    passwords: Passwords,
    sign_ins: Throttle,
    sealing: Sealing,
    /// CI files that are read at once.
    ci_files: Arc<Semaphore>,
    lints: Arc<Semaphore>,
    lint_requests: Semaphore,
    /// Runners that wait for work at this node.
    pub(crate) waiting: Waiting,
}

impl App {
    pub fn new(database: Database, objects: Objects, settings: Settings, clock: Clock, entropy: Entropy) -> Self {
        Self {
            database,
            objects,
            passwords: Passwords::new(entropy.bytes()),
            engine: Engine::new(settings.git.clone()),
            sign_ins: Throttle::per_minute(settings.sign_ins_per_minute),
            sealing: Sealing::new(settings.sealing_key.as_ref()),
            ci_files: Arc::new(Semaphore::new(CI_FILES_AT_ONCE)),
            lints: Arc::new(Semaphore::new(MAX_CONCURRENT_LINTS)),
            lint_requests: Semaphore::new(MAX_LINT_REQUESTS),
            waiting: Waiting::default(),
            large_responses: LargeResponses::default(),
            settings,
            clock,
            entropy,
        }
    }

    /// This node is about to stop. Runners that wait for work here are let go.
    pub fn leave(&self) {
        self.waiting.close();
    }

    pub fn is_leaving(&self) -> bool {
        self.waiting.is_closed()
    }

    /// Returns a random number from 0 to 1.
    pub fn random_fraction(&self) -> f64 {
        f64::from(u32::from_be_bytes(self.entropy.bytes())) / f64::from(u32::MAX)
    }

    pub fn today(&self) -> NaiveDate {
        self.clock.now().date_naive()
    }
}
