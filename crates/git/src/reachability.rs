//! Whether tips reach an object. A pack may hold more than its repository's refs lead to: what a forced push left
//! behind, or what a fork's parent keeps to itself. Knowing an id gives no right to it.

use std::collections::HashSet;
use std::fmt::Write;
use std::time::Duration;

use gix::ObjectId;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::program::read_said;
use crate::{Bare, Error, Git, Result};

const PATIENCE: Duration = Duration::from_secs(120);

/// Whether all of `wanted` can be reached. Commits are looked for among commits alone, which is much less than
/// everything; the walk ends when the last of them is found.
pub async fn reach_all(git: &Git, bare: &Bare, tips: &[ObjectId], wanted: HashSet<ObjectId>) -> Result<bool> {
    if wanted.is_empty() {
        return Ok(true);
    }
    let reader = bare.clone();
    let ids: Vec<ObjectId> = wanted.iter().copied().collect();
    let kinds = tokio::task::spawn_blocking(move || crate::reader::Reader::open(&reader)?.are_commits(&ids));
    let Some(only_commits) = kinds.await.map_err(|error| Error::protocol(error.to_string()))?? else {
        return Ok(false);
    };
    let found = find_all(git, bare, tips, wanted, only_commits);
    tokio::time::timeout(PATIENCE, found).await.unwrap_or(Err(Error::TimedOut { command: "rev-list", after: PATIENCE }))
}

async fn find_all(
    git: &Git,
    bare: &Bare,
    tips: &[ObjectId],
    mut wanted: HashSet<ObjectId>,
    only_commits: bool,
) -> Result<bool> {
    let mut command = git.command(bare.directory(), "rev-list").words(["--stdin", "--use-bitmap-index"]);
    if !only_commits {
        command = command.words(["--objects", "--no-object-names"]);
    }
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    let mut input = String::new();
    for tip in tips {
        writeln!(input, "{tip}").ok();
    }
    let feed = async {
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
    };
    let search = async {
        let mut lines = BufReader::with_capacity(64 << 10, stdout).lines();
        while let Some(line) = lines.next_line().await? {
            if let Ok(id) = ObjectId::from_hex(line.as_bytes())
                && wanted.remove(&id)
                && wanted.is_empty()
            {
                return Ok::<_, Error>(true);
            }
        }
        Ok(false)
    };
    let mut errors = std::pin::pin!(read_said(stderr));
    let mut feed = std::pin::pin!(feed);
    let mut search = std::pin::pin!(search);
    let mut fed = false;
    let mut said = None;
    let found = loop {
        tokio::select! {
            found = &mut search => break found?,
            () = &mut feed, if !fed => fed = true,
            text = &mut errors, if said.is_none() => said = Some(text),
        }
    };
    if found {
        return Ok(true);
    }
    let said = match said {
        Some(said) => said,
        None => errors.await,
    };
    running.succeeded(&said).await?;
    Ok(false)
}
