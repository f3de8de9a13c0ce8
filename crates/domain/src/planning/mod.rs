//! Issues, labels and references to issues.

mod issue;
mod label;
mod reference;

pub use issue::{ConfidentialAccess, IssueState, StateEvent, UnknownState};
pub use label::{Color, LabelTitle};
pub use reference::{issues_closed_by, issues_mentioned_in};
