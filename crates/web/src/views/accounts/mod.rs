//! Signing in, profiles and sessions.

pub mod profile;
pub mod session;
pub mod sign_in;
pub mod user;
