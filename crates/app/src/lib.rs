//! The use cases. Each one authorises in its first line, works in one transaction, and is the same for every front
//! door: REST, git, pages and the command line.

pub mod access;
pub mod accounts;
pub mod activity;
pub mod actor;
pub mod clock;
pub mod entropy;
pub mod error;
pub mod hooks;
pub mod namespaces;
mod network;
pub mod planning;
pub mod projects;
pub mod repository;
pub mod throttle;
pub mod worker;

use chrono::NaiveDate;
use holdfast_domain::Site;
use holdfast_store::{Database, Objects};
use ipnet::IpNet;

pub use actor::Actor;
pub use clock::Clock;
pub use entropy::Entropy;
pub use error::{Error, Result, Thing};

use accounts::password::Passwords;
use hooks::HookSettings;
use repository::engine::{Engine, GitSettings};
use throttle::Throttle;

/// What operators decide about accounts.
#[derive(Clone, Debug)]
pub struct Settings {
    pub projects_limit: i32,
    pub can_create_group: bool,
    pub session_days: u32,
    pub sign_ins_per_minute: u32,
    pub git: GitSettings,
    /// Networks from which repositories may be imported although they are not of the internet at large.
    pub import_networks: Vec<IpNet>,
    pub hooks: HookSettings,
    pub site: Site,
}

/// Everything a use case needs beside its input.
pub struct App {
    pub database: Database,
    pub objects: Objects,
    pub engine: Engine,
    pub settings: Settings,
    clock: Clock,
    entropy: Entropy,
    passwords: Passwords,
    sign_ins: Throttle,
}

impl App {
    pub fn new(database: Database, objects: Objects, settings: Settings, clock: Clock, entropy: Entropy) -> Self {
        Self {
            database,
            objects,
            passwords: Passwords::new(entropy.bytes()),
            engine: Engine::new(settings.git.clone()),
            sign_ins: Throttle::per_minute(settings.sign_ins_per_minute),
            settings,
            clock,
            entropy,
        }
    }

    pub fn today(&self) -> NaiveDate {
        self.clock.now().date_naive()
    }
}
