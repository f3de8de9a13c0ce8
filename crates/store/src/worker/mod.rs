pub mod compaction;
pub mod import;
pub mod job;
pub mod removal;
