pub mod job;
pub mod removal;
