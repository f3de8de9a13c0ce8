//! Hooks: who is told of what happens, and telling them.

pub mod address;
mod body;
pub mod delivery;
mod fan_out;
pub mod hook;
mod payload;
mod request;
pub mod sending;
pub(crate) mod token;

use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;

pub(crate) use request::hide;

/// What operators decide about hooks.
#[derive(Clone, Debug)]
pub struct HookSettings {
    /// Where hooks may be told although that is not the internet at large.
    pub allowed_networks: Vec<IpNet>,
    /// Hooks that this node serves at once.
    pub concurrency: usize,
    /// How long a receiver may take to answer.
    pub timeout: Duration,
    /// How long deliveries are kept, whether or not they were made.
    pub kept: TimeDelta,
}
