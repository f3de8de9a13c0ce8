pub mod delivery;
pub mod fan_out;
pub mod hook;
pub mod queue;
pub mod stored_event;
