//! Permits for threads that highlight code.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// A number of permits.
pub struct Permits {
    free: Mutex<usize>,
    released: Condvar,
}

/// A permit, which is released when it is dropped.
pub struct Permit(&'static Permits);

impl Permits {
    pub const fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), released: Condvar::new() }
    }

    /// Waits for a permit until the deadline.
    pub fn acquire(&'static self, deadline: Instant) -> Option<Permit> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            let timeout = deadline.saturating_duration_since(Instant::now());
            if timeout.is_zero() {
                return None;
            }
            free = self.released.wait_timeout(free, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Permit(self))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.released.notify_one();
    }
}
