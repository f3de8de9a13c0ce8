//! Writes ref advertisements and capability lists for fetches and pushes.
//!
//! Refs are written in chunks, because a repository may have more refs than should be in memory for each client.

use std::io;

use bytes::BytesMut;
use gix::ObjectId;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::upload::LsRefsRequest;
use super::{AGENT, Version};
use crate::RefTarget;
use crate::pkt::PacketWriter;

/// Read access to the refs that a client may see.
pub trait RefLookup {
    /// Returns the default branch, which need not exist yet.
    fn head(&self) -> &str;
    /// Returns the refs whose names begin with `prefix`, sorted by name.
    fn iter_with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, RefTarget)>;
    fn find(&self, name: &str) -> Option<RefTarget>;
}

const NULL_ID: ObjectId = ObjectId::null(gix::hash::Kind::Sha1);

/// Returns the packets that precede an advertisement over HTTP.
pub fn service_header(name: &str) -> BytesMut {
    let mut buffer = BytesMut::new();
    buffer.put_packet(format!("# service={name}\n").as_bytes());
    buffer.put_flush();
    buffer
}

/// A buffered writer of packets.
struct ChunkedWriter<'a, W> {
    output: &'a mut W,
    buffer: BytesMut,
}

const CHUNK_SIZE: usize = 16 << 10;

impl<'a, W: AsyncWrite + Unpin> ChunkedWriter<'a, W> {
    fn new(output: &'a mut W) -> Self {
        Self { output, buffer: BytesMut::with_capacity(CHUNK_SIZE) }
    }

    async fn write_packet(&mut self, line: &str) -> io::Result<()> {
        self.buffer.put_packet(line.as_bytes());
        if self.buffer.len() >= CHUNK_SIZE {
            self.output.write_all(&self.buffer).await?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes a flush packet and the rest of the buffer.
    async fn finish(mut self) -> io::Result<()> {
        self.buffer.put_flush();
        self.output.write_all(&self.buffer).await
    }
}

/// Writes the ref advertisement for a push.
pub async fn write_receive_pack(refs: &impl RefLookup, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let capabilities = format!(
        "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta no-thin push-options \
         object-format=sha1 agent={AGENT}"
    );
    write_refs(ChunkedWriter::new(output), refs.iter_with_prefix(""), &capabilities, false).await
}

/// Writes the ref advertisement for a fetch in protocol versions 0 and 1. `is_stateless` is true over HTTP.
pub async fn write_upload_pack(
    refs: &impl RefLookup,
    version: Version,
    is_stateless: bool,
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut capabilities = String::from(
        "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative \
         no-progress include-tag multi_ack_detailed filter",
    );
    // On a stateful connection git itself serves the request, and accepts only the tips of refs.
    if is_stateless {
        capabilities += " allow-tip-sha1-in-want allow-reachable-sha1-in-want no-done";
    }
    let head = refs.find(refs.head());
    if head.is_some() {
        capabilities += &format!(" symref=HEAD:{}", refs.head());
    }
    capabilities += &format!(" object-format=sha1 agent={AGENT}");
    let mut writer = ChunkedWriter::new(output);
    if version == Version::V1 {
        writer.write_packet("version 1\n").await?;
    }
    let refs = head.map(|target| ("HEAD", target)).into_iter().chain(refs.iter_with_prefix(""));
    write_refs(writer, refs, &capabilities, true).await
}

async fn write_refs<'a, W: AsyncWrite + Unpin>(
    mut writer: ChunkedWriter<'_, W>,
    refs: impl Iterator<Item = (&'a str, RefTarget)>,
    capabilities: &str,
    should_peel: bool,
) -> io::Result<()> {
    let mut capabilities = Some(capabilities);
    for (name, target) in refs {
        match capabilities.take() {
            Some(capabilities) => writer.write_packet(&format!("{} {name}\0{capabilities}\n", target.id)).await?,
            None => writer.write_packet(&format!("{} {name}\n", target.id)).await?,
        }
        if let Some(peeled) = target.peeled.filter(|_| should_peel) {
            writer.write_packet(&format!("{peeled} {name}^{{}}\n")).await?;
        }
    }
    if let Some(capabilities) = capabilities {
        writer.write_packet(&format!("{NULL_ID} capabilities^{{}}\0{capabilities}\n")).await?;
    }
    writer.finish().await
}

/// Returns the capabilities of protocol version 2, with `bundle-uri` if the client may download a bundle.
pub fn v2_capabilities(has_bundles: bool) -> BytesMut {
    let mut buffer = BytesMut::new();
    let agent = format!("agent={AGENT}\n");
    let lines =
        ["version 2\n", &agent, "ls-refs=unborn\n", "fetch=shallow wait-for-done filter\n", "object-format=sha1\n"];
    for line in lines.into_iter().chain(has_bundles.then_some("bundle-uri\n")) {
        buffer.put_packet(line.as_bytes());
    }
    buffer.put_flush();
    buffer
}

/// Returns the response to a `bundle-uri` command of protocol version 2: the address of one bundle, or an empty list.
pub fn bundle_list(address: Option<&str>) -> BytesMut {
    let mut buffer = BytesMut::new();
    if let Some(address) = address {
        for line in ["bundle.version=1", "bundle.mode=all", &format!("bundle.base.uri={address}")] {
            buffer.put_packet(line.as_bytes());
        }
    }
    buffer.put_flush();
    buffer
}

/// Writes the response to an `ls-refs` command of protocol version 2. `unlisted_refs` are listed only if a prefix names them,
/// and not to a client that asks for all refs.
pub async fn write_ls_refs(
    refs: &impl RefLookup,
    unlisted_refs: &[(String, ObjectId)],
    request: &LsRefsRequest,
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut writer = ChunkedWriter::new(output);
    let wants = |name: &str| request.prefixes.is_empty() || request.prefixes.iter().any(|it| name.starts_with(it));
    if wants("HEAD") {
        let head = refs.head();
        let symbolic = if request.symrefs { format!(" symref-target:{head}") } else { String::new() };
        match refs.find(head) {
            Some(target) => writer.write_packet(&format!("{} HEAD{symbolic}\n", target.id)).await?,
            None if request.unborn => writer.write_packet(&format!("unborn HEAD{symbolic}\n")).await?,
            None => {}
        }
    }
    // A prefix that a shorter one covers would list its refs twice.
    let mut prefixes: Vec<&str> = request.prefixes.iter().map(String::as_str).collect();
    prefixes.sort_unstable();
    prefixes.dedup_by(|longer, shorter| longer.starts_with(*shorter));
    if prefixes.is_empty() {
        prefixes.push("");
    }
    for prefix in prefixes {
        for (name, target) in refs.iter_with_prefix(prefix) {
            let peeled = target.peeled.filter(|_| request.peel);
            let peeled = peeled.map(|id| format!(" peeled:{id}")).unwrap_or_default();
            writer.write_packet(&format!("{} {name}{peeled}\n", target.id)).await?;
        }
    }
    for (name, id) in unlisted_refs.iter().filter(|(name, _)| request.prefixes.iter().any(|it| name.starts_with(it))) {
        writer.write_packet(&format!("{id} {name}\n")).await?;
    }
    writer.finish().await
}
