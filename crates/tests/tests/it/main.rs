//! One binary for all integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod architecture;
mod authentication;
mod documents;
mod emails;
mod groups;
mod members;
mod pages;
mod params;
mod plans;
mod sessions;
mod ssh_keys;
mod tokens;
mod users;
