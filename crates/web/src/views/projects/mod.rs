//! Lists of projects, and the first page of a project.

pub mod access_token;
pub mod activity;
pub mod deletion;
pub mod deploy_key;
pub mod event_row;
pub mod fork;
pub mod frame;
pub mod home;
pub mod jump;
pub mod list;
pub mod member_list;
pub mod new;
pub mod protection;
pub mod row;
pub mod search;
pub mod settings;
pub mod settings_nav;
pub mod transfer;
