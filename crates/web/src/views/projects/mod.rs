//! Lists of projects, and the first page of a project.

pub mod frame;
pub mod home;
pub mod list;
pub mod row;
