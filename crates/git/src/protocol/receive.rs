//! Reads push requests and writes their reports (`git-receive-pack`).

use std::time::Duration;

use bytes::BytesMut;
use gix::ObjectId;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::pkt::{self, Packet, PacketWriter, Sideband};
use crate::{Error, Result};

/// A command of a push: the update of one ref. `old` is None for a new ref, `new` is None for a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushCommand {
    pub name: Vec<u8>,
    pub old: Option<ObjectId>,
    pub new: Option<ObjectId>,
}

/// The capabilities that a client requests for a push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub report_status: bool,
    pub side_band: bool,
    pub quiet: bool,
    pub atomic: bool,
}

/// A push as the client sends it before its pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushRequest {
    pub commands: Vec<PushCommand>,
    pub capabilities: Capabilities,
    pub options: Vec<String>,
}

impl PushRequest {
    /// Returns whether a pack follows the commands. A push that only deletes refs has none.
    pub fn has_pack(&self) -> bool {
        self.commands.iter().any(|command| command.new.is_some())
    }
}

/// Maximum number of ref updates in one push. Each of them causes an event for hooks.
const MAX_COMMANDS: usize = 60_000;
const MAX_REQUEST_BYTES: usize = 16 << 20;
const MAX_OPTIONS: usize = 100;
const MAX_OPTION_BYTES: usize = 4096;

/// Reads the commands and options of a push. Returns None if the client sends no commands, for example to test its
/// access.
pub async fn read_request(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<PushRequest>> {
    let mut request = PushRequest::default();
    let mut has_options = false;
    let mut total_bytes = 0;
    loop {
        let data = match pkt::read(input).await? {
            None if request.commands.is_empty() => return Ok(None),
            Some(Packet::Flush) => break,
            Some(Packet::Data(data)) => data,
            _ => return Err(Error::protocol("the request ended within the commands")),
        };
        total_bytes += data.len();
        if total_bytes > MAX_REQUEST_BYTES {
            return Err(Error::protocol("the commands of this push are too long. Push fewer refs at once"));
        }
        let line = pkt::strip_newline(&data);
        // The shallow boundary of the client is irrelevant: the connectivity check requires that new commits connect to
        // existing history.
        if line.starts_with(b"shallow ") {
            continue;
        }
        if line.starts_with(b"push-cert") {
            return Err(Error::protocol("signed pushes are not supported"));
        }
        if request.commands.len() == MAX_COMMANDS {
            return Err(Error::protocol("a push can update at most 60,000 refs. Push them in several steps"));
        }
        let mut halves = line.splitn(2, |byte| *byte == 0);
        request.commands.push(read_command(halves.next().unwrap_or_default())?);
        if let Some(words) = halves.next() {
            for word in words.split(|byte| *byte == b' ') {
                match word {
                    b"report-status" | b"report-status-v2" => request.capabilities.report_status = true,
                    b"side-band-64k" => request.capabilities.side_band = true,
                    b"quiet" => request.capabilities.quiet = true,
                    b"atomic" => request.capabilities.atomic = true,
                    b"push-options" => has_options = true,
                    b"object-format=sha256" => return Err(Error::protocol("this repository uses SHA-1 object ids")),
                    _ => {}
                }
            }
        }
    }
    if has_options && !request.commands.is_empty() {
        while let Some(Packet::Data(data)) = pkt::read(input).await? {
            let option = String::from_utf8_lossy(pkt::strip_newline(&data)).into_owned();
            if request.options.len() == MAX_OPTIONS || option.len() > MAX_OPTION_BYTES {
                return Err(Error::protocol("too many push options, or one is too long"));
            }
            request.options.push(option);
        }
    }
    Ok(Some(request).filter(|request| !request.commands.is_empty()))
}

fn read_command(line: &[u8]) -> Result<PushCommand> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let mut id = || {
        let id = parts.next().and_then(|hex| ObjectId::from_hex(hex).ok());
        let id = id.filter(|id| id.kind() == gix::hash::Kind::Sha1);
        id.ok_or_else(|| Error::protocol("malformed command"))
    };
    let (old, new) = (id()?, id()?);
    let name = parts.next().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Error::protocol("malformed command"))?.to_vec();
    let unless_null = |id: ObjectId| Some(id).filter(|id| !id.is_null());
    Ok(PushCommand { name, old: unless_null(old), new: unless_null(new) })
}

/// Maximum time that a write to the client may take.
const CLIENT_WRITE_TIMEOUT: Duration = Duration::from_secs(120);

/// Fails if the client does not read, so that it does not occupy its permit any longer.
async fn with_write_timeout(write: impl Future<Output = std::io::Result<()>>) -> std::io::Result<()> {
    tokio::time::timeout(CLIENT_WRITE_TIMEOUT, write).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
}

/// A receiver of the progress messages of git while a pack is received.
pub trait Progress {
    fn is_enabled(&self) -> bool;
    fn send_message(&mut self, text: &[u8]) -> impl Future<Output = std::io::Result<()>> + Send;
    fn send_keepalive(&mut self) -> impl Future<Output = std::io::Result<()>> + Send;
}

/// The progress of work that no client waits for.
pub struct NoProgress;

impl Progress for NoProgress {
    fn is_enabled(&self) -> bool {
        false
    }

    async fn send_message(&mut self, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    async fn send_keepalive(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes progress, keep-alives and the final report to the pushing client, on a sideband if it supports one.
pub struct Reporter<W> {
    output: W,
    capabilities: Capabilities,
}

impl<W: AsyncWrite + Unpin + Send> Reporter<W> {
    pub fn new(output: W, capabilities: Capabilities) -> Self {
        Self { output, capabilities }
    }

    /// Writes the report. `unpacked` is the result for the pack; an error is the reason why the pack or the ref was
    /// rejected.
    pub async fn report<'a>(
        &mut self,
        unpacked: std::result::Result<(), &str>,
        refs: impl Iterator<Item = (&'a [u8], std::result::Result<(), &'a str>)>,
    ) -> std::io::Result<()> {
        if !self.capabilities.report_status {
            return self.output.flush().await;
        }
        let mut report = BytesMut::new();
        report.put_packet(format!("unpack {}\n", unpacked.err().unwrap_or("ok")).as_bytes());
        for (name, result) in refs {
            let mut line = if result.is_ok() { b"ok ".to_vec() } else { b"ng ".to_vec() };
            line.extend_from_slice(name);
            if let Err(reason) = result {
                line.push(b' ');
                line.extend_from_slice(reason.as_bytes());
            }
            line.push(b'\n');
            report.put_packet(&line);
        }
        report.put_flush();
        if self.capabilities.side_band {
            pkt::write_sideband(&mut self.output, Sideband::Data, &report).await?;
            self.output.write_all(b"0000").await?;
        } else {
            self.output.write_all(&report).await?;
        }
        self.output.flush().await
    }
}

impl<W: AsyncWrite + Unpin + Send> Progress for Reporter<W> {
    fn is_enabled(&self) -> bool {
        self.capabilities.side_band && !self.capabilities.quiet
    }

    async fn send_message(&mut self, text: &[u8]) -> std::io::Result<()> {
        if !self.is_enabled() {
            return Ok(());
        }
        with_write_timeout(async {
            pkt::write_sideband(&mut self.output, Sideband::Progress, text).await?;
            self.output.flush().await
        })
        .await
    }

    async fn send_keepalive(&mut self) -> std::io::Result<()> {
        if !self.capabilities.side_band {
            return Ok(());
        }
        with_write_timeout(async {
            self.output.write_all(b"0005\x02").await?;
            self.output.flush().await
        })
        .await
    }
}
