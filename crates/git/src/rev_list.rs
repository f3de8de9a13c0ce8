//! Walking from some commits to all that they lead to.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use gix::ObjectId;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::program::{Command, read_said};
use crate::{Error, Result};

/// The input of `rev-list --stdin`: from these, up to those.
pub fn input(from: impl Iterator<Item = ObjectId>, up_to: impl Iterator<Item = ObjectId>) -> String {
    let mut text = String::new();
    for id in from {
        writeln!(text, "{id}").ok();
    }
    // Not behind `--not`, which git takes here since 2.42 only.
    for id in up_to {
        writeln!(text, "^{id}").ok();
    }
    text
}

/// Shows each id as it comes, until the end or until enough was seen.
pub async fn each(
    command: Command,
    input: String,
    deadline: Duration,
    mut look: impl FnMut(ObjectId) -> ControlFlow<()>,
) -> Result<()> {
    let mut running = command.start()?;
    let (mut stdin, stdout, stderr) = running.pipes();
    let feed = async move {
        // It need not read to the end.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
    };
    let read = async {
        let mut lines = BufReader::with_capacity(64 << 10, stdout).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            if let Ok(id) = ObjectId::from_hex(&line)
                && look(id).is_break()
            {
                return Ok::<_, Error>(true);
            }
        }
        Ok(false)
    };
    let work = async {
        let mut listen = std::pin::pin!(async { tokio::join!(feed, read_said(stderr)).1 });
        let mut read = std::pin::pin!(read);
        let mut said = None;
        let enough = loop {
            tokio::select! {
                enough = &mut read => break enough?,
                text = &mut listen, if said.is_none() => said = Some(text),
            }
        };
        if enough {
            return Ok(());
        }
        let said = match said {
            Some(said) => said,
            None => listen.await,
        };
        running.succeeded(&said).await
    };
    let late = Err(Error::TimedOut { command: "rev-list", after: deadline });
    tokio::time::timeout(deadline, work).await.unwrap_or(late)
}
