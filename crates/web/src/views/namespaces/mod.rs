//! Groups.

pub mod access_request;
pub mod frame;
pub mod group;
pub mod level;
pub mod member_form;
pub mod member_list;
pub mod new_group;
pub mod settings;
