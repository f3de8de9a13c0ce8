//! What a client is told of a repository before it asks.

use std::io;

use bytes::BytesMut;
use gix::ObjectId;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::upload::LsRefs;
use super::{AGENT, Version};
use crate::Target;
use crate::pkt::Write;

/// The refs of a repository as they are shown.
pub trait Refs {
    /// The default branch, also one that is still to be made.
    fn head(&self) -> &str;
    /// By name; those that begin with `prefix`.
    fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, Target)>;
    fn find(&self, name: &str) -> Option<Target>;
}

const NONE: ObjectId = ObjectId::null(gix::hash::Kind::Sha1);

/// In front of an advertisement over HTTP.
pub fn service(name: &str) -> BytesMut {
    let mut buffer = BytesMut::new();
    buffer.packet(format!("# service={name}\n").as_bytes());
    buffer.flush_packet();
    buffer
}

/// Writes packets in chunks. A repository may have more refs than should be in memory for each client that asks.
struct ChunkedWriter<'a, W> {
    output: &'a mut W,
    buffer: BytesMut,
}

const CHUNK_SIZE: usize = 16 << 10;

impl<'a, W: AsyncWrite + Unpin> ChunkedWriter<'a, W> {
    fn new(output: &'a mut W) -> Self {
        Self { output, buffer: BytesMut::with_capacity(CHUNK_SIZE) }
    }

    async fn packet(&mut self, line: &str) -> io::Result<()> {
        self.buffer.packet(line.as_bytes());
        if self.buffer.len() >= CHUNK_SIZE {
            self.output.write_all(&self.buffer).await?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends the list and sends what is left.
    async fn finish(mut self) -> io::Result<()> {
        self.buffer.flush_packet();
        self.output.write_all(&self.buffer).await
    }
}

/// Writes the refs as a client that pushes is told of them.
pub async fn receive(refs: &impl Refs, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let capabilities = format!(
        "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta no-thin push-options \
         object-format=sha1 agent={AGENT}"
    );
    list(ChunkedWriter::new(output), refs.with_prefix(""), &capabilities, false).await
}

/// Writes the refs as a client of versions 0 and 1 is told of them, to whom they come unasked. `stateless` is over HTTP.
pub async fn upload(
    refs: &impl Refs,
    version: Version,
    stateless: bool,
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut capabilities = String::from(
        "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative \
         no-progress include-tag multi_ack_detailed filter",
    );
    // On a connection that stays, git itself answers, and goes by the refs alone.
    if stateless {
        capabilities += " allow-tip-sha1-in-want allow-reachable-sha1-in-want no-done";
    }
    let head = refs.find(refs.head());
    if head.is_some() {
        capabilities += &format!(" symref=HEAD:{}", refs.head());
    }
    capabilities += &format!(" object-format=sha1 agent={AGENT}");
    let mut writer = ChunkedWriter::new(output);
    if version == Version::V1 {
        writer.packet("version 1\n").await?;
    }
    let refs = head.map(|target| ("HEAD", target)).into_iter().chain(refs.with_prefix(""));
    list(writer, refs, &capabilities, true).await
}

async fn list<'a, W: AsyncWrite + Unpin>(
    mut writer: ChunkedWriter<'_, W>,
    refs: impl Iterator<Item = (&'a str, Target)>,
    capabilities: &str,
    peel: bool,
) -> io::Result<()> {
    let mut capabilities = Some(capabilities);
    for (name, target) in refs {
        match capabilities.take() {
            Some(capabilities) => writer.packet(&format!("{} {name}\0{capabilities}\n", target.id)).await?,
            None => writer.packet(&format!("{} {name}\n", target.id)).await?,
        }
        if let Some(peeled) = target.peeled.filter(|_| peel) {
            writer.packet(&format!("{peeled} {name}^{{}}\n")).await?;
        }
    }
    if let Some(capabilities) = capabilities {
        writer.packet(&format!("{NONE} capabilities^{{}}\0{capabilities}\n")).await?;
    }
    writer.finish().await
}

/// Version 2: what can be asked for; also whether there are bundles, where a client may be told.
pub fn capabilities(has_bundles: bool) -> BytesMut {
    let mut buffer = BytesMut::new();
    let agent = format!("agent={AGENT}\n");
    let lines =
        ["version 2\n", &agent, "ls-refs=unborn\n", "fetch=shallow wait-for-done filter\n", "object-format=sha1\n"];
    for line in lines.into_iter().chain(has_bundles.then_some("bundle-uri\n")) {
        buffer.packet(line.as_bytes());
    }
    buffer.flush_packet();
    buffer
}

/// Version 2: where the bulk of the repository is to be had, if it is.
pub fn bundle_list(address: Option<&str>) -> BytesMut {
    let mut buffer = BytesMut::new();
    if let Some(address) = address {
        for line in ["bundle.version=1", "bundle.mode=all", &format!("bundle.base.uri={address}")] {
            buffer.packet(line.as_bytes());
        }
    }
    buffer.flush_packet();
    buffer
}

/// Writes those refs that a client of version 2 asked for.
pub async fn ls_refs(refs: &impl Refs, request: &LsRefs, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    let mut writer = ChunkedWriter::new(output);
    let wants = |name: &str| request.prefixes.is_empty() || request.prefixes.iter().any(|it| name.starts_with(it));
    if wants("HEAD") {
        let head = refs.head();
        let symbolic = if request.symrefs { format!(" symref-target:{head}") } else { String::new() };
        match refs.find(head) {
            Some(target) => writer.packet(&format!("{} HEAD{symbolic}\n", target.id)).await?,
            None if request.unborn => writer.packet(&format!("unborn HEAD{symbolic}\n")).await?,
            None => {}
        }
    }
    // Those that are covered by a shorter one would be listed twice.
    let mut prefixes: Vec<&str> = request.prefixes.iter().map(String::as_str).collect();
    prefixes.sort_unstable();
    prefixes.dedup_by(|longer, shorter| longer.starts_with(*shorter));
    if prefixes.is_empty() {
        prefixes.push("");
    }
    for prefix in prefixes {
        for (name, target) in refs.with_prefix(prefix) {
            let peeled = target.peeled.filter(|_| request.peel);
            let peeled = peeled.map(|id| format!(" peeled:{id}")).unwrap_or_default();
            writer.packet(&format!("{} {name}{peeled}\n", target.id)).await?;
        }
    }
    writer.finish().await
}
