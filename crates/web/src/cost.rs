//! Limits for expensive pages. Each node has its own permits; those of anonymous viewers are separate, so that crawlers
//! do not slow down users.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use holdfast_app::Actor;
use holdfast_app::client::client_network;
use holdfast_app::throttle::Throttle;
use holdfast_http_core::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::errors::PageError;

/// How much work a page is for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Forms, settings and dashboards.
    Cheap,
    /// Lists and single objects.
    Normal,
    /// Pages that start git or read a long history.
    Heavy,
}

impl Cost {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cheap => "cheap",
            Self::Normal => "normal",
            Self::Heavy => "heavy",
        }
    }
}

/// Maximum numbers of heavy pages at once, and how long a request waits for its turn. Anonymous visitors have fewer permits,
/// so that crawlers do not hold up users.
const MAX_CONCURRENT_HEAVY: usize = 16;
const HEAVY_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CONCURRENT_ANONYMOUS_HEAVY: usize = 4;
const ANONYMOUS_HEAVY_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of heavy pages per minute for one anonymous address.
const ANONYMOUS_HEAVY_PER_MINUTE: u32 = 30;

/// The permits of a node for heavy pages.
pub struct CostPermits {
    users: Arc<Semaphore>,
    anonymous: Arc<Semaphore>,
    anonymous_throttle: Throttle,
}

impl CostPermits {
    /// Creates the permits of a node. Without a limit on the requests of anonymous viewers, their heavy pages are not
    /// counted either.
    pub fn new(limits: &Limits) -> Self {
        let per_minute = if limits.anonymous_requests_per_minute == 0 { 0 } else { ANONYMOUS_HEAVY_PER_MINUTE };
        Self {
            users: Arc::new(Semaphore::new(MAX_CONCURRENT_HEAVY)),
            anonymous: Arc::new(Semaphore::new(MAX_CONCURRENT_ANONYMOUS_HEAVY)),
            anonymous_throttle: Throttle::per_minute(per_minute),
        }
    }

    /// Waits for a permit if the page is heavy. Fails if none is free in time.
    pub async fn acquire(
        &self,
        cost: Cost,
        actor: &Actor,
        address: IpAddr,
    ) -> Result<Option<OwnedSemaphorePermit>, PageError> {
        if cost != Cost::Heavy {
            return Ok(None);
        }
        let (semaphore, limit) = match actor {
            Actor::User(_) => (&self.users, HEAVY_TIMEOUT),
            Actor::Anonymous(_) | Actor::Operator => {
                self.anonymous_throttle.check(|| client_network(address).to_string())?;
                (&self.anonymous, ANONYMOUS_HEAVY_TIMEOUT)
            }
        };
        match timeout(limit, semaphore.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            Ok(Err(_)) | Err(_) => Err(PageError::Busy),
        }
    }
}
