//! One binary for all integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod architecture;
mod authentication;
mod documents;
mod emails;
mod feeds;
mod groups;
mod hooks;
mod jobs;
mod members;
mod pages;
mod params;
mod plans;
mod project_access;
mod project_lists;
mod project_races;
mod projects;
mod sessions;
mod ssh_keys;
mod tokens;
mod two_worlds;
mod uploads;
mod user_deletion;
mod users;
