//! Enqueues background jobs, with one module per task. The jobs run in `app` (ADR 0007).

pub mod close_issues;
pub mod contributors;
pub mod gitlab_import;
pub mod import;
pub mod job;
pub mod maintenance;
pub mod merge_requests;
pub mod merged_branches;
pub mod pipelines;
pub mod removal;
pub mod removed_members;

/// All tasks that can be enqueued.
pub const TASKS: [&str; 12] = [
    close_issues::CLOSE_ISSUES,
    contributors::COUNT_CONTRIBUTORS,
    gitlab_import::IMPORT_GITLAB,
    import::IMPORT,
    maintenance::MAINTAIN,
    merge_requests::ACCEPT_WAITING_MERGE_REQUESTS,
    merge_requests::UPDATE_MERGE_REQUESTS,
    merged_branches::DELETE_MERGED_BRANCHES,
    pipelines::CREATE_PIPELINES,
    removal::REASSIGN_AUTHOR,
    removal::REMOVE_AUTHOR,
    removal::REMOVE_PROJECTS,
];
