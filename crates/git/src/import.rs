//! Fetches a repository from another server.

use std::path::Path;
use std::time::Duration;

use gix::ObjectId;
use tokio::io::AsyncReadExt;

use crate::process::Command;
use crate::{Error, Git, Quarantine, RefName, RefTarget, Result};

/// The source of an import. All of it is passed in the environment, never in arguments, which other users can see.
#[derive(Clone, Debug)]
pub struct ImportSource {
    /// The URL without user name and password.
    pub url: String,
    pub protocol: &'static str,
    /// `HOST:PORT:ADDRESS`, the checked address of the host. Git uses it instead of resolving the name again, when the
    /// name could have another address.
    pub resolved: Option<String>,
    /// The value of the HTTP header `Authorization`.
    pub authorization: Option<String>,
}

impl ImportSource {
    /// Returns the source for a bundle on this disk, at an absolute path.
    pub fn bundle(path: &Path) -> Self {
        let url = path.to_string_lossy().into_owned();
        Self { url, protocol: BUNDLE_PROTOCOL, resolved: None, authorization: None }
    }
}

/// Maximum time of the fetch alone. The caller has a limit for the whole import.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3600);
const STALL_TIMEOUT: Duration = Duration::from_secs(300);

fn command(git: &Git, quarantine: &Quarantine, source: &ImportSource, name: &'static str) -> Command {
    let header = source.authorization.as_ref().map(|value| format!("Authorization: {value}"));
    let settings = [
        ("remote.origin.url", Some(source.url.as_str())),
        ("http.curloptResolve", source.resolved.as_deref()),
        ("http.extraHeader", header.as_deref()),
        ("http.followRedirects", Some("false")),
        ("credential.helper", Some("")),
        ("fetch.unpackLimit", Some("1")),
        ("submodule.recurse", Some("false")),
        // The pack that is stored is checked later, however its objects were transferred: git does not check objects
        // that it fetches by the dumb protocol, and the server may switch to that protocol at any time.
        ("fetch.fsckObjects", Some("false")),
    ];
    let command = git.command(quarantine.repository(), name).allow_write(quarantine.directory());
    let command = match source.protocol {
        BUNDLE_PROTOCOL => command.allow_read(Path::new(&source.url)),
        _ => command.allow_network(),
    };
    let mut command = command.env("GIT_ALLOW_PROTOCOL", source.protocol);
    let config: Vec<_> = settings.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    command = command.env("GIT_SSH_COMMAND", SSH_COMMAND);
    command.config(&config)
}

/// SSH without prompts, and without the configuration and keys of a user.
const SSH_COMMAND: &str = "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=/dev/null \
                   -o IdentityFile=/dev/null -o IdentitiesOnly=yes -o IdentityAgent=none -o ForwardAgent=no -o ClearAllForwardings=yes";

/// The protocol of sources that are bundles on this disk.
const BUNDLE_PROTOCOL: &str = "file";
const MERGE_REQUEST_HEADS: &str = "+refs/merge-requests/*/head:refs/merge-requests/*/head";

/// Fetches branches and tags into the quarantine. Calls `progress` with the percentage of received objects.
pub async fn fetch(
    git: &Git,
    quarantine: &Quarantine,
    source: &ImportSource,
    mut progress: impl FnMut(u8),
) -> Result<()> {
    let command = command(git, quarantine, source, "fetch").args([
        "--progress",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-recurse-submodules",
        "--force",
        "origin",
        "+refs/heads/*:refs/heads/*",
        "+refs/tags/*:refs/tags/*",
    ]);
    // A bundle of GitLab also has the heads of merge requests. They become no refs, but their commits are needed.
    let command = if source.protocol == BUNDLE_PROTOCOL { command.arg(MERGE_REQUEST_HEADS) } else { command };
    let mut process = command.start()?;
    let (stdin, stdout, mut stderr) = process.take_pipes();
    drop((stdin, stdout));
    let work = async {
        let (mut stderr_tail, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let read = tokio::time::timeout(STALL_TIMEOUT, stderr.read(&mut buffer)).await;
            let count = read.map_err(|_| Error::TimedOut { command: "fetch", after: STALL_TIMEOUT })??;
            if count == 0 {
                break;
            }
            stderr_tail.extend_from_slice(&buffer[..count]);
            let surplus = stderr_tail.len().saturating_sub(8192);
            stderr_tail.drain(..surplus);
            if let Some(percent) = parse_percent(&stderr_tail) {
                progress(percent);
            }
        }
        process.wait_success(&stderr_tail).await
    };
    tokio::time::timeout(FETCH_TIMEOUT, work)
        .await
        .unwrap_or(Err(Error::TimedOut { command: "fetch", after: FETCH_TIMEOUT }))
}

/// Returns the last percentage in the progress output.
fn parse_percent(stderr: &[u8]) -> Option<u8> {
    let text = String::from_utf8_lossy(stderr);
    let (_, after) = text.rsplit_once("Receiving objects:")?;
    after.split('%').next()?.trim().parse().ok()
}

/// The head of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteHead {
    /// The default branch. None if the source does not tell it, or if its name is not accepted.
    pub branch: Option<RefName>,
    /// The commit. None if the source is empty.
    pub id: Option<ObjectId>,
}

/// Asks the source for its head.
pub async fn find_remote_head(git: &Git, quarantine: &Quarantine, source: &ImportSource) -> Result<RemoteHead> {
    let command = command(git, quarantine, source, "ls-remote").args(["--symref", "origin", "HEAD"]);
    let output = command.run(b"", 64 << 10, Duration::from_secs(120)).await?;
    let text = String::from_utf8_lossy(&output);
    let mut head = RemoteHead::default();
    for line in text.lines().filter_map(|line| line.strip_suffix("\tHEAD")) {
        match line.strip_prefix("ref: ") {
            Some(name) => head.branch = RefName::parse(name.as_bytes()).ok(),
            None => head.id = ObjectId::from_hex(line.as_bytes()).ok(),
        }
    }
    Ok(head)
}

/// The refs that an import has fetched.
pub struct FetchedRefs {
    /// The refs whose names are accepted.
    pub accepted: Vec<(RefName, RefTarget)>,
    /// The number of refs whose names are not accepted.
    pub rejected: usize,
}

/// Lists the branches and tags that [`fetch`] has fetched into the quarantine.
pub async fn list_fetched_refs(git: &Git, quarantine: &Quarantine) -> Result<FetchedRefs> {
    let command = git.command(quarantine.repository(), "for-each-ref");
    let command = command.args(["--format=%(objectname) %(*objectname) %(refname)", "refs/heads", "refs/tags"]);
    let output = command.run(b"", 256 << 20, Duration::from_secs(120)).await?;
    let mut refs = FetchedRefs { accepted: Vec::new(), rejected: 0 };
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let mut next = || parts.next().unwrap_or_default();
        let (id, peeled, name) = (next(), next(), next());
        let id = ObjectId::from_hex(id)
            .map_err(|_| Error::unexpected_output("for-each-ref", "it did not print an object id"))?;
        match RefName::parse(name) {
            Ok(name) => refs.accepted.push((name, RefTarget { id, peeled: ObjectId::from_hex(peeled).ok() })),
            Err(_) => refs.rejected += 1,
        }
    }
    Ok(refs)
}
