//! How long a peer may keep us waiting in the middle of a transfer.

use std::time::Duration;

/// The time that a peer has left to make progress.
///
/// Waiting for the peer uses it up, and every byte that moves gives some of it back, up to a maximum. A peer that stops loses its
/// connection after that maximum; one that moves a byte now and then does so soon after; one that keeps to the minimum rate
/// never does.
#[derive(Clone, Debug)]
pub struct ProgressBudget {
    left: Duration,
    max: Duration,
    min_bytes_per_second: u64,
}

impl ProgressBudget {
    /// `initial` is what the peer has before the first byte.
    pub fn new(initial: Duration, max: Duration, min_bytes_per_second: u64) -> Self {
        Self { left: initial.min(max), max, min_bytes_per_second }
    }

    pub fn left(&self) -> Duration {
        self.left
    }

    /// Demands at least this rate from now on. A lower one changes nothing.
    pub fn raise_rate(&mut self, min_bytes_per_second: u64) {
        self.min_bytes_per_second = self.min_bytes_per_second.max(min_bytes_per_second);
    }

    /// Counts time in which we waited for the peer.
    pub fn spend(&mut self, waited: Duration) {
        self.left = self.left.saturating_sub(waited);
    }

    /// Counts bytes that the peer sent or took.
    pub fn earn(&mut self, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / self.min_bytes_per_second as f64);
        self.left = self.left.saturating_add(earned).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_minimum_rate_keeps_the_budget() {
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
        // What was quick before does not excuse more than the maximum.
        steady.earn(1 << 30);
        assert_eq!(steady.left(), 10 * second);
        assert_eq!(ProgressBudget::new(2 * second, 10 * second, 1).left(), 2 * second);
        // What was enough is too slow for a higher rate, and a lower one is no relief.
        steady.raise_rate(4000);
        steady.raise_rate(1);
        steady.spend(4 * second);
        steady.earn(4000);
        assert_eq!(steady.left(), 7 * second);
    }
}
