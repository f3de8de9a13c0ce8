//! Pieces of endpoints that are the same in both versions of the API: parameters with their conversion into the input of a
//! use case, and handlers whose response is the same.
//!
//! - A piece has the same names, descriptions and statuses in both versions. Where they differ, each version has its own.
//! - Modules here use neither `v3` nor `v4`.

pub mod builds;
pub mod commit_statuses;
pub mod commits;
pub mod content;
pub mod files;
pub mod shares;
pub mod time_tracking;
pub mod users;

use super::ApiResult;
