//! Runs `git rev-list` and streams the object ids it lists.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::process::{Command, read_stderr_tail};
use crate::{Error, Result};

/// Returns the input of `rev-list --stdin` for a walk from `included` that stops at `excluded`.
pub fn stdin_revisions(included: impl Iterator<Item = ObjectId>, excluded: impl Iterator<Item = ObjectId>) -> String {
    let mut text = String::new();
    for id in included {
        writeln!(text, "{id}").ok();
    }
    // `--not` is accepted on stdin only since git 2.42.
    for id in excluded {
        writeln!(text, "^{id}").ok();
    }
    text
}

/// Calls `visit` for each id that the command lists, until it breaks or the list ends.
pub async fn for_each_oid(
    command: Command,
    input: String,
    deadline: Duration,
    mut visit: impl FnMut(ObjectId) -> ControlFlow<()>,
) -> Result<()> {
    let mut process = command.start()?;
    let (mut stdin, stdout, stderr) = process.take_pipes();
    let feed = async move {
        // Git may exit before it has read all input, so a broken pipe is no error.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
    };
    let read = async {
        let mut lines = BufReader::with_capacity(64 << 10, stdout).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            if let Ok(id) = ObjectId::from_hex(&line)
                && visit(id).is_break()
            {
                return Ok::<_, Error>(true);
            }
        }
        Ok(false)
    };
    let work = async {
        let mut read_stderr = std::pin::pin!(async { tokio::join!(feed, read_stderr_tail(stderr)).1 });
        let mut read = std::pin::pin!(read);
        let mut stderr_tail = None;
        let is_enough = loop {
            tokio::select! {
                enough = &mut read => break enough?,
                text = &mut read_stderr, if stderr_tail.is_none() => stderr_tail = Some(text),
            }
        };
        if is_enough {
            return Ok(());
        }
        let stderr_tail = match stderr_tail {
            Some(text) => text,
            None => read_stderr.await,
        };
        process.wait_success(&stderr_tail).await
    };
    let timed_out = Err(Error::TimedOut { command: "rev-list", after: deadline });
    tokio::time::timeout(deadline, work).await.unwrap_or(timed_out)
}
