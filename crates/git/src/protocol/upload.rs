//! Parses fetch requests (`git-upload-pack`) as far as they must be checked.
//!
//! The packets are also recorded as they were received, because git serves the request.

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};
use gix::ObjectId;
use tokio::io::AsyncRead;

use crate::pkt::{self, Packet, PacketWriter};
use crate::{Error, Result};

/// The arguments of the protocol v2 command `ls-refs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsRefsRequest {
    pub peel: bool,
    pub symrefs: bool,
    pub unborn: bool,
    pub prefixes: Vec<String>,
}

/// A fetch request: the parsed parts that must be checked, and the recorded packets for git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchRequest {
    pub wants: HashSet<ObjectId>,
    /// The commits that the client claims to have.
    pub haves: HashSet<ObjectId>,
    /// The commits that the client claims to be its shallow boundary.
    pub shallow: HashSet<ObjectId>,
    /// Whether the request names refs (`deepen-not`), which git must find on disk.
    pub has_named_refs: bool,
    pub raw: Bytes,
}

/// A command of protocol v2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    LsRefs(LsRefsRequest),
    Fetch(FetchRequest),
    /// A request for the list of bundles.
    BundleUri,
}

/// Maximum number of ref prefixes. With more of them all refs are listed, as the protocol allows.
const MAX_PREFIXES: usize = 65_536;

/// Reads packets and records their bytes.
struct RecordingReader<'a, R> {
    input: &'a mut R,
    raw: Vec<u8>,
    max_bytes: usize,
}

impl<R: AsyncRead + Unpin> RecordingReader<'_, R> {
    async fn next(&mut self) -> Result<Option<Packet>> {
        let packet = pkt::read(self.input).await?;
        match &packet {
            Some(Packet::Data(data)) => {
                self.raw.extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
                self.raw.extend_from_slice(data);
            }
            Some(Packet::Flush) => self.raw.extend_from_slice(b"0000"),
            Some(Packet::Delimiter) => self.raw.extend_from_slice(b"0001"),
            Some(Packet::ResponseEnd) => self.raw.extend_from_slice(b"0002"),
            None => {}
        }
        if self.raw.len() > self.max_bytes {
            return Err(Error::protocol("the request is too long"));
        }
        Ok(packet)
    }
}

/// Reads the next request of protocol version 2. Returns None at the end of the input or after a lone flush packet.
pub async fn read_v2(input: &mut (impl AsyncRead + Unpin), max_bytes: usize) -> Result<Option<Request>> {
    let mut packets = RecordingReader { input, raw: Vec::new(), max_bytes };
    let mut command = None;
    let mut in_arguments = false;
    let (mut ls_refs, mut fetch) = (LsRefsRequest::default(), FetchRequest::default());
    loop {
        match packets.next().await? {
            // A lone flush packet ends the connection.
            None | Some(Packet::Flush) if command.is_none() => return Ok(None),
            None | Some(Packet::ResponseEnd) => return Err(Error::protocol("the request ended early")),
            Some(Packet::Flush) => break,
            Some(Packet::Delimiter) => in_arguments = true,
            Some(Packet::Data(data)) if !in_arguments => {
                if let Some(name) = pkt::strip_newline(&data).strip_prefix(b"command=") {
                    command = Some(name.to_vec());
                } else if let Some(format) = pkt::strip_newline(&data).strip_prefix(b"object-format=")
                    && format != b"sha1"
                {
                    return Err(Error::protocol("this repository uses SHA-1 object ids"));
                }
            }
            Some(Packet::Data(data)) => {
                let line = pkt::strip_newline(&data);
                match command.as_deref() {
                    Some(b"ls-refs") => read_ls_refs(&mut ls_refs, line),
                    Some(b"bundle-uri") => {}
                    _ => fetch.read_line(line)?,
                }
            }
        }
    }
    match command.as_deref() {
        Some(b"ls-refs") => {
            if ls_refs.prefixes.len() > MAX_PREFIXES {
                ls_refs.prefixes.clear();
            }
            Ok(Some(Request::LsRefs(ls_refs)))
        }
        Some(b"fetch") => Ok(Some(Request::Fetch(FetchRequest { raw: packets.raw.into(), ..fetch }))),
        Some(b"bundle-uri") => Ok(Some(Request::BundleUri)),
        _ => Err(Error::protocol("unknown command")),
    }
}

/// Reads the wants of a client of protocol version 0 or 1 on a stateful connection. Returns None at the end of the
/// input.
pub async fn read_v0_wants(input: &mut (impl AsyncRead + Unpin), max_bytes: usize) -> Result<Option<FetchRequest>> {
    let mut packets = RecordingReader { input, raw: Vec::new(), max_bytes };
    let mut fetch = FetchRequest::default();
    loop {
        match packets.next().await? {
            Some(Packet::Data(data)) => fetch.read_line(pkt::strip_newline(&data))?,
            Some(Packet::Flush) => break,
            None => return Ok(None),
            Some(_) => return Err(Error::protocol("unexpected packet")),
        }
    }
    fetch.raw = packets.raw.into();
    Ok(Some(fetch))
}

/// Reads a request of protocol version 0 or 1 to the end of the input. Returns None if it wants nothing.
pub async fn read_v0(input: &mut (impl AsyncRead + Unpin), max_bytes: usize) -> Result<Option<FetchRequest>> {
    let mut packets = RecordingReader { input, raw: Vec::new(), max_bytes };
    let mut fetch = FetchRequest::default();
    while let Some(packet) = packets.next().await? {
        if let Packet::Data(data) = packet {
            fetch.read_line(pkt::strip_newline(&data))?;
        }
    }
    fetch.raw = packets.raw.into();
    Ok(Some(fetch).filter(|fetch| !fetch.wants.is_empty()))
}

fn is_identity_capability(word: &[u8]) -> bool {
    word.starts_with(b"agent=") || word.starts_with(b"session-id=")
}

fn read_ls_refs(request: &mut LsRefsRequest, line: &[u8]) {
    match line {
        b"peel" => request.peel = true,
        b"symrefs" => request.symrefs = true,
        b"unborn" => request.unborn = true,
        _ => {
            // A prefix that is not UTF-8 matches no ref. It is kept, because an empty list of prefixes matches all
            // refs.
            if let Some(prefix) = line.strip_prefix(b"ref-prefix ")
                && request.prefixes.len() <= MAX_PREFIXES
            {
                request.prefixes.push(String::from_utf8_lossy(prefix).into_owned());
            }
        }
    }
}

impl FetchRequest {
    fn read_line(&mut self, line: &[u8]) -> Result<()> {
        if let Some(rest) = line.strip_prefix(b"want ") {
            let id = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
            let id = ObjectId::from_hex(id).map_err(|_| Error::protocol("malformed object id in a want line"))?;
            self.wants.insert(id);
        } else if line.starts_with(b"want-ref ") {
            return Err(Error::protocol("want-ref is not supported; want an object id"));
        } else if let Some(id) = line.strip_prefix(b"have ") {
            self.haves.insert(read_id(id)?);
        } else if let Some(id) = line.strip_prefix(b"shallow ") {
            self.shallow.insert(read_id(id)?);
        } else {
            self.has_named_refs |= line.starts_with(b"deepen-not ");
        }
        Ok(())
    }

    /// Returns the request without the capabilities that identify the client, so that equal requests have equal bytes.
    pub async fn without_client_identity(&self) -> Result<BytesMut> {
        let mut filtered = BytesMut::with_capacity(self.raw.len());
        let mut input = &self.raw[..];
        while let Some(packet) = pkt::read(&mut input).await? {
            match packet {
                Packet::Data(data) if is_identity_capability(pkt::strip_newline(&data)) => {}
                // In versions 0 and 1 capabilities follow the first id.
                Packet::Data(data) if data.starts_with(b"want ") => {
                    let words = pkt::strip_newline(&data)
                        .split(|byte| *byte == b' ')
                        .filter(|word| !is_identity_capability(word));
                    filtered.put_packet(&words.collect::<Vec<_>>().join(&b' '));
                }
                Packet::Data(data) => filtered.put_packet(pkt::strip_newline(&data)),
                Packet::Flush => filtered.put_flush(),
                Packet::Delimiter => filtered.put_delimiter(),
                Packet::ResponseEnd => return Err(Error::protocol("unexpected packet")),
            }
        }
        Ok(filtered)
    }

    /// Restricts the claims of the client to these commits: removes the `shallow` lines of other commits, and replaces
    /// the ids in other `have` lines by one that does not exist.
    ///
    /// The `have` lines cannot be removed: a version 2 request without any asks for the pack, and a client that is
    /// still negotiating does not expect one.
    pub async fn retain_commits(&mut self, ids: &HashSet<ObjectId>) -> Result<()> {
        if self.haves.is_subset(ids) && self.shallow.is_subset(ids) {
            return Ok(());
        }
        let mut filtered = BytesMut::with_capacity(self.raw.len());
        let mut input = &self.raw[..];
        while let Some(packet) = pkt::read(&mut input).await? {
            match packet {
                Packet::Data(data) => match claimed_commit(&data)? {
                    Some(id) if !ids.contains(&id) => {
                        if data.starts_with(b"have ") {
                            filtered.put_packet(format!("have {}\n", ObjectId::null(gix::hash::Kind::Sha1)).as_bytes());
                        }
                    }
                    _ => filtered.put_packet(&data),
                },
                Packet::Flush => filtered.put_flush(),
                Packet::Delimiter => filtered.put_delimiter(),
                Packet::ResponseEnd => return Err(Error::protocol("unexpected packet")),
            }
        }
        self.haves.retain(|id| ids.contains(id));
        self.shallow.retain(|id| ids.contains(id));
        self.raw = filtered.freeze();
        Ok(())
    }
}

/// Reads one round of the negotiation in versions 0 and 1 on a stateful connection: the `have` lines up to a flush
/// packet or `done`. Returns None at the end of the input.
pub async fn read_v0_haves(input: &mut (impl AsyncRead + Unpin), max_bytes: usize) -> Result<Option<Negotiation>> {
    let mut packets = RecordingReader { input, raw: Vec::new(), max_bytes };
    let mut round = FetchRequest::default();
    let is_last = loop {
        match packets.next().await? {
            Some(Packet::Data(data)) if pkt::strip_newline(&data) == b"done" => break true,
            Some(Packet::Data(data)) => round.read_line(pkt::strip_newline(&data))?,
            Some(Packet::Flush) => break false,
            None => return Ok(None),
            Some(_) => return Err(Error::protocol("unexpected packet")),
        }
    };
    round.raw = packets.raw.into();
    Ok(Some(Negotiation { round, is_last }))
}

/// A round of `have` lines, and whether the client ended it with `done`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiation {
    pub round: FetchRequest,
    pub is_last: bool,
}

/// Parses an object id. Git ignores anything after the first forty digits; this function rejects it.
fn read_id(hex: &[u8]) -> Result<ObjectId> {
    ObjectId::from_hex(hex).map_err(|_| Error::protocol("malformed object id"))
}

/// Returns the id of a `have` or `shallow` line, or None for any other line.
fn claimed_commit(data: &[u8]) -> Result<Option<ObjectId>> {
    let line = pkt::strip_newline(data);
    line.strip_prefix(b"have ").or_else(|| line.strip_prefix(b"shallow ")).map(read_id).transpose()
}
