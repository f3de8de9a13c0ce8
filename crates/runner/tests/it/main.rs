//! Whole builds against servers that are not real, and scripts that try to break out.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, or says why it does not")]

mod builds;
mod fake;
mod kit;
mod protocol;
mod sandbox;
