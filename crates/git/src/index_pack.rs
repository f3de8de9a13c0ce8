//! Receives, checks and indexes packs with `git index-pack`.
//!
//! - A received pack is scanned before git reads it (see [`crate::pack_scan`]).
//! - Git checks every object (`--fsck-objects`, or `--strict` for imports).
//! - A thin pack is rejected.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gix::ObjectId;
use gix::odb::pack::index::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Notify;

use crate::pack_file::{PackFile, PackSizes};
use crate::pack_scan::{PackLimits, PackScanner, scan_file};
use crate::protocol::receive::Progress;
use crate::{BareRepository, Error, Git, Quarantine, Result, SHA1};

/// A pack and its index in a [`Quarantine`] or another directory.
#[derive(Clone, Debug)]
pub struct IndexedPack {
    pub checksum: String,
    stem: PathBuf,
}

/// The index of a pack, which lists its objects.
pub struct PackIndex(File);

impl PackIndex {
    /// Opens an index file. Reads from disk, so the caller must use a blocking thread.
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

/// The objects that a client sent with a push.
#[derive(Default)]
pub struct ReceivedObjects(Option<PackIndex>);

impl ReceivedObjects {
    pub fn contains(&self, id: ObjectId) -> bool {
        self.0.as_ref().is_some_and(|index| index.contains(id))
    }

    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |index| index.0.num_objects() as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl IndexedPack {
    pub fn new(stem: PathBuf, checksum: String) -> Self {
        Self { checksum, stem }
    }

    /// Opens the index of the pack. Reads from disk, so the caller must use a blocking thread.
    pub fn received_objects(&self) -> Result<ReceivedObjects> {
        Ok(ReceivedObjects(Some(PackIndex::open(self.file_path(PackFile::Index))?)))
    }

    pub fn file_path(&self, file: PackFile) -> PathBuf {
        self.stem.with_extension(file.extension())
    }

    /// Returns the sizes of the files of the pack. Fails if the pack or its index is missing or empty.
    pub fn sizes(&self) -> Result<PackSizes> {
        let mut sizes = PackSizes::default();
        for file in PackFile::ALL {
            match std::fs::metadata(self.file_path(file)) {
                Ok(metadata) => sizes.set(file, metadata.len()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !file.is_required() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if sizes.pack == 0 || sizes.index == 0 {
            return Err(Error::protocol("the pack or its index is empty"));
        }
        Ok(sizes)
    }
}

/// Maximum time between two reads from the client within a pack.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);
/// Minimum average rate at which a pack must arrive. A slower client would occupy its permit for too long.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// Receives a pack into a quarantine, checks and indexes it. Returns None for a pack without objects.
pub async fn receive(
    git: &Git,
    quarantine: &Quarantine,
    input: &mut (impl AsyncRead + Unpin),
    limits: PackLimits,
    progress: &mut impl Progress,
) -> Result<Option<IndexedPack>> {
    let mut command = git
        .command(quarantine.repository(), "index-pack")
        // Only the pack directory: the server itself reads the other files of the quarantine, such as `config` and
        // `alternates`.
        .allow_write(&quarantine.repository().pack_dir())
        // A thin pack is rejected. Completing it would read base objects that the client named, without a reachability
        // check: a delta against an unreachable object creates a new object that reveals its content.
        .args(["--stdin", "--fsck-objects", "--rev-index", "--report-end-of-input"])
        .arg_number("--max-input-size", limits.max_pack_bytes);
    if progress.is_enabled() {
        command = command.arg("--show-resolving-progress");
    }
    let mut process = command.start()?;
    let (stdin, stdout, stderr) = process.take_pipes();
    let mut stderr_tail = Vec::new();
    let announced_objects = AtomicU32::new(0);
    let name = {
        let complete = Notify::new();
        let mut output = std::pin::pin!(read_output(stdout, stderr, &mut stderr_tail, &complete, progress));
        let mut input_copy = std::pin::pin!(copy_to_stdin(stdin, input, limits, &complete, &announced_objects));
        // Over SSH the client keeps its side open after the pack. Git detects the end of the pack and exits.
        tokio::select! {
            name = &mut output => name?,
            fed = &mut input_copy => {
                fed?;
                output.await?
            }
        }
    };
    process.wait_success(&stderr_tail).await.map_err(|error| explain_limit(error, limits))?;
    let checksum = name.split_whitespace().last().unwrap_or_default().to_owned();
    if !matches!(checksum.len(), 40 | 64) || !checksum.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Error::unexpected_output("index-pack", "it did not print the name of the pack"));
    }
    let pack = IndexedPack::new(quarantine.repository().pack_dir().join(format!("pack-{checksum}")), checksum);
    // Clients send a pack without objects if they push a ref to an existing object.
    Ok((announced_objects.into_inner() > 0).then_some(pack))
}

/// Replaces an error of git about a limit by one that names the setting and says what to do.
fn explain_limit(error: Error, limits: PackLimits) -> Error {
    match error {
        Error::CommandFailed { detail, .. } if detail.starts_with("Out of memory") => Error::protocol(
            "the pack needs more memory than this server allows for a git process. Push the history in several \
             steps, or ask an administrator to raise git.max_process_memory_bytes",
        ),
        Error::CommandFailed { detail, .. } if detail.starts_with("pack exceeds maximum allowed size") => {
            Error::protocol(format!(
                "pack exceeds maximum allowed size: this server accepts {} bytes (git.max_pack_bytes). Push the \
                 history in several steps, or ask an administrator to raise the limit",
                limits.max_pack_bytes
            ))
        }
        other => other,
    }
}

/// The fsck findings that imports tolerate: harmless malformations that old tools wrote into old histories.
const TOLERATED: &str = "--strict=zeroPaddedFilemode=ignore,missingSpaceBeforeDate=ignore,missingSpaceBeforeEmail=ignore,\
                         missingNameBeforeEmail=ignore,missingEmail=ignore,badEmail=ignore,badName=ignore,\
                         badTimezone=ignore,badDate=ignore,badDateOverflow=ignore,zeroPaddedDate=ignore,\
                         multipleAuthors=ignore,missingTaggerEntry=ignore";

/// Maximum time to check a pack on disk.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3600);

/// Checks a pack that was not received by [`receive`], such as the pack of an import: the sizes of its objects, and
/// everything that a push is checked for, except for the malformations in `TOLERATED`.
pub async fn check(git: &Git, repository: &BareRepository, pack: &IndexedPack, limits: PackLimits) -> Result<()> {
    let file = pack.file_path(PackFile::Pack);
    let scanned = file.clone();
    let scanning = tokio::task::spawn_blocking(move || scan_file(&scanned, limits));
    scanning.await.map_err(std::io::Error::other)??;
    let command = git.command(repository, "index-pack").args(["--verify", TOLERATED]).arg_path(&file);
    command.run(b"", 4096, CHECK_TIMEOUT).await.map(drop).map_err(|error| explain_limit(error, limits))
}

/// Copies the pack from the client to git, after scanning each chunk.
async fn copy_to_stdin(
    mut stdin: ChildStdin,
    input: &mut (impl AsyncRead + Unpin),
    limits: PackLimits,
    complete: &Notify,
    announced_objects: &AtomicU32,
) -> Result<()> {
    let (mut scanner, mut buffer) = (PackScanner::new(limits), vec![0; 64 << 10]);
    let (mut waited, mut bytes) = (Duration::ZERO, 0);
    loop {
        let begin = Instant::now();
        let read = tokio::select! {
            read = tokio::time::timeout(STALL_TIMEOUT, input.read(&mut buffer)) => read,
            // The pack is complete, so the client no longer has to send.
            () = complete.notified() => return Ok(()),
        };
        let timeout_error = || Error::protocol("the pack did not arrive in time");
        let count = read.map_err(|_| timeout_error())??;
        bytes += count as u64;
        waited += begin.elapsed();
        if waited > STALL_TIMEOUT + Duration::from_secs(bytes / MIN_BYTES_PER_SECOND) {
            return Err(timeout_error());
        }
        // A small chunk may inflate to a thousand times its size, which would block an async thread for too long.
        let scanning = tokio::task::spawn_blocking(move || {
            let scanned = scanner.scan(&buffer[..count]);
            (scanner, buffer, scanned)
        });
        let scanned;
        (scanner, buffer, scanned) = scanning.await.map_err(std::io::Error::other)?;
        scanned?;
        announced_objects.store(scanner.objects(), Ordering::Relaxed);
        if count == 0 || stdin.write_all(&buffer[..count]).await.is_err() {
            return Ok(());
        }
    }
}

/// Forwards the progress output and returns the first line of stdout, which names the pack. The rest of stdout repeats
/// the input after the pack and is discarded.
async fn read_output(
    mut stdout: ChildStdout,
    mut stderr: ChildStderr,
    stderr_tail: &mut Vec<u8>,
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
    let read_stderr = async {
        let mut buffer = [0; 4096];
        loop {
            // While git is silent, keep-alives show the client that the connection is alive.
            let count = match tokio::time::timeout(Duration::from_secs(5), stderr.read(&mut buffer)).await {
                Ok(count) => count?,
                Err(_) => {
                    progress.send_keepalive().await?;
                    continue;
                }
            };
            if count == 0 {
                return Ok::<_, Error>(());
            }
            // With --report-end-of-input, git writes a zero byte at the end of the pack.
            if buffer[..count].contains(&0) {
                complete.notify_one();
            }
            let text: Vec<u8> = buffer[..count].iter().copied().filter(|byte| *byte != 0).collect();
            stderr_tail.extend_from_slice(&text);
            let surplus = stderr_tail.len().saturating_sub(8192);
            stderr_tail.drain(..surplus);
            progress.send_message(&text).await?;
        }
    };
    let (name, ()) = tokio::try_join!(read_name, read_stderr)?;
    Ok(name)
}
