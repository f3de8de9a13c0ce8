//! What a client asks for when it pushes, and what it is told.

use std::time::Duration;

use bytes::BytesMut;
use gix::ObjectId;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::pkt::{self, Band, Packet, Write};
use crate::{Error, Result};

/// To move one ref. No value is one that is to be made or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub name: Vec<u8>,
    pub old: Option<ObjectId>,
    pub new: Option<ObjectId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub report_status: bool,
    pub side_band: bool,
    pub quiet: bool,
    pub atomic: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushRequest {
    pub commands: Vec<Command>,
    pub capabilities: Capabilities,
    pub options: Vec<String>,
}

impl PushRequest {
    /// A push that only removes refs comes without one.
    pub fn has_pack(&self) -> bool {
        self.commands.iter().any(|command| command.new.is_some())
    }
}

/// Each of them is told to who listens.
const MOST_COMMANDS: usize = 60_000;
const MOST_BYTES: usize = 16 << 20;
const MOST_OPTIONS: usize = 100;
const LONGEST_OPTION: usize = 4096;

/// None for a client that only asks whether it may come in.
pub async fn read_request(input: &mut (impl AsyncRead + Unpin)) -> Result<Option<PushRequest>> {
    let mut request = PushRequest::default();
    let mut has_options = false;
    let mut seen = 0;
    loop {
        let data = match pkt::read(input).await? {
            None if request.commands.is_empty() => return Ok(None),
            Some(Packet::Flush) => break,
            Some(Packet::Data(data)) => data,
            _ => return Err(Error::protocol("the commands break off")),
        };
        seen += data.len();
        if seen > MOST_BYTES {
            return Err(Error::protocol("too many refs in one push"));
        }
        let line = pkt::line(&data);
        // Where the client's history ends. It must lead to what is here already, so that does not matter.
        if line.starts_with(b"shallow ") {
            continue;
        }
        if line.starts_with(b"push-cert") {
            return Err(Error::protocol("signed pushes are not supported"));
        }
        if request.commands.len() == MOST_COMMANDS {
            return Err(Error::protocol("a push moves at most 60,000 refs: push the others after it"));
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
            let option = String::from_utf8_lossy(pkt::line(&data)).into_owned();
            if request.options.len() == MOST_OPTIONS || option.len() > LONGEST_OPTION {
                return Err(Error::protocol("too many or too long push options"));
            }
            request.options.push(option);
        }
    }
    Ok(Some(request).filter(|request| !request.commands.is_empty()))
}

fn read_command(line: &[u8]) -> Result<Command> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let mut id = || {
        let id = parts.next().and_then(|hex| ObjectId::from_hex(hex).ok());
        let id = id.filter(|id| id.kind() == gix::hash::Kind::Sha1);
        id.ok_or_else(|| Error::protocol("a command cannot be read"))
    };
    let (old, new) = (id()?, id()?);
    let name = parts.next().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Error::protocol("a command cannot be read"))?.to_vec();
    let unless_null = |id: ObjectId| Some(id).filter(|id| !id.is_null());
    Ok(Command { name, old: unless_null(old), new: unless_null(new) })
}

/// So long a client may leave what it is told unread.
const DEAF: Duration = Duration::from_secs(120);

/// Who does not listen keeps the place from others.
async fn in_time(telling: impl Future<Output = std::io::Result<()>>) -> std::io::Result<()> {
    tokio::time::timeout(DEAF, telling).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
}

/// Where git's own words go while a pack is taken.
pub trait Progress {
    fn is_wanted(&self) -> bool;
    fn say(&mut self, text: &[u8]) -> impl Future<Output = std::io::Result<()>> + Send;
    fn keep_alive(&mut self) -> impl Future<Output = std::io::Result<()>> + Send;
}

/// The client's ear.
pub struct Reporter<W> {
    output: W,
    capabilities: Capabilities,
}

impl<W: AsyncWrite + Unpin + Send> Reporter<W> {
    pub fn new(output: W, capabilities: Capabilities) -> Self {
        Self { output, capabilities }
    }

    /// `unpacked` is why the pack was not taken; of each ref, why it was not moved.
    pub async fn report<'a>(
        &mut self,
        unpacked: std::result::Result<(), &str>,
        refs: impl Iterator<Item = (&'a [u8], std::result::Result<(), &'a str>)>,
    ) -> std::io::Result<()> {
        if !self.capabilities.report_status {
            return self.output.flush().await;
        }
        let mut report = BytesMut::new();
        report.packet(format!("unpack {}\n", unpacked.err().unwrap_or("ok")).as_bytes());
        for (name, moved) in refs {
            let mut line = if moved.is_ok() { b"ok ".to_vec() } else { b"ng ".to_vec() };
            line.extend_from_slice(name);
            if let Err(reason) = moved {
                line.push(b' ');
                line.extend_from_slice(reason.as_bytes());
            }
            line.push(b'\n');
            report.packet(&line);
        }
        report.flush_packet();
        if self.capabilities.side_band {
            pkt::write_band(&mut self.output, Band::Data, &report).await?;
            self.output.write_all(b"0000").await?;
        } else {
            self.output.write_all(&report).await?;
        }
        self.output.flush().await
    }
}

impl<W: AsyncWrite + Unpin + Send> Progress for Reporter<W> {
    fn is_wanted(&self) -> bool {
        self.capabilities.side_band && !self.capabilities.quiet
    }

    async fn say(&mut self, text: &[u8]) -> std::io::Result<()> {
        if !self.is_wanted() {
            return Ok(());
        }
        in_time(async {
            pkt::write_band(&mut self.output, Band::Progress, text).await?;
            self.output.flush().await
        })
        .await
    }

    async fn keep_alive(&mut self) -> std::io::Result<()> {
        if !self.capabilities.side_band {
            return Ok(());
        }
        in_time(async {
            self.output.write_all(b"0005\x02").await?;
            self.output.flush().await
        })
        .await
    }
}
