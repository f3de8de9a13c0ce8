//! Limits on how often something may be done, per key. They are kept by each node for itself: with N nodes behind a
//! balancer a caller may get N times as many tries.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::{Error, Result};

/// Keys beyond this number make room for themselves: those that could not refuse anything any more are dropped.
const MANY_KEYS: usize = 10_000;

/// None limits nothing.
pub struct Throttle(Option<DefaultKeyedRateLimiter<String>>);

impl Throttle {
    /// Zero means no limit.
    pub fn per_minute(times: u32) -> Self {
        Self(NonZeroU32::new(times).map(|times| DefaultKeyedRateLimiter::keyed(Quota::per_minute(times))))
    }

    pub fn is_off(&self) -> bool {
        self.0.is_none()
    }

    pub fn check(&self, key: &str) -> Result<()> {
        let Some(limiter) = &self.0 else { return Ok(()) };
        if limiter.len() > MANY_KEYS {
            limiter.retain_recent();
        }
        limiter.check_key(&key.to_owned()).map_err(|refused| {
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
            throttle.check("ada").unwrap();
        }
        assert!(matches!(throttle.check("ada"), Err(Error::Throttled { .. })));
        throttle.check("grace").unwrap();
        assert!(Throttle::per_minute(0).check("anybody").is_ok());
    }
}
