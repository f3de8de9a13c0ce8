//! Lists of projects, and the first page of a project.

pub mod activity;
pub mod event_row;
pub mod fork;
pub mod frame;
pub mod home;
pub mod list;
pub mod new;
pub mod row;
pub mod search;
pub mod settings;
