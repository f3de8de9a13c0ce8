//! Limits for expensive pages. Each node has its own permits; those of anonymous viewers are separate, so that crawlers
//! do not slow down users.

use std::net::IpAddr;
use std::time::Duration;

use holdfast_app::Actor;
use holdfast_app::client::{ClientPermits, KeyedPermit, client_network};
use holdfast_app::throttle::Throttle;
use holdfast_http_core::Limits;
use tokio::time::timeout;

use crate::errors::PageError;

/// How much work a page is for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Forms and settings, which read a few rows.
    Cheap,
    /// Lists, and pages about a single object.
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

/// Maximum numbers of heavy pages at once, in total and for one client, and how long a request waits for its turn.
/// Anonymous visitors have fewer permits, so that crawlers do not hold up users.
const MAX_CONCURRENT_HEAVY: usize = 16;
const MAX_CONCURRENT_HEAVY_PER_USER: usize = 4;
const HEAVY_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CONCURRENT_ANONYMOUS_HEAVY: usize = 4;
const MAX_CONCURRENT_HEAVY_PER_ADDRESS: usize = 2;
const ANONYMOUS_HEAVY_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of heavy pages per minute for one anonymous address.
const ANONYMOUS_HEAVY_PER_MINUTE: u32 = 30;

/// The permits of a node for heavy pages.
pub struct CostPermits {
    users: ClientPermits,
    anonymous: ClientPermits,
    anonymous_throttle: Throttle,
}

impl CostPermits {
    /// Creates the permits of a node. Without a limit on the requests of anonymous viewers, their heavy pages are not
    /// counted either.
    pub fn new(limits: &Limits) -> Self {
        let per_minute = if limits.anonymous_requests_per_minute == 0 { 0 } else { ANONYMOUS_HEAVY_PER_MINUTE };
        Self {
            users: ClientPermits::new(MAX_CONCURRENT_HEAVY, MAX_CONCURRENT_HEAVY_PER_USER),
            anonymous: ClientPermits::new(MAX_CONCURRENT_ANONYMOUS_HEAVY, MAX_CONCURRENT_HEAVY_PER_ADDRESS),
            anonymous_throttle: Throttle::per_minute(per_minute),
        }
    }

    /// Waits for a permit if the page is heavy. Fails if none is free in time.
    pub async fn acquire(&self, cost: Cost, actor: &Actor, address: IpAddr) -> Result<Option<KeyedPermit>, PageError> {
        if cost != Cost::Heavy {
            return Ok(None);
        }
        let (permits, limit) = match actor {
            Actor::User(_) => (&self.users, HEAVY_TIMEOUT),
            Actor::Anonymous(_) | Actor::Operator | Actor::DeployKey(_) => {
                self.anonymous_throttle.check(|| client_network(address).to_string())?;
                (&self.anonymous, ANONYMOUS_HEAVY_TIMEOUT)
            }
        };
        let permit = timeout(limit, permits.acquire(actor.client())).await.map_err(|_| PageError::Busy)?;
        Ok(Some(permit))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_address_does_not_take_all_permits() {
        let permits = CostPermits {
            users: ClientPermits::new(MAX_CONCURRENT_HEAVY, MAX_CONCURRENT_HEAVY_PER_USER),
            anonymous: ClientPermits::new(MAX_CONCURRENT_ANONYMOUS_HEAVY, MAX_CONCURRENT_HEAVY_PER_ADDRESS),
            anonymous_throttle: Throttle::per_minute(0),
        };
        let [one, other] = [1, 2].map(|number| IpAddr::from([192, 0, 2, number]));
        let acquire = |address: IpAddr| {
            let permits = &permits;
            async move { permits.acquire(Cost::Heavy, &Actor::Anonymous(Some(address)), address).await.ok().flatten() }
        };
        let held = [acquire(one).await, acquire(one).await];
        assert!(held.iter().all(Option::is_some));
        assert!(acquire(one).now_or_never().is_none());
        assert!(acquire(other).now_or_never().flatten().is_some());
        drop(held);
        assert!(acquire(one).now_or_never().flatten().is_some());
    }
}
