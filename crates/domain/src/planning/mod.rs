//! What is planned.

mod issue;
mod label;
mod reference;

pub use issue::{IssueState, Seen, StateEvent, UnknownState};
pub use label::{Color, LabelTitle};
pub use reference::{closed_by, mentioned_in};
