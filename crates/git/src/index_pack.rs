//! Taking a pack from a client: checked object by object, and indexed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gix::ObjectId;
use gix::odb::pack::index::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Notify;

use crate::pack_scan::{PackLimits, PackScanner, scan_file};
use crate::protocol::receive::Progress;
use crate::{Bare, Error, Git, Incoming, Result, SHA1};

/// A pack and its index in an [`Incoming`].
#[derive(Clone, Debug)]
pub struct IndexedPack {
    pub checksum: String,
    stem: PathBuf,
}

/// What is in a pack.
pub struct Index(File);

impl Index {
    /// Not on a thread that others wait for.
    pub fn open(path: PathBuf) -> Result<Self> {
        Ok(Self(File::at(path, SHA1).map_err(|error| Error::Object(error.to_string()))?))
    }

    pub fn contains(&self, id: ObjectId) -> bool {
        self.0.lookup(id).is_some()
    }

    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.0.iter().map(|entry| entry.oid)
    }
}

/// What a client sent itself.
#[derive(Default)]
pub struct Sent(Option<Index>);

impl Sent {
    pub fn contains(&self, id: ObjectId) -> bool {
        self.0.as_ref().is_some_and(|index| index.contains(id))
    }
}

/// The files of a pack, in the order in which they are stored.
pub const PARTS: [&str; 5] = ["pack", "idx", "rev", "bitmap", "graph"];

impl IndexedPack {
    pub fn at(stem: PathBuf, checksum: String) -> Self {
        Self { checksum, stem }
    }

    /// Reads its index, so not on a thread that others wait for.
    pub fn sent(&self) -> Result<Sent> {
        Ok(Sent(Some(Index::open(self.file("idx"))?)))
    }

    pub fn file(&self, part: &str) -> PathBuf {
        self.stem.with_extension(part)
    }

    /// Zero for a part that there is not. There is always the pack itself and its index.
    pub fn sizes(&self) -> Result<[u64; PARTS.len()]> {
        let mut sizes = [0; PARTS.len()];
        for (place, (part, size)) in PARTS.iter().zip(&mut sizes).enumerate() {
            match std::fs::metadata(self.file(part)) {
                Ok(file) => *size = file.len(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && place > 1 => {}
                Err(error) => return Err(error.into()),
            }
        }
        if sizes[0] == 0 || sizes[1] == 0 {
            return Err(Error::protocol("a pack or its index is empty"));
        }
        Ok(sizes)
    }
}

/// So long may a client be silent in the middle of its pack.
const SILENCE: Duration = Duration::from_secs(120);
/// And so many bytes must come in a second, all in all: who sends less keeps the place from others.
const SLOWEST: u64 = 16 << 10;

/// None for a pack without objects.
pub async fn receive(
    git: &Git,
    incoming: &Incoming,
    input: &mut (impl AsyncRead + Unpin),
    limits: PackLimits,
    progress: &mut impl Progress,
) -> Result<Option<IndexedPack>> {
    let mut command = git
        .command(incoming.bare(), "index-pack")
        // The server itself reads the rest of the quarantine, such as its configuration and what it borrows.
        .writing(&incoming.bare().packs())
        // A thin pack is refused. To complete it would mean to read, on somebody's word, objects that nobody has shown to
        // that one: a delta against a hidden object makes a new one that tells of it.
        .words(["--stdin", "--fsck-objects", "--rev-index", "--report-end-of-input"])
        .number("--max-input-size", limits.max_pack_bytes);
    if progress.is_wanted() {
        command = command.word("--show-resolving-progress");
    }
    let mut running = command.start()?;
    let (stdin, stdout, stderr) = running.pipes();
    let mut said = Vec::new();
    let announced = AtomicU32::new(0);
    let name = {
        let complete = Notify::new();
        let mut listen = std::pin::pin!(listen(stdout, stderr, &mut said, &complete, progress));
        let mut feed = std::pin::pin!(feed(stdin, input, limits, &complete, &announced));
        // Over SSH the client leaves its side open behind the pack: git knows where it ends, and ends itself.
        tokio::select! {
            name = &mut listen => name?,
            fed = &mut feed => {
                fed?;
                listen.await?
            }
        }
    };
    running.succeeded(&said).await.map_err(explained)?;
    let checksum = name.split_whitespace().last().unwrap_or_default().to_owned();
    if !matches!(checksum.len(), 40 | 64) || !checksum.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Error::protocol("git index-pack did not name the pack"));
    }
    let pack = IndexedPack::at(incoming.bare().packs().join(format!("pack-{checksum}")), checksum);
    // Clients send one without objects along with a ref to what is known already.
    Ok((announced.into_inner() > 0).then_some(pack))
}

/// Says what to do about an error that the client cannot understand.
fn explained(error: Error) -> Error {
    match error {
        Error::Failed { said, .. } if said.starts_with("Out of memory") => Error::protocol(
            "the pack needs more memory than this server gives to one process of git. Push the history in several \
             steps, or ask an administrator to raise git.max_memory_bytes",
        ),
        other => other,
    }
}

/// What git fsck complains about and imports tolerate: what old tools wrote into old histories, and what harms nobody.
const TOLERATED: &str = "--strict=zeroPaddedFilemode=ignore,missingSpaceBeforeDate=ignore,missingSpaceBeforeEmail=ignore,\
                         missingNameBeforeEmail=ignore,missingEmail=ignore,badEmail=ignore,badName=ignore,\
                         badTimezone=ignore,badDate=ignore,badDateOverflow=ignore,zeroPaddedDate=ignore,\
                         multipleAuthors=ignore,missingTaggerEntry=ignore";

/// Maximum time to check a pack that is on the disk.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3600);

/// Checks a pack that did not come through [`receive`], such as that of an import: the sizes of its objects, and all that a
/// push is checked for, but for what old tools wrote.
pub async fn check(git: &Git, bare: &Bare, pack: &IndexedPack, limits: PackLimits) -> Result<()> {
    let file = pack.file("pack");
    let scanned = file.clone();
    let scanning = tokio::task::spawn_blocking(move || scan_file(&scanned, limits));
    scanning.await.map_err(std::io::Error::other)??;
    let command = git.command(bare, "index-pack").words(["--verify", TOLERATED]).path(&file);
    command.run(b"", 4096, CHECK_TIMEOUT).await.map(drop).map_err(explained)
}

/// Passes the pack on to git, each piece after it was scanned.
async fn feed(
    mut stdin: ChildStdin,
    input: &mut (impl AsyncRead + Unpin),
    limits: PackLimits,
    complete: &Notify,
    announced: &AtomicU32,
) -> Result<()> {
    let (mut scanner, mut buffer) = (PackScanner::new(limits), vec![0; 64 << 10]);
    let (mut waited, mut bytes) = (Duration::ZERO, 0);
    loop {
        let begin = Instant::now();
        let read = tokio::select! {
            read = tokio::time::timeout(SILENCE, input.read(&mut buffer)) => read,
            // From here on the client is silent with reason.
            () = complete.notified() => return Ok(()),
        };
        let late = || Error::protocol("the pack did not arrive in time");
        let count = read.map_err(|_| late())??;
        bytes += count as u64;
        waited += begin.elapsed();
        if waited > SILENCE + Duration::from_secs(bytes / SLOWEST) {
            return Err(late());
        }
        // A small piece may inflate to a thousand times its size, which takes too long for a thread that others wait for.
        let scanning = tokio::task::spawn_blocking(move || {
            let scanned = scanner.scan(&buffer[..count]);
            (scanner, buffer, scanned)
        });
        let scanned;
        (scanner, buffer, scanned) = scanning.await.map_err(std::io::Error::other)?;
        scanned?;
        announced.store(scanner.objects(), Ordering::Relaxed);
        if count == 0 || stdin.write_all(&buffer[..count]).await.is_err() {
            return Ok(());
        }
    }
}

/// Gives the first line of its answer: behind it, it repeats what followed the pack.
async fn listen(
    mut stdout: ChildStdout,
    mut stderr: ChildStderr,
    said: &mut Vec<u8>,
    complete: &Notify,
    progress: &mut impl Progress,
) -> Result<String> {
    let read_name = async {
        let mut name = Vec::new();
        (&mut stdout).take(256).read_to_end(&mut name).await?;
        tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
        let line = name.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok::<_, Error>(String::from_utf8_lossy(line).into_owned())
    };
    let read_said = async {
        let mut buffer = [0; 4096];
        loop {
            // While it works in silence the client is told now and then that somebody is there.
            let count = match tokio::time::timeout(Duration::from_secs(5), stderr.read(&mut buffer)).await {
                Ok(count) => count?,
                Err(_) => {
                    progress.keep_alive().await?;
                    continue;
                }
            };
            if count == 0 {
                return Ok::<_, Error>(());
            }
            // A zero byte marks the end of the pack.
            if buffer[..count].contains(&0) {
                complete.notify_one();
            }
            let text: Vec<u8> = buffer[..count].iter().copied().filter(|byte| *byte != 0).collect();
            said.extend_from_slice(&text);
            let surplus = said.len().saturating_sub(8192);
            said.drain(..surplus);
            progress.say(&text).await?;
        }
    };
    let (name, ()) = tokio::try_join!(read_name, read_said)?;
    Ok(name)
}
