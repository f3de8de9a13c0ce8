//! Limits on how often something may be done, per key. They are kept by each node for itself: with N nodes behind a
//! balancer a caller may get N times as many tries.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::{Error, Result};

/// Every so many checks, keys that could not refuse anything any more are dropped.
const SWEEP_EVERY: u32 = 10_000;

/// Without a limiter nothing is limited.
pub struct Throttle {
    limiter: Option<DefaultKeyedRateLimiter<String>>,
    checks: AtomicU32,
}

impl Throttle {
    /// Zero means no limit.
    pub fn per_minute(times: u32) -> Self {
        let limiter = NonZeroU32::new(times).map(|times| DefaultKeyedRateLimiter::keyed(Quota::per_minute(times)));
        Self { limiter, checks: AtomicU32::new(0) }
    }

    /// The key is made only where there is a limit.
    pub fn check(&self, key: impl FnOnce() -> String) -> Result<()> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if self.checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
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
    fn each_key_has_its_own_tries() {
        let throttle = Throttle::per_minute(3);
        for _ in 0..3 {
            throttle.check(|| "ada".into()).unwrap();
        }
        assert!(matches!(throttle.check(|| "ada".into()), Err(Error::Throttled { .. })));
        throttle.check(|| "grace".into()).unwrap();
        assert!(Throttle::per_minute(0).check(|| "anybody".into()).is_ok());
    }
}
