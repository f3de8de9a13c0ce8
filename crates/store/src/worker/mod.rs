pub mod closing;
pub mod compaction;
pub mod contributors;
mod farewell;
pub mod import;
pub mod job;
pub mod merged_branches;
pub mod removal;

/// All that can be queued.
pub const TASKS: [&str; 7] = [
    closing::CLOSE_ISSUES,
    compaction::COMPACT,
    contributors::COUNT_CONTRIBUTORS,
    import::IMPORT,
    merged_branches::DELETE_MERGED_BRANCHES,
    removal::REMOVE_AUTHOR,
    removal::REMOVE_PROJECTS,
];
