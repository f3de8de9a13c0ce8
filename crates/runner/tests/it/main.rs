//! Tests of the runner: builds against a fake server, and scripts that try to escape from the sandbox.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, or says why it does not")]

mod builds;
mod fake_server;
mod kit;
mod protocol;
mod sandbox;
