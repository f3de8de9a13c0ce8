//! The values that templates show, and plain functions that build them from what a use case returned.
//!
//! A view neither queries nor waits. Each page is a struct with `#[derive(askama::Template)]` and a field `layout`; a
//! handler builds it with the function beside it and renders it.

pub mod accounts;
pub mod activity;
pub mod ci;
pub mod errors;
pub mod form;
pub mod hooks;
pub mod instance;
pub mod merge_requests;
pub mod namespaces;
pub mod pages;
pub mod person;
pub mod planning;
pub mod projects;
pub mod prose;
pub mod repository;
pub mod status;
pub mod visibility;
pub mod visibility_choice;

pub use holdfast_domain::site as links;
pub use holdfast_domain::site::{HookLinks, ProjectLinks};
pub use pages::Pages;
pub use person::Person;

/// The version of the server, shown at the end of every page.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
