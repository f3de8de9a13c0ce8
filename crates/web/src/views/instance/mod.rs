//! The administration, and the first run.

pub mod admin_nav;
pub mod configuration;
pub mod group_list;
pub mod job_list;
pub mod overview;
pub mod project_list;
pub mod setup;
pub mod storage;
pub mod user;
pub mod user_form;
pub mod user_list;
