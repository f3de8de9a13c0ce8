//! What a process of git writes, line by line, in bounded memory.

use std::ops::Deref;

use gix::bstr::ByteSlice;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;

use crate::Result;
use crate::program::{Command, Running, read_said};

pub struct Lines {
    stdout: BufReader<ChildStdout>,
    end: u8,
    line: Vec<u8>,
    running: Running,
    said: Option<JoinHandle<Vec<u8>>>,
}

/// A line, or how it begins.
pub struct Line<'a> {
    text: &'a [u8],
    /// The whole of it.
    pub bytes: u64,
}

impl Deref for Line<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.text
    }
}

/// Of a line that is longer, the rest is read and forgotten.
const LONGEST: usize = 128 << 10;

impl Lines {
    /// Of a command that is told nothing. `end` is what ends a line.
    pub fn of(command: Command, end: u8) -> Result<Self> {
        Self::told(command, end, String::new())
    }

    pub fn told(command: Command, end: u8, input: String) -> Result<Self> {
        let mut running = command.start()?;
        let (mut stdin, stdout, stderr) = running.pipes();
        // It need not read to the end.
        tokio::spawn(async move { stdin.write_all(input.as_bytes()).await.ok() });
        let said = Some(tokio::spawn(read_said(stderr)));
        Ok(Self { stdout: BufReader::with_capacity(64 << 10, stdout), end, line: Vec::new(), running, said })
    }

    /// Without its end. None when there are no more and the process ended well.
    pub async fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.line.clear();
        let mut is_at_end = true;
        let mut bytes = 0;
        loop {
            let some = self.stdout.fill_buf().await?;
            if some.is_empty() {
                break;
            }
            is_at_end = false;
            let place = some.find_byte(self.end);
            let part = &some[..place.unwrap_or(some.len())];
            let room = LONGEST - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            bytes += part.len() as u64;
            let used = part.len() + usize::from(place.is_some());
            self.stdout.consume(used);
            if place.is_some() {
                break;
            }
        }
        if !is_at_end {
            return Ok(Some(Line { text: &self.line, bytes }));
        }
        if let Some(said) = self.said.take() {
            self.running.succeeded(&said.await.unwrap_or_default()).await?;
        }
        Ok(None)
    }
}
