//! Retry rules of webhook deliveries: when a failed delivery is retried, when it is parked, when its hook is paused,
//! and which lane the hook uses. The dispatcher applies the decisions.

use chrono::{DateTime, TimeDelta, Utc};

const FIRST_DELAY: TimeDelta = TimeDelta::milliseconds(500);
const MAX_DELAY: TimeDelta = TimeDelta::minutes(15);
/// A hook is paused after it has failed for this long without a success.
const PAUSE_AFTER: TimeDelta = TimeDelta::days(3);
/// The interval between attempts of a paused hook.
const PROBE_INTERVAL: TimeDelta = TimeDelta::hours(1);
/// A delivery is parked after the receiver has rejected its payload this many times in a row, because further attempts
/// would be rejected, too.
const MAX_REJECTIONS: u32 = 10;
/// A hook with at least this many failures since its last success uses the failing lane.
const FAILING_LANE_AFTER: u32 = 10;
/// A receiver that needs at least this long to respond is slow.
const SLOW_THRESHOLD: TimeDelta = TimeDelta::seconds(2);

/// The failures of a hook since its last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryState {
    pub failures: u32,
    /// Number of the latest failures that were rejections of the same delivery, in a row.
    pub rejections: u32,
    pub failing_since: Option<DateTime<Utc>>,
    pub paused_at: Option<DateTime<Utc>>,
}

/// The reason why a delivery attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There was no response.
    Unreachable,
    /// The response had a status that is not a success.
    Status(u16),
}

/// The next step after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// Retries the same delivery after this delay.
    RetryAfter(TimeDelta),
    /// Parks the delivery and continues with the next one.
    Park,
    /// Attempts the next deliveries now, because this one has failed for so long. If none of them succeeds, the hook is
    /// retried from this delivery on after this delay.
    Probe(TimeDelta),
}

/// The queue of a hook. Each lane has its own capacity, so that slow receivers do not delay the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Healthy,
    /// Slow, or failing since recently.
    Slow,
    /// Failing for a longer time.
    Failing,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Healthy, Self::Slow, Self::Failing];

    pub const fn as_i16(self) -> i16 {
        match self {
            Self::Healthy => 0,
            Self::Slow => 1,
            Self::Failing => 2,
        }
    }
}

impl Failure {
    /// Returns whether the receiver rejected this payload, as opposed to failing because of its own state.
    const fn is_payload_rejection(self) -> bool {
        matches!(self, Self::Status(400 | 413 | 415 | 422))
    }
}

impl RetryState {
    /// Records a failed attempt and decides about the next step. `jitter` is a random number from 0 to 1 that spreads
    /// the retries of hooks that fail at the same time.
    pub fn record_failure(&mut self, failure: Failure, now: DateTime<Utc>, jitter: f64) -> RetryDecision {
        self.failures = self.failures.saturating_add(1);
        self.rejections = if failure.is_payload_rejection() { self.rejections + 1 } else { 0 };
        let since = *self.failing_since.get_or_insert(now);
        if now - since >= PAUSE_AFTER {
            self.paused_at.get_or_insert(now);
            let delay = with_jitter(PROBE_INTERVAL, jitter);
            return match failure {
                Failure::Unreachable => RetryDecision::RetryAfter(delay),
                Failure::Status(_) => RetryDecision::Probe(delay),
            };
        }
        if self.rejections >= MAX_REJECTIONS {
            self.rejections = 0;
            return RetryDecision::Park;
        }
        let doubled = FIRST_DELAY * 2_i32.pow((self.failures - 1).min(20));
        RetryDecision::RetryAfter(with_jitter(doubled.min(MAX_DELAY), jitter))
    }

    /// Returns the lane of the hook. `response_time` is the longest time that its receiver needed to respond.
    pub fn lane(&self, response_time: TimeDelta) -> Lane {
        match self.failures {
            0 if response_time < SLOW_THRESHOLD => Lane::Healthy,
            FAILING_LANE_AFTER.. => Lane::Failing,
            _ => Lane::Slow,
        }
    }
}

/// Returns a duration between half of the delay and all of it.
fn with_jitter(delay: TimeDelta, jitter: f64) -> TimeDelta {
    let half = delay / 2;
    half + TimeDelta::milliseconds((half.num_milliseconds() as f64 * jitter) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn fail(state: &mut RetryState, status: u16, times: usize) {
        for _ in 0..times {
            let next = state.record_failure(Failure::Status(status), now(), 1.0);
            assert!(matches!(next, RetryDecision::RetryAfter(_)), "{next:?}");
        }
    }

    #[test]
    fn backoff_grows_up_to_a_maximum() {
        let mut state = RetryState::default();
        let delays: Vec<i64> = (0..40)
            .map(|_| match state.record_failure(Failure::Unreachable, now(), 1.0) {
                RetryDecision::RetryAfter(delay) => delay.num_milliseconds(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(&delays[..4], [500, 1000, 2000, 4000]);
        assert_eq!(delays[39], 15 * 60 * 1000);
        assert_eq!(state.failing_since, Some(now()));
        let mut lucky = RetryState::default();
        assert_eq!(
            lucky.record_failure(Failure::Unreachable, now(), 0.0),
            RetryDecision::RetryAfter(TimeDelta::milliseconds(250))
        );
    }

    #[test]
    fn hooks_are_paused_after_three_days_of_failures() {
        let mut state = RetryState::default();
        state.record_failure(Failure::Status(500), now(), 1.0);
        let almost = now() + TimeDelta::days(3) - TimeDelta::seconds(1);
        assert!(matches!(state.record_failure(Failure::Status(500), almost, 1.0), RetryDecision::RetryAfter(_)));
        assert_eq!(state.paused_at, None);
        let later = now() + TimeDelta::days(3);
        assert_eq!(state.record_failure(Failure::Status(500), later, 1.0), RetryDecision::Probe(TimeDelta::hours(1)));
        assert_eq!(state.paused_at, Some(later));
        let much_later = later + TimeDelta::days(1);
        assert_eq!(
            state.record_failure(Failure::Unreachable, much_later, 1.0),
            RetryDecision::RetryAfter(TimeDelta::hours(1))
        );
        // A rejection is no success, so the hook stays paused.
        for _ in 0..20 {
            assert_eq!(
                state.record_failure(Failure::Status(400), much_later, 1.0),
                RetryDecision::Probe(TimeDelta::hours(1))
            );
        }
        assert_eq!(state.paused_at, Some(later));
    }

    #[test]
    fn deliveries_rejected_as_invalid_are_parked() {
        for status in [400, 413, 415, 422] {
            let mut state = RetryState::default();
            fail(&mut state, status, 9);
            assert_eq!(state.record_failure(Failure::Status(status), now(), 1.0), RetryDecision::Park);
            assert_eq!(state.failing_since, Some(now()), "only a success ends it");
            fail(&mut state, status, 9);
            assert_eq!(
                state.record_failure(Failure::Status(status), now(), 1.0),
                RetryDecision::Park,
                "so is the next one"
            );
        }
        let mut state = RetryState::default();
        fail(&mut state, 404, 20);
        fail(&mut state, 400, 9);
        fail(&mut state, 502, 1);
        fail(&mut state, 400, 9);
        assert_eq!(
            state.record_failure(Failure::Status(400), now(), 1.0),
            RetryDecision::Park,
            "ten, one after the other"
        );
    }

    #[test]
    fn slow_hooks_use_the_slow_lane() {
        let (quick, slow) = (TimeDelta::milliseconds(100), TimeDelta::seconds(9));
        let mut state = RetryState::default();
        assert_eq!((state.lane(quick), state.lane(slow)), (Lane::Healthy, Lane::Slow));
        fail(&mut state, 500, 9);
        assert_eq!(state.lane(quick), Lane::Slow);
        fail(&mut state, 500, 1);
        assert_eq!(state.lane(quick), Lane::Failing);
    }
}
