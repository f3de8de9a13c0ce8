//! The clock, injected so that tests control the time.

use std::sync::Arc;

use chrono::{DateTime, SubsecRound, Utc};

#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
    pub fn system() -> Self {
        Self::new(Utc::now)
    }

    /// Returns the current time, truncated to milliseconds. This is the precision of the API, so a record reads the
    /// same before and after it was stored.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)().trunc_subsecs(3)
    }
}
