//! Merge requests within a project and from forks, which are opened, updated, accepted, closed and reopened while nodes
//! are killed.
//!
//! Every merge request belongs to one client, which knows its state unless a response was lost. [`check`] compares what
//! the clients know with the server, and recounts the merges in the repositories.

mod accept;
mod check;
mod proposer;
mod wait;

use std::sync::Arc;

use serde::Deserialize;
use tokio::task::JoinSet;

use crate::{Arguments, Harness};

pub use check::check;
pub use wait::wait_for_updates;

/// Number of the first client, which no client of other refs has.
const FIRST_CLIENT: u16 = 1000;

/// A merge request in the API.
#[derive(Clone, Debug, Deserialize)]
pub struct MergeRequest {
    pub id: i64,
    pub iid: i64,
    pub state: String,
    pub source_branch: String,
    pub target_branch: String,
    /// The newest head.
    pub sha: String,
    pub merge_commit_sha: Option<String>,
}

impl MergeRequest {
    pub fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "opened" | "reopened")
    }
}

/// Starts the clients: one for each two clients that push, but at least two.
pub fn spawn(tasks: &mut JoinSet<anyhow::Result<()>>, harness: &Arc<Harness>, arguments: &Arguments) {
    for number in 0..(arguments.clients / 2).max(2) {
        tasks.spawn(proposer::run(harness.clone(), FIRST_CLIENT + number));
    }
}
