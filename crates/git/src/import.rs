//! Copying a repository from elsewhere.

use std::time::Duration;

use gix::ObjectId;
use tokio::io::AsyncReadExt;

use crate::program::Command;
use crate::{Error, Git, Incoming, RefName, Result, Target};

/// Where from. Nothing of it becomes an argument: it is all in the environment, which other users do not see.
#[derive(Clone, Debug)]
pub struct Source {
    /// Without name and password.
    pub url: String,
    pub protocol: &'static str,
    /// `HOST:PORT:ADDRESS`: where the host was found to be, so that it is nowhere else a moment later.
    pub resolved: Option<String>,
    /// The value of the header for HTTP.
    pub authorization: Option<String>,
}

/// Maximum time of the fetch alone. The caller has a limit for the whole import.
const PATIENCE: Duration = Duration::from_secs(3600);
const SILENCE: Duration = Duration::from_secs(300);

fn command(git: &Git, incoming: &Incoming, source: &Source, name: &'static str) -> Command {
    let header = source.authorization.as_ref().map(|value| format!("Authorization: {value}"));
    let settings = [
        ("remote.origin.url", Some(source.url.as_str())),
        ("http.curloptResolve", source.resolved.as_deref()),
        ("http.extraHeader", header.as_deref()),
        ("http.followRedirects", Some("false")),
        ("credential.helper", Some("")),
        ("fetch.unpackLimit", Some("1")),
        ("submodule.recurse", Some("false")),
        // The pack that is stored is checked, whatever way its objects came: git does not check what it fetches by the
        // dumb protocol, and a server may choose that after our look.
        ("fetch.fsckObjects", Some("false")),
    ];
    let mut command = git
        .command(incoming.bare(), name)
        .writing(incoming.directory())
        .with_network()
        .environment("GIT_ALLOW_PROTOCOL", source.protocol);
    let set: Vec<_> = settings.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    command = command.environment("GIT_SSH_COMMAND", SSH);
    command.settings(&set)
}

/// Without a terminal to ask on, and without what is configured for people.
const SSH: &str = "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=/dev/null \
                   -o IdentityFile=/dev/null -o IdentitiesOnly=yes -o IdentityAgent=none -o ForwardAgent=no -o ClearAllForwardings=yes";

/// Branches and tags, into the incoming repository. `progress` gets how much of it is there, in per cent.
pub async fn fetch(git: &Git, incoming: &Incoming, source: &Source, mut progress: impl FnMut(u8)) -> Result<()> {
    let command = command(git, incoming, source, "fetch").words([
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
    let mut running = command.start()?;
    let (stdin, stdout, mut stderr) = running.pipes();
    drop((stdin, stdout));
    let work = async {
        let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let read = tokio::time::timeout(SILENCE, stderr.read(&mut buffer)).await;
            let count = read.map_err(|_| Error::TimedOut { command: "fetch", after: SILENCE })??;
            if count == 0 {
                break;
            }
            said.extend_from_slice(&buffer[..count]);
            let surplus = said.len().saturating_sub(8192);
            said.drain(..surplus);
            if let Some(percent) = percent(&said) {
                progress(percent);
            }
        }
        running.succeeded(&said).await
    };
    tokio::time::timeout(PATIENCE, work).await.unwrap_or(Err(Error::TimedOut { command: "fetch", after: PATIENCE }))
}

/// The last that was said of it.
fn percent(said: &[u8]) -> Option<u8> {
    let text = String::from_utf8_lossy(said);
    let (_, after) = text.rsplit_once("Receiving objects:")?;
    after.split('%').next()?.trim().parse().ok()
}

/// The default branch over there.
pub async fn head(git: &Git, incoming: &Incoming, source: &Source) -> Result<Option<RefName>> {
    let command = command(git, incoming, source, "ls-remote").words(["--symref", "origin", "HEAD"]);
    let output = command.run(b"", 64 << 10, Duration::from_secs(120)).await?;
    let text = String::from_utf8_lossy(&output);
    let name = text.lines().find_map(|line| line.strip_prefix("ref: ")?.strip_suffix("\tHEAD"));
    Ok(name.and_then(|name| RefName::parse(name.as_bytes()).ok()))
}

/// What came: those whose names are accepted here, and how many are not.
pub async fn refs(git: &Git, incoming: &Incoming) -> Result<(Vec<(RefName, Target)>, usize)> {
    let command = git.command(incoming.bare(), "for-each-ref");
    let command = command.word("--format=%(objectname) %(*objectname) %(refname)");
    let output = command.run(b"", 256 << 20, Duration::from_secs(120)).await?;
    let (mut found, mut refused) = (Vec::new(), 0);
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let mut next = || parts.next().unwrap_or_default();
        let (id, peeled, name) = (next(), next(), next());
        let id = ObjectId::from_hex(id).map_err(|_| Error::protocol("git for-each-ref did not name an object"))?;
        match RefName::parse(name) {
            Ok(name) => found.push((name, Target { id, peeled: ObjectId::from_hex(peeled).ok() })),
            Err(_) => refused += 1,
        }
    }
    Ok((found, refused))
}
