pub mod closing;
pub mod contributors;
mod farewell;
pub mod import;
pub mod job;
pub mod maintenance;
pub mod merged_branches;
pub mod pipelines;
pub mod removal;

/// All that can be queued.
pub const TASKS: [&str; 9] = [
    closing::CLOSE_ISSUES,
    contributors::COUNT_CONTRIBUTORS,
    import::IMPORT,
    maintenance::MAINTAIN,
    merged_branches::DELETE_MERGED_BRANCHES,
    pipelines::CREATE_PIPELINES,
    removal::REASSIGN_AUTHOR,
    removal::REMOVE_AUTHOR,
    removal::REMOVE_PROJECTS,
];
