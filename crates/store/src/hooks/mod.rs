//! Tables of webhooks: hooks, events, fan-out, and the delivery queue (ADR 0020).

pub mod delivery;
pub mod fan_out;
pub mod hook;
pub mod queue;
pub mod stored_event;
