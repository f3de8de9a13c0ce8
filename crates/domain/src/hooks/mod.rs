//! Who is told of what happens, and how often that is tried.

mod kind;
mod trouble;

pub use kind::{Kind, SYSTEM_TITLE};
pub use trouble::{Failure, Lane, Next, Trouble};
