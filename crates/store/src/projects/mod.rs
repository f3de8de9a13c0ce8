//! Projects, their forks, shares, stars and uploads.

pub mod attributes;
pub mod fork;
pub mod home;
pub mod list;
pub mod namespace;
pub mod project;
pub mod redirect;
pub mod share;
pub mod star;
pub mod upload;
