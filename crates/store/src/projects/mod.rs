//! Projects, their deploy keys, forks, shares, stars and uploads.

pub mod attributes;
pub mod deploy_key;
pub mod fork;
pub mod gitlab_import;
pub mod home;
pub mod list;
pub mod namespace;
mod narrowing;
pub mod project;
pub mod redirect;
pub mod share;
pub mod star;
pub mod upload;
