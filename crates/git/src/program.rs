//! The one place that starts `git`. An argument is a word of this program, a number, an object id or a path of
//! ours: no string of a user's can become one. The environment is empty but for what stands here, so that neither a configuration of
//! the machine nor hooks nor replaced objects have a say.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use gix::ObjectId;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use crate::confinement::Confinement;
use crate::{Bare, Error, Result, archive};

/// What operators decide about the program.
#[derive(Clone, Debug)]
pub struct Git {
    pub program: PathBuf,
    /// For each process: what it may allocate.
    pub max_memory_bytes: u64,
    /// What every process of git may touch.
    confinement: Confinement,
}

const SETTINGS: [&str; 17] = [
    "safe.directory=*",
    "core.hooksPath=/dev/null",
    "core.alternateRefsCommand=true",
    // What it writes is a cache; what must last is made to last elsewhere.
    "core.fsync=none",
    "gc.auto=0",
    "maintenance.auto=false",
    "uploadpack.allowFilter=true",
    // Which ids are given out is decided before it is asked.
    "uploadpack.allowAnySHA1InWant=true",
    "uploadpack.advertiseBundleURIs=false",
    // It would read any object by its id.
    "uploadpackfilter.sparse:oid.allow=false",
    "transfer.unpackLimit=1",
    "pack.writeReverseIndex=true",
    "pack.allowPackReuse=true",
    // An archive may ask what a signature is worth; nothing is started to read what was pushed.
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    // Many are served at once; none takes all processors.
    "pack.threads=1",
];

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Git {
    /// A name without a directory is looked for once. A program that is known by its path is started without a copy of this
    /// process, which takes longer the more memory that has.
    pub fn new(program: &Path, max_memory_bytes: u64) -> Self {
        let found = PATH.split(':').map(|directory| Path::new(directory).join(program)).find(|path| path.is_file());
        let program = found.unwrap_or_else(|| program.to_owned());
        Self { confinement: Confinement::new(&program), program, max_memory_bytes }
    }

    /// Prepares a call of git in a repository.
    pub fn command(&self, repository: &Bare, name: &'static str) -> Command {
        self.command_with(repository, name, [])
    }

    /// Like [`Self::command`], with settings that differ for this one call.
    pub fn command_with<const N: usize>(
        &self,
        repository: &Bare,
        name: &'static str,
        settings: [&'static str; N],
    ) -> Command {
        let mut inner = self.bare_command();
        inner.env("GIT_DIR", repository.directory());
        // Of two values for one setting, the later counts.
        for setting in SETTINGS.into_iter().chain(settings) {
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

    fn bare_command(&self) -> tokio::process::Command {
        let mut inner = tokio::process::Command::new(&self.program);
        inner
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .current_dir("/")
            // So that what it starts ends with it.
            .process_group(0)
            .kill_on_drop(true);
        inner
    }

    /// Such as `2.39.5`.
    pub async fn version(&self) -> Result<String> {
        let output = self.bare_command().arg("version").stdin(Stdio::null()).output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.trim().trim_start_matches("git version ").to_owned())
    }
}

/// What one process may compute: enough to pack a very large repository, and an end to what was made to have none.
const MOST_CPU_SECONDS: u64 = 4 * 3600;

/// A call of git in the making.
pub struct Command {
    inner: tokio::process::Command,
    name: &'static str,
    max_memory_bytes: u64,
    confinement: Confinement,
}

impl Command {
    pub fn word(mut self, word: &'static str) -> Self {
        self.inner.arg(word);
        self
    }

    pub fn words<const N: usize>(mut self, words: [&'static str; N]) -> Self {
        self.inner.args(words);
        self
    }

    /// `--name=NUMBER`
    pub fn number(mut self, name: &'static str, value: u64) -> Self {
        self.inner.arg(format!("{name}={value}"));
        self
    }

    /// `--prefix=NAME/`
    pub fn directory_prefix(mut self, name: &archive::Name) -> Self {
        self.inner.arg(format!("--prefix={}/", name.as_str()));
        self
    }

    pub fn id(mut self, id: ObjectId) -> Self {
        self.inner.arg(id.to_string());
        self
    }

    /// One that this program made.
    pub fn path(mut self, path: &Path) -> Self {
        self.inner.arg(path);
        self
    }

    /// Allows the process to write below a directory. Without this it only reads.
    pub fn writing(mut self, directory: &Path) -> Self {
        self.confinement.write(directory);
        self
    }

    /// Allows the process to call other machines.
    pub fn with_network(mut self) -> Self {
        self.confinement.allow_network();
        self
    }

    /// Not seen by who looks at the list of processes.
    pub fn environment(mut self, name: &'static str, value: &str) -> Self {
        self.inner.env(name, value);
        self
    }

    /// Settings with values from outside, in the environment, where none can be taken for an argument.
    pub fn settings(mut self, settings: &[(&'static str, &str)]) -> Self {
        self.inner.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (place, (key, value)) in settings.iter().enumerate() {
            self.inner.env(format!("GIT_CONFIG_KEY_{place}"), key);
            self.inner.env(format!("GIT_CONFIG_VALUE_{place}"), value);
        }
        self
    }

    pub fn start(mut self) -> Result<Running> {
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
        // It may have ended already.
        let time = Rlimit { current: Some(MOST_CPU_SECONDS), maximum: Some(MOST_CPU_SECONDS) };
        for (resource, limit) in [(Resource::Data, limit), (Resource::Core, core), (Resource::Cpu, time)] {
            prlimit(group, resource, limit).ok();
        }
        Ok(Running { child, name: self.name, group })
    }

    /// To the end, with `input`; gives what it wrote, if that is no more than `at_most` bytes.
    pub async fn run(self, input: &[u8], at_most: u64, deadline: Duration) -> Result<Vec<u8>> {
        let name = self.name;
        let answer = self.ask(input, at_most, deadline).await?;
        answer.ok_or_else(|| Error::Failed { command: name, said: "exit status: 1".into() })
    }

    /// The same for what may be answered by no: None then.
    pub async fn ask(self, input: &[u8], at_most: u64, deadline: Duration) -> Result<Option<Vec<u8>>> {
        let mut running = self.start()?;
        let (mut stdin, stdout, stderr) = running.pipes();
        let name = running.name;
        let work = async {
            let feed = async {
                // It need not read to the end.
                stdin.write_all(input).await.ok();
                drop(stdin);
            };
            let ((), output, said) = tokio::join!(feed, read_at_most(stdout, at_most), read_said(stderr));
            if running.ended(&said).await? { output.map(Some) } else { Ok(None) }
        };
        tokio::time::timeout(deadline, work).await.unwrap_or(Err(Error::TimedOut { command: name, after: deadline }))
    }
}

async fn read_at_most(stdout: impl AsyncRead + Unpin, at_most: u64) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    stdout.take(at_most + 1).read_to_end(&mut output).await?;
    if output.len() as u64 > at_most {
        return Err(Error::protocol("git wrote more than was expected"));
    }
    Ok(output)
}

/// The end of what a process says; the rest is read and forgotten.
pub async fn read_said(mut stderr: ChildStderr) -> Vec<u8> {
    let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(count) = stderr.read(&mut buffer).await
        && count > 0
    {
        said.extend_from_slice(&buffer[..count]);
        let surplus = said.len().saturating_sub(8192);
        said.drain(..surplus);
    }
    said
}

/// A process of git. When this is dropped, it and all it started end.
pub struct Running {
    child: Child,
    name: &'static str,
    group: Option<Pid>,
}

impl Running {
    /// Once.
    pub fn pipes(&mut self) -> (ChildStdin, ChildStdout, ChildStderr) {
        let taken = (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = taken else { unreachable!("they are taken once") };
        (stdin, stdout, stderr)
    }

    pub async fn succeeded(&mut self, said: &[u8]) -> Result<()> {
        let name = self.name;
        let no = || Error::Failed { command: name, said: "exit status: 1".into() };
        if self.ended(said).await? { Ok(()) } else { Err(no()) }
    }

    /// How it ended.
    pub async fn status(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group = None;
        Ok(status)
    }

    /// False if it ended with 1 and without a word, by which some commands say no.
    async fn ended(&mut self, said: &[u8]) -> Result<bool> {
        let status = self.status().await?;
        match last_line(said) {
            _ if status.success() => Ok(true),
            None if status.code() == Some(1) => Ok(false),
            line => Err(Error::Failed { command: self.name, said: line.unwrap_or_else(|| status.to_string()) }),
        }
    }
}

fn last_line(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said);
    let mut lines = text.lines().map(|line| line.trim_matches(['\0', ' '])).filter(|line| !line.is_empty());
    let mut line = lines.next_back()?;
    // The line before says which object, and why.
    if line == "fatal: fsck error in packed object" {
        line = lines.rfind(|line| line.starts_with("error: object ")).unwrap_or(line);
    }
    Some(line.trim_start_matches("fatal: ").trim_start_matches("error: ").chars().take(300).collect())
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}
