//! Texts in lists, which are truncated if they were stored before there was a limit: `left(description, 65536)`.
//!
//! PostgreSQL truncates to a number of characters, while the limits of new texts are in bytes. A text within its limit
//! has at most as many characters as bytes, so it is never truncated.

use holdfast_domain::text::{MAX_MILESTONE_TEXT_BYTES, MAX_TEXT_BYTES};

// The limits are literals in the statements of feeds, issues, notes and milestones.
const _: () = assert!(MAX_TEXT_BYTES == 65536 && MAX_MILESTONE_TEXT_BYTES == 16384);
