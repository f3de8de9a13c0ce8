//! One binary for all integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod architecture;
mod audit;
mod authentication;
mod content;
mod content_security;
mod contributors;
mod documents;
mod emails;
mod feeds;
mod forks;
mod git_http;
mod git_security;
mod groups;
mod hidden_objects;
mod hooks;
mod imports;
mod jobs;
mod members;
mod merged_branches;
mod pages;
mod params;
mod plans;
mod project_access;
mod project_lists;
mod project_races;
mod projects;
mod protected_branches;
mod push_events;
mod ref_conflicts;
mod releases;
mod repositories;
mod sessions;
mod ssh;
mod ssh_door;
mod ssh_keys;
mod submodules;
mod tokens;
mod two_worlds;
mod uploads;
mod user_deletion;
mod users;
