//! Projects, their members, deploy keys, forks, shares, stars and uploads.

pub mod access_request;
pub mod access_token;
pub mod deploy_key;
pub mod fork;
pub mod group;
pub mod home;
pub mod initial_commit;
pub mod list;
pub mod member;
pub mod member_overview;
pub mod project;
pub mod share;
pub mod star;
pub mod transfer;
pub mod upload;
