//! Events of the activity feed.

mod event;

pub use event::{Action, Audience, SubjectKind, UnknownAction};
