//! Events for webhooks, and the retry rules of their deliveries.

mod event_kind;
mod retry;

pub use event_kind::{EventKind, SYSTEM_HEADER_VALUE};
pub use retry::{Failure, Lane, RetryDecision, RetryState};
