//! The access table of version 4.

mod accounts;
mod ci;
mod planning;
mod projects;
mod repository;

use super::table::Entry;

/// The entries that agree with the declared policies.
pub const TABLES: [&[Entry]; 6] =
    [METADATA, accounts::ACCOUNTS, ci::CI_V4, planning::PLANNING, projects::PROJECTS, repository::REPOSITORY];

/// The entries whose use cases are narrower than the declared policies.
pub const NARROWER: [&[Entry]; 5] = [
    accounts::ACCOUNTS_NARROWER,
    ci::CI_V4_NARROWER,
    planning::PLANNING_NARROWER,
    projects::PROJECTS_NARROWER,
    repository::REPOSITORY_NARROWER,
];

const METADATA: &[Entry] = &[
    super::table::entry("GET /api/v4/version", "/api/v4/version", &[], super::table::SIGNED_IN),
    super::table::entry("GET /api/v4/metadata", "/api/v4/metadata", &[], super::table::SIGNED_IN),
];
