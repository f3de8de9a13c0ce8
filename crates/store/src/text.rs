//! Texts as lists show them: those that were stored before there was a limit are cut.
//!
//! PostgreSQL cuts to a number of characters, and the limits of new texts are in bytes. A text within its limit has at most
//! as many characters as bytes, and is never cut.

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

// Columns of lists are put together by `concat!`, which takes literals alone.
const _: () = assert!(MAX_TEXT_BYTES == 65536 && MAX_MILESTONE_TEXT_BYTES == 16384);
