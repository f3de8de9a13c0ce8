//! Confines processes of git by Landlock: to the files they need, without a network, without signals to others.
//!
//! Git reads what strangers send. If it is made to run their code, that code finds the repository it was started for and
//! the programs of the system, and neither the configuration, the environment and the memory of the server nor the packs
//! of other projects.
//!
//! - Rules hold for a thread and what it starts, so each process is started by a thread of its own, which then ends. That
//!   needs neither `unsafe` nor a program in between, and takes a tenth of a millisecond.
//! - A kernel without Landlock starts git unconfined, and the log says so once. Newer rules are enforced where the kernel
//!   knows them: no network from Linux 6.7 on, no signals from 6.12 on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
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
        let mut programs: Vec<PathBuf> = PROGRAMS.iter().map(PathBuf::from).collect();
        programs.extend(installation(program));
        programs.retain(|path| path.exists());
        let read = COMMON_FILES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        Self { programs, read, write: Vec::new(), has_network: false }
    }

    /// Allows to read a repository and what it borrows from others.
    pub fn read_repository(&mut self, directory: &Path) {
        self.read.push(directory.to_owned());
        let alternates = std::fs::read_to_string(directory.join("objects/info/alternates")).unwrap_or_default();
        self.read.extend(alternates.lines().map(PathBuf::from));
    }

    pub fn write(&mut self, directory: &Path) {
        self.write.push(directory.to_owned());
    }

    pub fn allow_network(&mut self) {
        self.has_network = true;
        self.read.extend(NETWORK_FILES.iter().map(PathBuf::from));
    }

    /// Runs `start` on a thread that is confined. Blocks until it returns.
    pub fn run<T: Send>(&self, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let confined = || {
                match self.restrict() {
                    Ok(RulesetStatus::NotEnforced) => warn("this kernel has no Landlock"),
                    Ok(_) => {}
                    Err(error) => warn(&error.to_string()),
                }
                start()
            };
            let thread = std::thread::Builder::new().name("git".into()).spawn_scoped(scope, confined)?;
            thread.join().map_err(|_| io::Error::other("the thread that starts git panicked"))?
        })
    }

    /// Restricts the calling thread, for good.
    fn restrict(&self) -> Result<RulesetStatus, RulesetError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let everything = AccessFs::from_all(NEWEST);
        let write = everything & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile;
        // The first version of Landlock forbids to move a file from one directory to another, which git does with packs.
        let ruleset =
            Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::Refer)?;
        let mut ruleset = ruleset
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(everything)?
            .scope(Scope::from_all(NEWEST))?;
        if !self.has_network {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let status = ruleset
            .create()?
            .add_rules(path_beneath_rules(&self.programs, read | AccessFs::Execute))?
            .add_rules(path_beneath_rules(&self.read, read))?
            .add_rules(path_beneath_rules(&self.write, write))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .restrict_self()?;
        Ok(status.ruleset)
    }
}

/// Returns the directory that a program was installed to with all that belongs to it.
fn installation(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let directory = program.parent()?;
    let is_prefixed = directory.file_name().is_some_and(|name| name == "bin");
    Some(if is_prefixed { directory.parent()? } else { directory }.to_owned())
}

fn warn(reason: &str) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| tracing::warn!(reason, "processes of git are not confined"));
}
