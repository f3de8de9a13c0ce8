//! When a delivery that failed is tried again, and when it is given up.

use chrono::{DateTime, TimeDelta, Utc};

const FIRST_DELAY: TimeDelta = TimeDelta::milliseconds(500);
const LONGEST_DELAY: TimeDelta = TimeDelta::minutes(15);
/// So long the same delivery is tried before its hook is paused.
const PATIENCE: TimeDelta = TimeDelta::days(3);
/// How often a paused hook is tried nevertheless.
const PROBE_EVERY: TimeDelta = TimeDelta::hours(1);
/// A receiver that says so often, and nothing else, that it does not understand a message will not do so later.
const REFUSALS: u32 = 10;
/// Who has failed so often stands behind those who have just begun to.
const LONG_FAILING: u32 = 10;
/// A receiver that takes longer than this is slow.
const SLOW: TimeDelta = TimeDelta::seconds(2);

/// How a hook has fared since its last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    pub failures: u32,
    /// The last of them, one after the other and of the same delivery, that were refusals.
    pub refusals: u32,
    pub failing_since: Option<DateTime<Utc>>,
    pub paused_at: Option<DateTime<Utc>>,
}

/// Why a delivery failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody answered.
    Unreachable,
    /// With an answer that is no success.
    Answered(u16),
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The same again, after that time.
    Again(TimeDelta),
    /// It is given up, and the one behind it has its turn.
    GiveUp,
    /// It was tried for so long that those behind it are tried as well, now. If none of them succeeds either, all begins
    /// anew after that time.
    Probe(TimeDelta),
}

/// Hooks wait in lines, each with places of its own, so that those who take long hold up nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Well,
    /// Slow, or failing of late.
    Slow,
    /// Failing for long.
    Failing,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Well, Self::Slow, Self::Failing];

    pub const fn code(self) -> i16 {
        match self {
            Self::Well => 0,
            Self::Slow => 1,
            Self::Failing => 2,
        }
    }
}

impl Failure {
    /// An answer that speaks of this message, not of the receiver's state.
    const fn is_refusal(self) -> bool {
        matches!(self, Self::Answered(400 | 413 | 415 | 422))
    }
}

impl Trouble {
    /// `chance` from 0 to 1 spreads those who fail together.
    pub fn failed(&mut self, failure: Failure, now: DateTime<Utc>, chance: f64) -> Next {
        self.failures = self.failures.saturating_add(1);
        self.refusals = if failure.is_refusal() { self.refusals + 1 } else { 0 };
        let since = *self.failing_since.get_or_insert(now);
        if now - since >= PATIENCE {
            self.paused_at.get_or_insert(now);
            let delay = spread(PROBE_EVERY, chance);
            return match failure {
                Failure::Unreachable => Next::Again(delay),
                Failure::Answered(_) => Next::Probe(delay),
            };
        }
        if self.refusals >= REFUSALS {
            self.refusals = 0;
            return Next::GiveUp;
        }
        let doubled = FIRST_DELAY * 2_i32.pow((self.failures - 1).min(20));
        Next::Again(spread(doubled.min(LONGEST_DELAY), chance))
    }

    /// Where the hook waits next. `took` is the longest that its receiver took.
    pub fn lane(&self, took: TimeDelta) -> Lane {
        match self.failures {
            0 if took < SLOW => Lane::Well,
            LONG_FAILING.. => Lane::Failing,
            _ => Lane::Slow,
        }
    }
}

/// From half of it to all of it.
fn spread(delay: TimeDelta, chance: f64) -> TimeDelta {
    let half = delay / 2;
    half + TimeDelta::milliseconds((half.num_milliseconds() as f64 * chance) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    fn fail(trouble: &mut Trouble, status: u16, times: usize) {
        for _ in 0..times {
            let next = trouble.failed(Failure::Answered(status), now(), 1.0);
            assert!(matches!(next, Next::Again(_)), "{next:?}");
        }
    }

    #[test]
    fn waits_longer_each_time_and_never_too_long() {
        let mut trouble = Trouble::default();
        let delays: Vec<i64> = (0..40)
            .map(|_| match trouble.failed(Failure::Unreachable, now(), 1.0) {
                Next::Again(delay) => delay.num_milliseconds(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(&delays[..4], [500, 1000, 2000, 4000]);
        assert_eq!(delays[39], 15 * 60 * 1000);
        assert_eq!(trouble.failing_since, Some(now()));
        let mut lucky = Trouble::default();
        assert_eq!(lucky.failed(Failure::Unreachable, now(), 0.0), Next::Again(TimeDelta::milliseconds(250)));
    }

    #[test]
    fn is_paused_after_three_days() {
        let mut trouble = Trouble::default();
        trouble.failed(Failure::Answered(500), now(), 1.0);
        let almost = now() + TimeDelta::days(3) - TimeDelta::seconds(1);
        assert!(matches!(trouble.failed(Failure::Answered(500), almost, 1.0), Next::Again(_)));
        assert_eq!(trouble.paused_at, None);
        let later = now() + TimeDelta::days(3);
        assert_eq!(trouble.failed(Failure::Answered(500), later, 1.0), Next::Probe(TimeDelta::hours(1)));
        assert_eq!(trouble.paused_at, Some(later));
        let much_later = later + TimeDelta::days(1);
        assert_eq!(trouble.failed(Failure::Unreachable, much_later, 1.0), Next::Again(TimeDelta::hours(1)));
        // A refusal is no success: it stays paused.
        for _ in 0..20 {
            assert_eq!(trouble.failed(Failure::Answered(400), much_later, 1.0), Next::Probe(TimeDelta::hours(1)));
        }
        assert_eq!(trouble.paused_at, Some(later));
    }

    #[test]
    fn a_message_that_is_not_understood_is_given_up() {
        for status in [400, 413, 415, 422] {
            let mut trouble = Trouble::default();
            fail(&mut trouble, status, 9);
            assert_eq!(trouble.failed(Failure::Answered(status), now(), 1.0), Next::GiveUp);
            assert_eq!(trouble.failing_since, Some(now()), "only a success ends it");
            fail(&mut trouble, status, 9);
            assert_eq!(trouble.failed(Failure::Answered(status), now(), 1.0), Next::GiveUp, "so is the next one");
        }
        let mut trouble = Trouble::default();
        fail(&mut trouble, 404, 20);
        fail(&mut trouble, 400, 9);
        fail(&mut trouble, 502, 1);
        fail(&mut trouble, 400, 9);
        assert_eq!(trouble.failed(Failure::Answered(400), now(), 1.0), Next::GiveUp, "ten, one after the other");
    }

    #[test]
    fn who_takes_long_waits_elsewhere() {
        let (quick, slow) = (TimeDelta::milliseconds(100), TimeDelta::seconds(9));
        let mut trouble = Trouble::default();
        assert_eq!((trouble.lane(quick), trouble.lane(slow)), (Lane::Well, Lane::Slow));
        fail(&mut trouble, 500, 9);
        assert_eq!(trouble.lane(quick), Lane::Slow);
        fail(&mut trouble, 500, 1);
        assert_eq!(trouble.lane(quick), Lane::Failing);
    }
}
