//! What is told of what happened.

mod event;

pub use event::{Action, Audience, SubjectKind, UnknownAction};
