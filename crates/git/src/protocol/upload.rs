//! What a client asks for when it fetches.

use std::collections::HashSet;

use bytes::{Bytes, BytesMut};
use gix::ObjectId;
use tokio::io::AsyncRead;

use crate::pkt::{self, Packet, Write};
use crate::{Error, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsRefs {
    pub peel: bool,
    pub symrefs: bool,
    pub unborn: bool,
    pub prefixes: Vec<String>,
}

/// A fetch: understood as far as it must be checked, and kept as it came for git to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetch {
    pub wants: HashSet<ObjectId>,
    /// The commits that the client says it has.
    pub haves: HashSet<ObjectId>,
    /// The commits at which the client says its history ends.
    pub shallow: HashSet<ObjectId>,
    /// Whether it names refs that git must find on the disk.
    pub names_refs: bool,
    pub raw: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    LsRefs(LsRefs),
    Fetch(Fetch),
    /// Where the bulk of it is.
    Bundles,
}

/// Beyond these many prefixes the whole list is sent, as the protocol allows.
const MOST_PREFIXES: usize = 65_536;

/// Reads packets and remembers them as they came.
struct Recorder<'a, R> {
    input: &'a mut R,
    raw: Vec<u8>,
    at_most: usize,
}

impl<R: AsyncRead + Unpin> Recorder<'_, R> {
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
        if self.raw.len() > self.at_most {
            return Err(Error::protocol("the request is too long"));
        }
        Ok(packet)
    }
}

/// The next request of version 2; none at the end.
pub async fn read_v2(input: &mut (impl AsyncRead + Unpin), at_most: usize) -> Result<Option<Request>> {
    let mut packets = Recorder { input, raw: Vec::new(), at_most };
    let mut command = None;
    let mut in_arguments = false;
    let (mut ls_refs, mut fetch) = (LsRefs::default(), Fetch::default());
    loop {
        match packets.next().await? {
            // A lone flush ends the conversation.
            None | Some(Packet::Flush) if command.is_none() => return Ok(None),
            None | Some(Packet::ResponseEnd) => return Err(Error::protocol("the request breaks off")),
            Some(Packet::Flush) => break,
            Some(Packet::Delimiter) => in_arguments = true,
            Some(Packet::Data(data)) if !in_arguments => {
                if let Some(name) = pkt::line(&data).strip_prefix(b"command=") {
                    command = Some(name.to_vec());
                } else if let Some(format) = pkt::line(&data).strip_prefix(b"object-format=")
                    && format != b"sha1"
                {
                    return Err(Error::protocol("this repository uses SHA-1 object ids"));
                }
            }
            Some(Packet::Data(data)) => {
                let line = pkt::line(&data);
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
            if ls_refs.prefixes.len() > MOST_PREFIXES {
                ls_refs.prefixes.clear();
            }
            Ok(Some(Request::LsRefs(ls_refs)))
        }
        Some(b"fetch") => Ok(Some(Request::Fetch(Fetch { raw: packets.raw.into(), ..fetch }))),
        Some(b"bundle-uri") => Ok(Some(Request::Bundles)),
        _ => Err(Error::protocol("unknown command")),
    }
}

/// What a client of versions 0 and 1 wants, on a connection that stays; none if it wants nothing.
pub async fn read_v0_wants(input: &mut (impl AsyncRead + Unpin), at_most: usize) -> Result<Option<Fetch>> {
    let mut packets = Recorder { input, raw: Vec::new(), at_most };
    let mut fetch = Fetch::default();
    loop {
        match packets.next().await? {
            Some(Packet::Data(data)) => fetch.read_line(pkt::line(&data))?,
            Some(Packet::Flush) => break,
            None => return Ok(None),
            Some(_) => return Err(Error::protocol("unexpected packet")),
        }
    }
    fetch.raw = packets.raw.into();
    Ok(Some(fetch))
}

/// A request of versions 0 and 1, to the end of the input; none if nothing is wanted.
pub async fn read_v0(input: &mut (impl AsyncRead + Unpin), at_most: usize) -> Result<Option<Fetch>> {
    let mut packets = Recorder { input, raw: Vec::new(), at_most };
    let mut fetch = Fetch::default();
    while let Some(packet) = packets.next().await? {
        if let Packet::Data(data) = packet {
            fetch.read_line(pkt::line(&data))?;
        }
    }
    fetch.raw = packets.raw.into();
    Ok(Some(fetch).filter(|fetch| !fetch.wants.is_empty()))
}

fn is_name(word: &[u8]) -> bool {
    word.starts_with(b"agent=") || word.starts_with(b"session-id=")
}

fn read_ls_refs(request: &mut LsRefs, line: &[u8]) {
    match line {
        b"peel" => request.peel = true,
        b"symrefs" => request.symrefs = true,
        b"unborn" => request.unborn = true,
        _ => {
            // A prefix that is no text is one of no ref; it must still not mean all of them.
            if let Some(prefix) = line.strip_prefix(b"ref-prefix ")
                && request.prefixes.len() <= MOST_PREFIXES
            {
                request.prefixes.push(String::from_utf8_lossy(prefix).into_owned());
            }
        }
    }
}

impl Fetch {
    fn read_line(&mut self, line: &[u8]) -> Result<()> {
        if let Some(rest) = line.strip_prefix(b"want ") {
            let id = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
            let id = ObjectId::from_hex(id).map_err(|_| Error::protocol("a wanted id cannot be read"))?;
            self.wants.insert(id);
        } else if line.starts_with(b"want-ref ") {
            return Err(Error::protocol("refs are asked for by id"));
        } else if let Some(id) = line.strip_prefix(b"have ") {
            self.haves.insert(read_id(id)?);
        } else if let Some(id) = line.strip_prefix(b"shallow ") {
            self.shallow.insert(read_id(id)?);
        } else {
            self.names_refs |= line.starts_with(b"deepen-not ");
        }
        Ok(())
    }

    /// The request without what differs between clients that want the same: what they call themselves.
    pub async fn without_names(&self) -> Result<BytesMut> {
        let mut kept = BytesMut::with_capacity(self.raw.len());
        let mut input = &self.raw[..];
        while let Some(packet) = pkt::read(&mut input).await? {
            match packet {
                Packet::Data(data) if is_name(pkt::line(&data)) => {}
                // In versions 0 and 1 they stand behind the first id.
                Packet::Data(data) if data.starts_with(b"want ") => {
                    let words = pkt::line(&data).split(|byte| *byte == b' ').filter(|word| !is_name(word));
                    kept.packet(&words.collect::<Vec<_>>().join(&b' '));
                }
                Packet::Data(data) => kept.packet(pkt::line(&data)),
                Packet::Flush => kept.flush_packet(),
                Packet::Delimiter => kept.delimiter_packet(),
                Packet::ResponseEnd => return Err(Error::protocol("unexpected packet")),
            }
        }
        Ok(kept)
    }

    /// Removes the `shallow` lines of all commits but these, and lets the `have` lines of others name a commit that does not
    /// exist. They cannot be removed: a request of version 2 without any of them asks for the pack, and a client that is
    /// still negotiating does not expect one.
    pub async fn keep_commits(&mut self, ids: &HashSet<ObjectId>) -> Result<()> {
        if self.haves.is_subset(ids) && self.shallow.is_subset(ids) {
            return Ok(());
        }
        let mut kept = BytesMut::with_capacity(self.raw.len());
        let mut input = &self.raw[..];
        while let Some(packet) = pkt::read(&mut input).await? {
            match packet {
                Packet::Data(data) => match claimed_commit(&data)? {
                    Some(id) if !ids.contains(&id) => {
                        if data.starts_with(b"have ") {
                            kept.packet(format!("have {}\n", ObjectId::null(gix::hash::Kind::Sha1)).as_bytes());
                        }
                    }
                    _ => kept.packet(&data),
                },
                Packet::Flush => kept.flush_packet(),
                Packet::Delimiter => kept.delimiter_packet(),
                Packet::ResponseEnd => return Err(Error::protocol("unexpected packet")),
            }
        }
        self.haves.retain(|id| ids.contains(id));
        self.shallow.retain(|id| ids.contains(id));
        self.raw = kept.freeze();
        Ok(())
    }
}

/// One round of the negotiation in versions 0 and 1 on a connection that stays open: the `have` lines up to a flush
/// packet or `done`, as they came.
pub async fn read_v0_haves(input: &mut (impl AsyncRead + Unpin), at_most: usize) -> Result<Option<Negotiation>> {
    let mut packets = Recorder { input, raw: Vec::new(), at_most };
    let mut round = Fetch::default();
    let is_last = loop {
        match packets.next().await? {
            Some(Packet::Data(data)) if pkt::line(&data) == b"done" => break true,
            Some(Packet::Data(data)) => round.read_line(pkt::line(&data))?,
            Some(Packet::Flush) => break false,
            None => return Ok(None),
            Some(_) => return Err(Error::protocol("unexpected packet")),
        }
    };
    round.raw = packets.raw.into();
    Ok(Some(Negotiation { round, is_last }))
}

/// A round of `have` lines, and whether the client is done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiation {
    pub round: Fetch,
    pub is_last: bool,
}

/// Git reads the first forty digits and ignores what follows; here nothing may follow.
fn read_id(hex: &[u8]) -> Result<ObjectId> {
    ObjectId::from_hex(hex).map_err(|_| Error::protocol("an object id cannot be read"))
}

/// Returns the id of a `have` or `shallow` line.
fn claimed_commit(data: &[u8]) -> Result<Option<ObjectId>> {
    let line = pkt::line(data);
    line.strip_prefix(b"have ").or_else(|| line.strip_prefix(b"shallow ")).map(read_id).transpose()
}
