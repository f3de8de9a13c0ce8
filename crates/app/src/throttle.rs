//! Rate limits per key. Each node counts for itself: with N nodes behind a load balancer, a client may get up to N
//! times the limit.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::{Error, Result};

/// After this many checks, keys that are no longer limited are dropped. The number is arbitrary; dropping them bounds
/// the memory.
const CHECKS_PER_SWEEP: u32 = 10_000;

/// A rate limiter with one quota per key. Without a limiter nothing is limited.
pub struct Throttle {
    limiter: Option<DefaultKeyedRateLimiter<String>>,
    checks: AtomicU32,
}

impl Throttle {
    /// Creates a throttle with this limit per key. Zero means no limit.
    pub fn per_minute(times: u32) -> Self {
        let limiter = NonZeroU32::new(times).map(|times| DefaultKeyedRateLimiter::keyed(Quota::per_minute(times)));
        Self { limiter, checks: AtomicU32::new(0) }
    }

    /// Counts one attempt. Fails if the limit of the key has been reached. Calls `key` only if there is a limit.
    pub fn check(&self, key: impl FnOnce() -> String) -> Result<()> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS_PER_SWEEP == CHECKS_PER_SWEEP - 1 {
            limiter.retain_recent();
        }
        limiter.check_key(&key()).map_err(|refused| {
            let wait = refused.wait_time_from(DefaultClock::default().now());
            Error::Throttled { retry_after: wait.max(Duration::from_secs(1)) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_limited_per_key() {
        let throttle = Throttle::per_minute(3);
        for _ in 0..3 {
            throttle.check(|| "ada".into()).unwrap();
        }
        assert!(matches!(throttle.check(|| "ada".into()), Err(Error::Throttled { .. })));
        throttle.check(|| "grace".into()).unwrap();
        assert!(Throttle::per_minute(0).check(|| "anybody".into()).is_ok());
    }
}
