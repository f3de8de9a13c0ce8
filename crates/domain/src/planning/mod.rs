//! What is planned.

mod closing;
mod issue;
mod label;

pub use closing::closed_by;
pub use issue::{IssueState, Seen, StateEvent, UnknownState};
pub use label::{Color, LabelTitle};
