//! Issues, labels and references to issues.

mod emoji;
mod issue;
mod label;
mod mention;
mod query;
mod quick_action;
mod reference;
mod todo;
mod words;
mod work_time;

pub use emoji::Emoji;
pub use issue::{ConfidentialAccess, IssueState, StateEvent, UnknownState};
pub use label::{Color, LabelTitle};
pub use mention::{FoundMention, Mention, find_mentions};
pub use query::{DueFilter, ListKind, ListOrder, ListQuery, MilestoneFilter, ParsedQuery, PersonFilter, StateFilter};
pub use quick_action::{QuickAction, QuickActionKind, split_quick_actions};
pub use reference::{issues_closed_by, issues_mentioned_in};
pub use todo::{TodoAction, UnknownTodoAction};
pub use work_time::{format_work_time, parse_work_time};
