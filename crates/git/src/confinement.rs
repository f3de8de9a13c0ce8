//! Confines processes of git with Landlock: to the files they need, without TCP, without signals to other processes.
//!
//! Git parses data from strangers. If an attacker makes it execute code, that code can read the repository that git was
//! started for and the objects it borrows, and everything below the directories of installed programs ([`PROGRAMS`], among
//! them `/usr` and `/opt`). It can read neither the configuration, the environment and the memory of the server, unless
//! the configuration is below one of those directories, nor the packs of other projects.
//!
//! - Landlock restricts TCP alone, to bind and to connect. UDP, and Unix sockets that are files, are not restricted.
//! - Rules apply to a thread and the processes it starts, so each process is started by a thread of its own, which then
//!   ends. That needs neither `unsafe` nor a helper program, and takes a tenth of a millisecond.
//! - What a process may touch is never read from a file that a confined process can write.
//! - A kernel without Landlock, or with its first version, starts git unconfined, and the log says so once. On every other
//!   kernel git is not started if a rule cannot be applied. Newer rules are enforced where the kernel has them: TCP from
//!   Linux 6.7 on, signals from 6.12 on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest rules that are used here.
const NEWEST: ABI = ABI::V6;

/// Programs and libraries.
const PROGRAMS: &[&str] =
    &["/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];
/// What every program reads. Not all of `/etc`, where the secrets of the server may be.
const COMMON_FILES: &[&str] = &["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"];
/// What is read in order to call another machine: names of hosts and users, and certificates.
const NETWORK_FILES: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/passwd",
    "/etc/group",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gnutls",
    "/etc/pkcs11",
    "/var/lib/ca-certificates",
    "/proc/sys/crypto",
];
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// What one process of git may touch.
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    programs: Vec<PathBuf>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    has_network: bool,
}

impl Confinement {
    /// Allows the programs of the system and the installation of `program`, and nothing else.
    pub fn new(program: &Path) -> Self {
        // The log tells at the start whether processes will be confined.
        is_supported();
        let mut programs: Vec<PathBuf> = PROGRAMS.iter().map(PathBuf::from).collect();
        programs.extend(installation(program));
        programs.retain(|path| path.exists());
        let read = COMMON_FILES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        Self { programs, read, write: Vec::new(), has_network: false }
    }

    /// Allows to read a directory and everything below it.
    pub fn read(&mut self, directory: &Path) {
        self.read.push(directory.to_owned());
    }

    pub fn write(&mut self, directory: &Path) {
        self.write.push(directory.to_owned());
    }

    pub fn allow_network(&mut self) {
        self.has_network = true;
        self.read.extend(NETWORK_FILES.iter().map(PathBuf::from));
    }

    /// Runs `start` on a thread that is confined. Blocks until it returns.
    ///
    /// Fails without calling `start` if the kernel has Landlock and the thread cannot be confined, for example because
    /// there are no file descriptors left.
    pub fn run<T: Send>(&self, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let confined = || {
                if is_supported() {
                    self.restrict().map_err(|error| io::Error::other(format!("it cannot be confined: {error}")))?;
                }
                start()
            };
            let thread = std::thread::Builder::new().name("git".into()).spawn_scoped(scope, confined)?;
            thread.join().map_err(|_| io::Error::other("the thread that starts git panicked"))?
        })
    }

    /// Restricts the calling thread, for good.
    fn restrict(&self) -> Result<(), Box<dyn std::error::Error>> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let everything = AccessFs::from_all(NEWEST);
        // The server opens files that git wrote: a symbolic link would make it read files that git cannot read, and a FIFO
        // would make it wait.
        let special =
            AccessFs::MakeSym | AccessFs::MakeFifo | AccessFs::MakeSock | AccessFs::MakeChar | AccessFs::MakeBlock;
        let write = everything & !(special | AccessFs::Execute | AccessFs::IoctlDev);
        let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile;
        let mut ruleset = with_refer()?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(everything)?
            .scope(Scope::from_all(NEWEST))?;
        if !self.has_network {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let programs = self.programs.iter().map(|path| (path.as_path(), read | AccessFs::Execute));
        let readable = self.read.iter().map(|path| (path.as_path(), read));
        let writable = self.write.iter().map(|path| (path.as_path(), write));
        let devices = DEVICES.iter().map(|path| (Path::new(*path), device));
        let mut ruleset = ruleset.create()?;
        for (path, access) in programs.chain(readable).chain(writable).chain(devices) {
            if let Some(file) = open(path)? {
                ruleset = ruleset.add_rule(PathBeneath::new(file, access))?;
            }
        }
        match ruleset.restrict_self()?.ruleset {
            RulesetStatus::NotEnforced => Err("the kernel does not enforce the rules".into()),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    }
}

/// Opens a path for a rule. Returns None for a path that this process cannot reach: then git cannot reach it either, with
/// or without a rule.
fn open(path: &Path) -> Result<Option<PathFd>, PathFdError> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    match PathFd::new(path) {
        Ok(file) => Ok(Some(file)),
        Err(PathFdError::OpenCall { source, .. })
            if matches!(source.kind(), NotFound | NotADirectory | PermissionDenied) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Begins a ruleset. Fails if the kernel has no Landlock, or its first version, which forbids to move a file from one
/// directory to another, as git does with packs.
fn with_refer() -> Result<Ruleset, RulesetError> {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::Refer)
}

/// Returns whether the kernel can confine processes. The first call asks the kernel, and logs if it cannot.
fn is_supported() -> bool {
    static SUPPORTED: OnceLock<bool> = OnceLock::new();
    *SUPPORTED.get_or_init(|| {
        let ruleset = with_refer();
        if let Err(reason) = &ruleset {
            tracing::warn!(%reason, "processes of git are not confined: this kernel has no Landlock, or an old one");
        }
        ruleset.is_ok()
    })
}

/// Returns the directory that a program was installed to with all that belongs to it.
fn installation(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let directory = program.parent()?;
    let is_prefixed = directory.file_name().is_some_and(|name| name == "bin");
    Some(if is_prefixed { directory.parent()? } else { directory }.to_owned())
}
