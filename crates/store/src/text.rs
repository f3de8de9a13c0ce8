//! Texts in lists, which are truncated if they were stored before there was a limit.
//!
//! PostgreSQL truncates to a number of characters, while the limits of new texts are in bytes. A text within its limit
//! has at most as many characters as bytes, so it is never truncated.

use holdfast_domain::text::{MAX_MILESTONE_TEXT_BYTES, MAX_TEXT_BYTES};

/// The SQL expression for the beginning of a description or a note.
macro_rules! listed_text {
    ($column:literal) => {
        concat!("left(", $column, ", 65536)")
    };
}
pub(crate) use listed_text;

/// The SQL expression for the beginning of a milestone's description.
macro_rules! listed_milestone_text {
    ($column:literal) => {
        concat!("left(", $column, ", 16384)")
    };
}
pub(crate) use listed_milestone_text;

// The columns of lists are built by `concat!`, which only accepts literals, so the limits are repeated above.
const _: () = assert!(MAX_TEXT_BYTES == 65536 && MAX_MILESTONE_TEXT_BYTES == 16384);
