//! Whether everything is there that new tips need.

use std::fmt::Write;
use std::time::Duration;

use gix::ObjectId;

use crate::{Bare, Error, Git, Result};

/// How long the walk may take that knows of few old tips; then it is told all of them.
const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(600);

/// `near` are tips the new ones most likely grew from, `all` every tip there is. What they reach is there: a walk ends at
/// them. So both walks give the same answer, and the first one only takes less when it is lucky.
pub async fn check(
    git: &Git,
    bare: &Bare,
    new: &[ObjectId],
    near: &[ObjectId],
    all: impl Iterator<Item = ObjectId>,
) -> Result<bool> {
    if new.is_empty() {
        return Ok(true);
    }
    match walk(git, bare, new, near.iter().copied(), SHORT).await {
        Err(Error::TimedOut { .. }) => walk(git, bare, new, all, LONG).await,
        answer => answer,
    }
}

async fn walk(
    git: &Git,
    bare: &Bare,
    new: &[ObjectId],
    old: impl Iterator<Item = ObjectId>,
    deadline: Duration,
) -> Result<bool> {
    let mut input = String::new();
    for id in new {
        writeln!(input, "{id}").ok();
    }
    input.push_str("--not\n");
    for id in old {
        writeln!(input, "{id}").ok();
    }
    let command = git.command(bare.directory(), "rev-list").words(["--objects", "--quiet", "--stdin"]);
    match command.run(input.as_bytes(), 0, deadline).await {
        Ok(_) => Ok(true),
        Err(Error::Failed { said, .. }) => {
            tracing::info!(said, "a push lacks objects");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
