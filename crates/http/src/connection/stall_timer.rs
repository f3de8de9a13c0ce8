use std::pin::Pin;
use std::task::{Context, Poll};

use holdfast_app::progress_budget::ProgressBudget;
use tokio::time::{Instant, Sleep, sleep_until};

/// Measures how long a transfer is held up by the peer, and tells when that is too long.
pub struct StallTimer {
    budget: ProgressBudget,
    waiting_since: Option<Instant>,
    /// Made when the peer is first waited for: most never are.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl StallTimer {
    pub fn new(budget: ProgressBudget) -> Self {
        Self { budget, waiting_since: None, sleep: None }
    }

    /// Demands at least this rate from now on.
    pub fn raise_rate(&mut self, min_bytes_per_second: u64) {
        self.budget.raise_rate(min_bytes_per_second);
    }

    /// Counts bytes that moved. Ends the waiting, if there was any.
    pub fn progress(&mut self, bytes: usize) {
        if let Some(since) = self.waiting_since.take() {
            self.budget.spend(since.elapsed());
        }
        self.budget.earn(bytes);
    }

    /// To be called whenever the peer has to be waited for. Ready when the budget is used up.
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
