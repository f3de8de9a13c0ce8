//! Webhooks of projects and of the instance.
//!
//! Use cases record events in the outbox. `fan_out` copies them into the queues of the subscribed hooks, and `dispatch`
//! delivers them.
//!
//! The *payload* of an event is what the outbox stores. The *body* of a delivery is what a receiver gets: `body` builds
//! it from the payload, and `stored_body` stores it.

pub mod address;
mod body;
pub mod delivery;
pub mod dispatch;
mod fan_out;
pub mod hook;
pub mod page;
mod request;
pub mod sample;
mod stored_body;
pub mod token;

use std::time::Duration;

use chrono::TimeDelta;
use ipnet::IpNet;

/// The settings of webhooks and their deliveries, converted from the configuration.
#[derive(Clone, Debug)]
pub struct HookSettings {
    /// Networks that hooks may call although their addresses are not public.
    pub allowed_networks: Vec<IpNet>,
    /// Maximum number of healthy hooks that this node serves at once. Slow and failing hooks get a quarter of it each
    /// in addition.
    pub concurrency: usize,
    /// How long a receiver may take to respond.
    pub timeout: Duration,
    /// How long deliveries are stored, whether or not they succeeded.
    pub retention: TimeDelta,
}
