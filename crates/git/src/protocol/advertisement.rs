//! What a client is told of a repository before it asks.

use bytes::BytesMut;
use gix::ObjectId;

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

pub fn receive(refs: &impl Refs) -> BytesMut {
    let capabilities = format!(
        "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta no-thin push-options \
         object-format=sha1 agent={AGENT}"
    );
    list(BytesMut::new(), refs.with_prefix(""), &capabilities, false)
}

/// Of versions 0 and 1, in which the list of refs comes unasked. `stateless` is over HTTP.
pub fn upload(refs: &impl Refs, version: Version, stateless: bool) -> BytesMut {
    let mut capabilities = String::from(
        "multi_ack thin-pack side-band side-band-64k ofs-delta shallow deepen-since deepen-not deepen-relative \
         no-progress include-tag multi_ack_detailed allow-tip-sha1-in-want allow-reachable-sha1-in-want filter",
    );
    if stateless {
        capabilities += " no-done";
    }
    let head = refs.find(refs.head());
    if head.is_some() {
        capabilities += &format!(" symref=HEAD:{}", refs.head());
    }
    capabilities += &format!(" object-format=sha1 agent={AGENT}");
    let mut buffer = BytesMut::new();
    if version == Version::V1 {
        buffer.packet(b"version 1\n");
    }
    list(buffer, head.map(|target| ("HEAD", target)).into_iter().chain(refs.with_prefix("")), &capabilities, true)
}

fn list<'a>(
    mut buffer: BytesMut,
    refs: impl Iterator<Item = (&'a str, Target)>,
    capabilities: &str,
    peel: bool,
) -> BytesMut {
    let mut capabilities = Some(capabilities);
    for (name, target) in refs {
        match capabilities.take() {
            Some(capabilities) => buffer.packet(format!("{} {name}\0{capabilities}\n", target.id).as_bytes()),
            None => buffer.packet(format!("{} {name}\n", target.id).as_bytes()),
        }
        if let Some(peeled) = target.peeled.filter(|_| peel) {
            buffer.packet(format!("{peeled} {name}^{{}}\n").as_bytes());
        }
    }
    if let Some(capabilities) = capabilities {
        buffer.packet(format!("{NONE} capabilities^{{}}\0{capabilities}\n").as_bytes());
    }
    buffer.flush_packet();
    buffer
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

/// Version 2: those refs that were asked for.
pub fn ls_refs(refs: &impl Refs, request: &LsRefs) -> BytesMut {
    let mut buffer = BytesMut::new();
    let wants = |name: &str| request.prefixes.is_empty() || request.prefixes.iter().any(|it| name.starts_with(it));
    if wants("HEAD") {
        let head = refs.head();
        let symbolic = if request.symrefs { format!(" symref-target:{head}") } else { String::new() };
        match refs.find(head) {
            Some(target) => buffer.packet(format!("{} HEAD{symbolic}\n", target.id).as_bytes()),
            None if request.unborn => buffer.packet(format!("unborn HEAD{symbolic}\n").as_bytes()),
            None => {}
        }
    }
    let mut line = |name: &str, target: Target| {
        let peeled = target.peeled.filter(|_| request.peel);
        let peeled = peeled.map(|id| format!(" peeled:{id}")).unwrap_or_default();
        buffer.packet(format!("{} {name}{peeled}\n", target.id).as_bytes());
    };
    if request.prefixes.is_empty() {
        refs.with_prefix("").for_each(|(name, target)| line(name, target));
    } else {
        // Those that are covered by a shorter one would be listed twice.
        let mut prefixes: Vec<&str> = request.prefixes.iter().map(String::as_str).collect();
        prefixes.sort_unstable();
        prefixes.dedup_by(|longer, shorter| longer.starts_with(*shorter));
        for prefix in prefixes {
            refs.with_prefix(prefix).for_each(|(name, target)| line(name, target));
        }
    }
    buffer.flush_packet();
    buffer
}
