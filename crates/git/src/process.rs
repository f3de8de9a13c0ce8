//! Starts `git`. No other module of this crate starts a process.
//!
//! - An argument is a literal of this program, a number, an object id, an [`ArchiveName`], a path that this program
//!   chose, or a [`TreePath`] after `--`. Other text of a user never becomes an argument.
//! - The environment is cleared and contains only the variables set here, so that neither the configuration of the
//!   machine, nor hooks, nor replace refs influence git.
//! - Every command in a repository is confined (see `confinement`) and has limits for memory, CPU time and core dumps.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use gix::ObjectId;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit, setpriority_process};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::archive_name::ArchiveName;
use crate::confinement::Confinement;
use crate::tree_path::TreePath;
use crate::{BareRepository, Error, Result};

/// The git program and the limits that operators configure for it.
#[derive(Clone, Debug)]
pub struct Git {
    pub program: PathBuf,
    /// Maximum size of the data segment of each process (`RLIMIT_DATA`).
    pub max_memory_bytes: u64,
    /// The files that every git process may access, before those of its repository are added.
    confinement: Confinement,
}

const BASE_CONFIG: [&str; 17] = [
    "safe.directory=*",
    "core.hooksPath=/dev/null",
    "core.alternateRefsCommand=true",
    // Git writes only caches and temporary files here. The code that stores a pack makes it durable.
    "core.fsync=none",
    "gc.auto=0",
    "maintenance.auto=false",
    "uploadpack.allowFilter=true",
    // The caller checks which object ids the client may fetch before git is started.
    "uploadpack.allowAnySHA1InWant=true",
    "uploadpack.advertiseBundleURIs=false",
    // A sparse filter names a blob by its id, and git would read it without a reachability check.
    "uploadpackfilter.sparse:oid.allow=false",
    "transfer.unpackLimit=1",
    "pack.writeReverseIndex=true",
    "pack.allowPackReuse=true",
    // A format string of an archive can ask for the validity of a signature. Git would start gpg to verify pushed data.
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    // Many requests run at once, and none of them may use all processors.
    "pack.threads=1",
];

const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Git {
    /// Creates a handle for a git program. A name without a directory is searched once, in `SEARCH_PATH`.
    ///
    /// With an absolute path the standard library can start the process without forking this one. A fork takes longer
    /// the more memory this process has.
    pub fn new(program: &Path, max_memory_bytes: u64) -> Self {
        let found =
            SEARCH_PATH.split(':').map(|directory| Path::new(directory).join(program)).find(|path| path.is_file());
        let program = found.unwrap_or_else(|| program.to_owned());
        Self { confinement: Confinement::new(&program), program, max_memory_bytes }
    }

    /// Prepares a git command that runs in a repository.
    pub fn command(&self, repository: &BareRepository, name: &'static str) -> Command {
        self.command_with(repository, name, [])
    }

    /// Like [`Self::command`], with additional settings for this one command.
    pub fn command_with<const N: usize>(
        &self,
        repository: &BareRepository,
        name: &'static str,
        config: [&'static str; N],
    ) -> Command {
        let mut inner = self.isolated_command();
        inner.env("GIT_DIR", repository.directory());
        // If a setting is given twice, git uses the later value.
        for setting in BASE_CONFIG.into_iter().chain(config) {
            inner.arg("-c").arg(setting);
        }
        inner.arg("-c").arg(format!("pack.windowMemory={}", self.max_memory_bytes / 8));
        inner.arg(name);
        let mut confinement = self.confinement.clone();
        confinement.read(repository.directory());
        if let Some(objects) = repository.borrowed() {
            confinement.read(objects);
        }
        Command { inner, name, max_memory_bytes: self.max_memory_bytes, confinement }
    }

    fn isolated_command(&self) -> tokio::process::Command {
        let mut inner = tokio::process::Command::new(&self.program);
        inner
            .env_clear()
            .env("PATH", SEARCH_PATH)
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .current_dir("/")
            // The processes that git starts are killed together with it.
            .process_group(0)
            .kill_on_drop(true);
        inner
    }

    /// Returns the version of git, such as `2.39.5`.
    pub async fn version(&self) -> Result<String> {
        let output = self.isolated_command().arg("version").stdin(Stdio::null()).output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.trim().trim_start_matches("git version ").to_owned())
    }
}

/// Maximum CPU time of one process. It is enough to repack a very large repository, and ends a process that an attacker
/// made run forever.
const MAX_CPU_SECONDS: u64 = 4 * 3600;

/// The niceness of git processes. They run for milliseconds to minutes, and must not delay the requests that this
/// process answers in less than one. The kernel derives the priority of their I/O from it.
const NICENESS: i32 = 5;

/// A git command that has not been started yet.
pub struct Command {
    inner: tokio::process::Command,
    name: &'static str,
    max_memory_bytes: u64,
    confinement: Confinement,
}

impl Command {
    pub fn arg(mut self, arg: &'static str) -> Self {
        self.inner.arg(arg);
        self
    }

    pub fn args<const N: usize>(mut self, args: [&'static str; N]) -> Self {
        self.inner.args(args);
        self
    }

    /// Adds the argument `--name=NUMBER`.
    pub fn arg_number(mut self, name: &'static str, value: u64) -> Self {
        self.inner.arg(format!("{name}={value}"));
        self
    }

    /// Adds the argument `--prefix=NAME/`.
    pub fn arg_prefix(mut self, name: &ArchiveName) -> Self {
        self.inner.arg(format!("--prefix={}/", name.as_str()));
        self
    }

    pub fn arg_oid(mut self, id: ObjectId) -> Self {
        self.inner.arg(id.to_string());
        self
    }

    /// Adds the argument `EXCLUDED..INCLUDED`.
    pub fn arg_range(mut self, excluded: ObjectId, included: ObjectId) -> Self {
        self.inner.arg(format!("{excluded}..{included}"));
        self
    }

    /// Adds a path as an argument. It must be a path that this program chose.
    pub fn arg_path(mut self, path: &Path) -> Self {
        self.inner.arg(path);
        self
    }

    /// Adds `--` and the path of a file or directory in the repository, which git reads literally. It must be the last
    /// argument.
    pub fn arg_tree_path(self, path: &TreePath) -> Self {
        self.arg("--").tree_paths(&[path])
    }

    /// Adds paths after an argument `--`. Git reads them literally.
    pub fn tree_paths(mut self, paths: &[&TreePath]) -> Self {
        self.inner.env("GIT_LITERAL_PATHSPECS", "1").args(paths.iter().map(|path| path.as_str()));
        self
    }

    /// Allows the process to write below a directory. Without this call it can only read.
    pub fn allow_write(mut self, directory: &Path) -> Self {
        self.confinement.write(directory);
        self
    }

    /// Allows the process to read a file, or everything below a directory.
    pub fn allow_read(mut self, path: &Path) -> Self {
        self.confinement.read(path);
        self
    }

    /// Allows the process to open TCP connections.
    pub fn allow_network(mut self) -> Self {
        self.confinement.allow_network();
        self
    }

    /// Sets an environment variable. Unlike arguments, its value is not visible in the process list.
    pub fn env(mut self, name: &'static str, value: &str) -> Self {
        self.inner.env(name, value);
        self
    }

    /// Passes settings with untrusted values in the environment, where git cannot mistake a value for an argument.
    pub fn config(mut self, entries: &[(&'static str, &str)]) -> Self {
        self.inner.env("GIT_CONFIG_COUNT", entries.len().to_string());
        for (index, (key, value)) in entries.iter().enumerate() {
            self.inner.env(format!("GIT_CONFIG_KEY_{index}"), key);
            self.inner.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        self
    }

    pub fn start(mut self) -> Result<GitProcess> {
        self.inner.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let runtime = tokio::runtime::Handle::current();
        let Self { inner, confinement, .. } = &mut self;
        let child = confinement.run(|| {
            let _runtime = runtime.enter();
            inner.spawn()
        })?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let limit = Rlimit { current: Some(self.max_memory_bytes), maximum: Some(self.max_memory_bytes) };
        let core = Rlimit { current: Some(0), maximum: Some(0) };
        // Errors are ignored: the process may have exited already.
        let time = Rlimit { current: Some(MAX_CPU_SECONDS), maximum: Some(MAX_CPU_SECONDS) };
        for (resource, limit) in [(Resource::Data, limit), (Resource::Core, core), (Resource::Cpu, time)] {
            prlimit(group, resource, limit).ok();
        }
        setpriority_process(group, NICENESS).ok();
        Ok(GitProcess { child, name: self.name, group })
    }

    /// Runs the command to its end with `input` and returns its output. Fails if the output exceeds `max_bytes` or the
    /// command exceeds `deadline`.
    pub async fn run(self, input: &[u8], max_bytes: u64, deadline: Duration) -> Result<Vec<u8>> {
        let name = self.name;
        let output = self.run_allowing_exit_1(input, max_bytes, deadline).await?;
        output.ok_or_else(|| Error::CommandFailed { command: name, detail: "exit status: 1".into() })
    }

    /// Like [`Self::run`], but returns None if the command exits with status 1 and writes nothing to stderr. Some
    /// commands report a negative result that way.
    pub async fn run_allowing_exit_1(
        self,
        input: &[u8],
        max_bytes: u64,
        deadline: Duration,
    ) -> Result<Option<Vec<u8>>> {
        let (is_success, output) = self.run_with_status(input, max_bytes, deadline).await?;
        Ok(is_success.then_some(output))
    }

    /// Like [`Self::run`], but also returns whether the command exits with status 0. With status 1 it must write nothing
    /// to stderr, and with status 0 no error: git before 2.45 merges a tree that it cannot read as if it were empty. Some
    /// commands describe a negative result in their output.
    pub async fn run_with_status(self, input: &[u8], max_bytes: u64, deadline: Duration) -> Result<(bool, Vec<u8>)> {
        let mut process = self.start()?;
        let (mut stdin, stdout, stderr) = process.take_pipes();
        let name = process.name;
        let work = async {
            let feed = async {
                // Git may exit before it has read all input, so a broken pipe is no error.
                stdin.write_all(input).await.ok();
                drop(stdin);
            };
            let ((), output, stderr_tail) =
                tokio::join!(feed, read_limited(stdout, max_bytes), read_stderr_tail(stderr));
            let is_success = process.wait_allowing_exit_1(&stderr_tail).await?;
            match last_line(&stderr_tail) {
                Some(detail) if has_error(&stderr_tail) => Err(Error::CommandFailed { command: name, detail }),
                _ => Ok((is_success, output?)),
            }
        };
        tokio::time::timeout(deadline, work).await.unwrap_or(Err(Error::TimedOut { command: name, after: deadline }))
    }
}

async fn read_limited(stdout: impl AsyncRead + Unpin, max_bytes: u64) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    stdout.take(max_bytes + 1).read_to_end(&mut output).await?;
    if output.len() as u64 > max_bytes {
        return Err(Error::protocol("git wrote more output than the limit"));
    }
    Ok(output)
}

/// Reads the stderr of a process to its end and returns the last 8 KiB.
pub async fn read_stderr_tail(mut stderr: ChildStderr) -> Vec<u8> {
    let (mut tail, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count) = stderr.read(&mut buffer).await
        && count > 0
    {
        tail.extend_from_slice(&buffer[..count]);
        let surplus = tail.len().saturating_sub(8192);
        tail.drain(..surplus);
    }
    tail
}

/// A running git process. Dropping it kills the process and all processes it has started.
pub struct GitProcess {
    child: Child,
    name: &'static str,
    group: Option<Pid>,
}

impl GitProcess {
    /// Takes the pipes of the process. Panics if called twice.
    pub fn take_pipes(&mut self) -> (ChildStdin, ChildStdout, ChildStderr) {
        let taken = (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = taken else {
            unreachable!("the pipes of a git process are taken once")
        };
        (stdin, stdout, stderr)
    }

    pub async fn wait_success(&mut self, stderr: &[u8]) -> Result<()> {
        let name = self.name;
        let exit_1_error = || Error::CommandFailed { command: name, detail: "exit status: 1".into() };
        if self.wait_allowing_exit_1(stderr).await? { Ok(()) } else { Err(exit_1_error()) }
    }

    /// Waits for the process to exit and returns its status.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group = None;
        Ok(status)
    }

    /// Waits for the process to exit. Returns false if it exited with status 1 and wrote nothing to stderr.
    async fn wait_allowing_exit_1(&mut self, stderr: &[u8]) -> Result<bool> {
        let status = self.wait().await?;
        match last_line(stderr) {
            _ if status.success() => Ok(true),
            None if status.code() == Some(1) => Ok(false),
            line => {
                Err(Error::CommandFailed { command: self.name, detail: line.unwrap_or_else(|| status.to_string()) })
            }
        }
    }
}

/// What the lines begin with that report an error after which git may go on.
const ERROR: &str = "error: ";

/// The file of git whose assertions fail for some trees with renames, which the message names.
pub const MERGE_SOURCE_FILE: &str = "merge-ort.c:";

fn has_error(stderr: &[u8]) -> bool {
    String::from_utf8_lossy(stderr).lines().any(|line| line.starts_with(ERROR))
}

fn last_line(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines().map(|line| line.trim_matches(['\0', ' '])).filter(|line| !line.is_empty());
    let mut line = lines.next_back()?;
    // An earlier line names the object and the reason. Histories also seem unrelated, and a merge may stop with a failed
    // assertion, if an object cannot be read.
    if line == "fatal: fsck error in packed object" {
        line = lines.rfind(|line| line.starts_with("error: object ")).unwrap_or(line);
    } else if line == "fatal: refusing to merge unrelated histories" || line.contains(MERGE_SOURCE_FILE) {
        line = lines.rfind(|line| line.starts_with(ERROR)).unwrap_or(line);
    }
    Some(line.trim_start_matches("fatal: ").trim_start_matches("error: ").chars().take(300).collect())
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}
