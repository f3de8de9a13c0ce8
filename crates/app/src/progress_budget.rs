//! Limits how long a peer may stall a transfer.

use std::time::Duration;

/// The time that a peer has left to make progress.
///
/// Waiting for the peer uses up the budget, and every transferred byte adds to it, up to a maximum. A peer that stops
/// is disconnected after that maximum at the latest, a peer that transfers single bytes now and then soon after, and a
/// peer that keeps the minimum rate never.
#[derive(Clone, Debug)]
pub struct ProgressBudget {
    left: Duration,
    max: Duration,
    min_bytes_per_second: u64,
}

impl ProgressBudget {
    /// Creates a budget. `initial` is the time that the peer has before the first byte.
    pub fn new(initial: Duration, max: Duration, min_bytes_per_second: u64) -> Self {
        Self { left: initial.min(max), max, min_bytes_per_second }
    }

    pub fn left(&self) -> Duration {
        self.left
    }

    /// Requires at least this rate from now on. A lower rate changes nothing.
    pub fn raise_rate(&mut self, min_bytes_per_second: u64) {
        self.min_bytes_per_second = self.min_bytes_per_second.max(min_bytes_per_second);
    }

    /// Subtracts time that was spent waiting for the peer.
    pub fn spend(&mut self, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
    }

    /// Adds the time for bytes that the peer sent or received.
    pub fn earn(&mut self, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / self.min_bytes_per_second as f64);
        self.left = self.left.saturating_add(earned).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_below_the_minimum_rate_use_up_the_budget() {
        let second = Duration::from_secs(1);
        let mut steady = ProgressBudget::new(10 * second, 10 * second, 1000);
        let mut dripping = steady.clone();
        for _ in 0..9 {
            steady.spend(second);
            steady.earn(1000);
            dripping.spend(second);
            dripping.earn(1);
        }
        assert_eq!(steady.left(), 10 * second);
        assert!(dripping.left() < 2 * second);
        // A fast transfer does not raise the budget above the maximum.
        steady.earn(1 << 30);
        assert_eq!(steady.left(), 10 * second);
        assert_eq!(ProgressBudget::new(2 * second, 10 * second, 1).left(), 2 * second);
        // The previous rate is too slow after the rate was raised, and lowering it has no effect.
        steady.raise_rate(4000);
        steady.raise_rate(1);
        steady.spend(4 * second);
        steady.earn(4000);
        assert_eq!(steady.left(), 7 * second);
    }
}
