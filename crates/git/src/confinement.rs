//! Confines git processes with Landlock: to the files they need, without TCP and without signals to other processes.
//!
//! Git parses untrusted data. If an attacker makes it execute code, that code can read the repository that git was
//! started for, the objects it borrows, and everything below the directories of installed programs ([`PROGRAMS`], among
//! them `/usr` and `/opt`). It cannot read the packs of other projects, nor the environment and the memory of the
//! server, nor its configuration, unless that is below one of those directories.
//!
//! - Landlock restricts only TCP, namely bind and connect. UDP and Unix sockets in the file system are not restricted.
//! - Rules apply to a thread and the processes it starts, so a new thread starts each process and then ends. This needs
//!   neither `unsafe` nor a helper program, and takes a tenth of a millisecond.
//! - The list of accessible files is never read from a file that a confined process can write.
//! - On a kernel without Landlock, or with its first version, git runs unconfined, which is logged once. On every other
//!   kernel git is not started if a rule cannot be applied. Newer rules are enforced if the kernel has them: TCP since
//!   Linux 6.7, signals since 6.12.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// The newest Landlock version whose rules are used.
const NEWEST_ABI: ABI = ABI::V6;

/// Directories of programs and libraries.
const PROGRAMS: &[&str] =
    &["/bin", "/sbin", "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store"];
/// Files that every program reads. Not all of `/etc`, which may contain the secrets of the server.
const COMMON_FILES: &[&str] = &["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"];
/// Files that network access needs: name resolution, users and certificates.
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

/// The access rights of one git process.
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
        // Logs at startup whether processes will be confined.
        is_supported();
        let mut programs: Vec<PathBuf> = PROGRAMS.iter().map(PathBuf::from).collect();
        programs.extend(installation_dir(program));
        programs.retain(|path| path.exists());
        let read = COMMON_FILES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        Self { programs, read, write: Vec::new(), has_network: false }
    }

    /// Allows the process to read a directory and everything below it.
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

    /// Runs `start` on a confined thread and blocks until it returns.
    ///
    /// Fails without calling `start` if the kernel has Landlock and the thread cannot be confined, for example because
    /// there are no file descriptors left.
    pub fn run<T: Send>(&self, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let confined = || {
                if is_supported() {
                    self.restrict().map_err(|error| io::Error::other(format!("git cannot be sandboxed: {error}")))?;
                }
                start()
            };
            let thread = std::thread::Builder::new().name("git".into()).spawn_scoped(scope, confined)?;
            thread.join().map_err(|_| io::Error::other("the thread that starts git panicked"))?
        })
    }

    /// Restricts the calling thread irrevocably.
    fn restrict(&self) -> Result<(), Box<dyn std::error::Error>> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let everything = AccessFs::from_all(NEWEST_ABI);
        // The server opens files that git wrote: a symbolic link would make it read files that git cannot read, and a
        // FIFO would block it.
        let special =
            AccessFs::MakeSym | AccessFs::MakeFifo | AccessFs::MakeSock | AccessFs::MakeChar | AccessFs::MakeBlock;
        let write = everything & !(special | AccessFs::Execute | AccessFs::IoctlDev);
        let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile;
        let mut ruleset = new_ruleset()?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(everything)?
            .scope(Scope::from_all(NEWEST_ABI))?;
        if !self.has_network {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST_ABI))?;
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
            RulesetStatus::NotEnforced => Err("the kernel does not enforce the Landlock rules".into()),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    }
}

/// Opens a path for a rule. Returns None for a path that this process cannot access: git cannot access it either, with
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

/// Creates a ruleset. Fails if the kernel has no Landlock, or its first version, which forbids moving a file from one
/// directory to another, as git does with packs.
fn new_ruleset() -> Result<Ruleset, RulesetError> {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::Refer)
}

/// Returns whether the kernel can confine processes. The first call queries the kernel and logs if it cannot.
fn is_supported() -> bool {
    static SUPPORTED: OnceLock<bool> = OnceLock::new();
    *SUPPORTED.get_or_init(|| {
        let ruleset = new_ruleset();
        if let Err(reason) = &ruleset {
            tracing::warn!(%reason, "git processes are not sandboxed: the kernel has no Landlock, or only its first version");
        }
        ruleset.is_ok()
    })
}

/// Returns the root directory of a program's installation, such as `/opt/git` for `/opt/git/bin/git`.
fn installation_dir(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let directory = program.parent()?;
    let is_prefixed = directory.file_name().is_some_and(|name| name == "bin");
    Some(if is_prefixed { directory.parent()? } else { directory }.to_owned())
}
