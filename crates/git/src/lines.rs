//! Reads the output of a git process line by line, in bounded memory.

use std::ops::Deref;

use gix::bstr::ByteSlice;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdout;
use tokio::task::JoinHandle;

use crate::Result;
use crate::process::{Command, GitProcess, read_stderr_tail};

/// The output of a git process, read line by line.
pub struct Lines {
    stdout: BufReader<ChildStdout>,
    delimiter: u8,
    line: Vec<u8>,
    process: GitProcess,
    stderr_tail: Option<JoinHandle<Vec<u8>>>,
}

/// A line, truncated to `MAX_LINE_BYTES`.
pub struct Line<'a> {
    text: &'a [u8],
    /// The length of the whole line.
    pub bytes: u64,
}

impl Deref for Line<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.text
    }
}

/// Maximum length of a line in memory. The rest of a longer line is read and discarded.
const MAX_LINE_BYTES: usize = 128 << 10;

impl Lines {
    /// Starts a command without input. `delimiter` is the byte that ends a line.
    pub fn spawn(command: Command, delimiter: u8) -> Result<Self> {
        Self::spawn_with_input(command, delimiter, String::new())
    }

    pub fn spawn_with_input(command: Command, delimiter: u8, input: String) -> Result<Self> {
        let mut process = command.start()?;
        let (mut stdin, stdout, stderr) = process.take_pipes();
        // Git may exit before it has read all input, so a broken pipe is no error.
        tokio::spawn(async move { stdin.write_all(input.as_bytes()).await.ok() });
        let stderr_tail = Some(tokio::spawn(read_stderr_tail(stderr)));
        Ok(Self {
            stdout: BufReader::with_capacity(64 << 10, stdout),
            delimiter,
            line: Vec::new(),
            process,
            stderr_tail,
        })
    }

    /// Returns the next line without its delimiter, or None after the last line. Fails at the end if the process
    /// failed.
    pub async fn next(&mut self) -> Result<Option<Line<'_>>> {
        self.line.clear();
        let mut is_at_end = true;
        let mut bytes = 0;
        loop {
            let chunk = self.stdout.fill_buf().await?;
            if chunk.is_empty() {
                break;
            }
            is_at_end = false;
            let delimiter_index = chunk.find_byte(self.delimiter);
            let part = &chunk[..delimiter_index.unwrap_or(chunk.len())];
            let remaining = MAX_LINE_BYTES - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(remaining)]);
            bytes += part.len() as u64;
            let used = part.len() + usize::from(delimiter_index.is_some());
            self.stdout.consume(used);
            if delimiter_index.is_some() {
                break;
            }
        }
        if !is_at_end {
            return Ok(Some(Line { text: &self.line, bytes }));
        }
        if let Some(stderr_tail) = self.stderr_tail.take() {
            self.process.wait_success(&stderr_tail.await.unwrap_or_default()).await?;
        }
        Ok(None)
    }
}
