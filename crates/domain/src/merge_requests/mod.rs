//! States of merge requests, and what their titles say.

mod merge_status;
mod state;
mod title;

pub use merge_status::{MergeStatus, UnknownMergeStatus};
pub use state::{MergeRequestState, UnknownMergeRequestState};
pub use title::is_work_in_progress;
