//! Detects peers that stall a transfer: a timer for polled streams around the rule in
//! [`progress_budget`](holdfast_app::progress_budget).

use std::pin::Pin;
use std::task::{Context, Poll};

use holdfast_app::progress_budget::ProgressBudget;
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that measures how long the peer stalls a transfer, and fires when the budget is used up.
pub struct StallTimer {
    budget: ProgressBudget,
    waiting_since: Option<Instant>,
    /// Created when the peer is first waited for, which most transfers never need.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    pub fn new(budget: ProgressBudget) -> Self {
        Self { budget, waiting_since: None, sleep: None }
    }

    /// Requires at least this rate from now on.
    pub fn raise_rate(&mut self, min_bytes_per_second: u64) {
        self.budget.raise_rate(min_bytes_per_second);
    }

    /// Records transferred bytes and ends the current wait, if any.
    pub fn progress(&mut self, bytes: usize) {
        if let Some(since) = self.waiting_since.take() {
            self.budget.spend(since.elapsed());
        }
        self.budget.earn(bytes);
    }

    /// Completes when the budget is used up. The caller polls it whenever the transfer waits for the peer.
    pub fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let deadline = since + self.budget.left();
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}
