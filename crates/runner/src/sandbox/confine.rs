//! The restrictions of a script: file access by Landlock, also signals and abstract sockets on kernels that support it,
//! and resource limits.
//!
//! A process restricts itself with [`Confinement`] before it executes the shell. The restrictions cannot be lifted and
//! are inherited by all descendants.

use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde::{Deserialize, Serialize};

use super::SandboxSpec;

/// The newest Landlock version whose rules are used. Older kernels enforce the rules that they support.
const NEWEST_ABI: ABI = ABI::V6;

/// Paths of programs, libraries and their data. The last three are common targets of symbolic links in /etc.
const SYSTEM_PATHS: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/proc",
    "/sys",
    "/etc/resolv.conf",
    "/etc/localtime",
    "/var/lib/ca-certificates",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The paths that a process may access, and its resource limits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Paths with read and execute access, recursively.
    read: Vec<PathBuf>,
    /// Directories that may be listed. Landlock applies this to their subdirectories, too.
    list: Vec<PathBuf>,
    /// Paths with full access, except for device files.
    write: Vec<PathBuf>,
    open_files: u64,
    processes: Option<u64>,
    /// Whether to fail instead of running without Landlock.
    is_required: bool,
}

impl Confinement {
    /// Allows reading the system paths and `read`, and full access to `write`. Paths in `hidden` are excluded from
    /// both kinds of readable paths, and `home` from the system paths. Neither restricts `write`.
    pub fn new(read: &[PathBuf], write: &[PathBuf], hidden: &[PathBuf], home: Option<&Path>) -> Confinement {
        let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let home = home.and_then(|path| path.canonicalize().ok());
        // The home directory of a service user can be /, and hiding it would hide everything.
        let home = home.filter(|home| !SYSTEM_PATHS.iter().any(|path| Path::new(path).starts_with(home)));
        let mut all_hidden = hidden.clone();
        all_hidden.extend(home);

        let mut confinement = Confinement { write: write.to_vec(), open_files: 65_536, ..Confinement::default() };
        for path in SYSTEM_PATHS {
            confinement.allow_path(Path::new(path), &all_hidden);
        }
        // Paths that the operator configures may be inside the home directory.
        for path in read {
            confinement.allow_path(path, &hidden);
        }
        confinement
    }

    /// Adds read access to the directory with the scripts of the build.
    pub fn with_scripts(mut self, directory: &Path) -> Confinement {
        self.read.push(directory.to_owned());
        self
    }

    pub fn with_processes(self, processes: Option<u64>) -> Confinement {
        Confinement { processes, ..self }
    }

    pub fn with_required(self, is_required: bool) -> Confinement {
        Confinement { is_required, ..self }
    }

    /// Allows reading a path except for the hidden paths below it. A Landlock rule covers the whole subtree and cannot
    /// be revoked for a part of it, so a directory that contains a hidden path is allowed entry by entry.
    fn allow_path(&mut self, path: &Path, hidden: &[PathBuf]) {
        let Ok(path) = path.canonicalize() else { return };
        if hidden.iter().any(|secret| path.starts_with(secret)) || self.list.contains(&path) {
            return;
        }
        if !hidden.iter().any(|secret| secret.starts_with(&path)) {
            self.read.push(path);
            return;
        }
        self.list.push(path.clone());
        for entry in path.read_dir().into_iter().flatten().flatten() {
            // A symbolic link needs no rule: access is checked at its target.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.allow_path(&entry.path(), hidden);
            }
        }
    }

    /// Applies all restrictions to the calling thread, irrevocably.
    fn enforce(&self) -> anyhow::Result<()> {
        set_limit(Resource::Core, 0)?;
        set_limit(Resource::Nofile, self.open_files)?;
        if let Some(processes) = self.processes {
            set_limit(Resource::Nproc, processes)?;
        }
        rustix::thread::set_no_new_privs(true)?;
        let enforced = self.restrict().context("the kernel rejected the Landlock rules")?;
        if enforced == RulesetStatus::NotEnforced && self.is_required {
            bail!("the kernel has no Landlock, and the runner requires it (--require-sandbox)");
        }
        // If the runner is root, the script loses root's capabilities, some of which bypass Landlock.
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).context("capabilities cannot be dropped")
    }

    fn restrict(&self) -> Result<RulesetStatus, RulesetError> {
        let read = AccessFs::from_read(NEWEST_ABI);
        // Builds need neither to create device files nor to use ioctl on devices.
        let write = AccessFs::from_all(NEWEST_ABI) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST_ABI))?
            .scope(Scope::from_all(NEWEST_ABI))?
            .create()?
            .add_rules(path_beneath_rules(&self.read, read))?
            .add_rules(path_beneath_rules(&self.list, AccessFs::ReadDir))?
            .add_rules(path_beneath_rules(&self.write, write))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .restrict_self()?;
        Ok(status.ruleset)
    }
}

/// Sets a soft and hard resource limit. The current hard limit is never raised.
fn set_limit(resource: Resource, value: u64) -> anyhow::Result<()> {
    let hard = getrlimit(resource).maximum;
    let value = hard.map_or(value, |hard| hard.min(value));
    setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) }).context("a resource limit cannot be set")
}

/// The degree of sandboxing that the kernel supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxStatus {
    /// No Landlock.
    None,
    /// File access is restricted, but scripts can send signals to other processes of the same user.
    Files,
    /// File access, signals and abstract sockets are restricted.
    FilesAndSignals,
}

pub fn detect_status() -> SandboxStatus {
    let supports = |abi: ABI| -> Result<(), RulesetError> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
        if abi >= ABI::V6 {
            ruleset.scope(Scope::from_all(abi))?.create()?
        } else {
            ruleset.create()?
        };
        Ok(())
    };
    match (supports(ABI::V1), supports(NEWEST_ABI)) {
        (_, Ok(())) => SandboxStatus::FilesAndSignals,
        (Ok(()), _) => SandboxStatus::Files,
        _ => SandboxStatus::None,
    }
}

/// Closes inherited file descriptors, to which Landlock does not apply. The runner passes none to its children, but the
/// process that started the runner may have.
fn close_inherited() {
    let open = Path::new("/proc/self/fd").read_dir().into_iter().flatten().flatten();
    let open: Vec<i32> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|it| *it > 2) {
        // The descriptor of the directory listing itself is closed by now; the error is ignored.
        nix::unistd::close(descriptor).ok();
    }
}

/// Reads the [`SandboxSpec`] from standard input, restricts this process and executes the shell. Returns only on
/// failure.
pub fn exec_shell() -> anyhow::Result<u8> {
    let spec =
        SandboxSpec::read(&mut BufReader::new(std::io::stdin())).context("no instructions from the supervisor")?;
    rustix::process::setsid().context("a session for the script cannot be created")?;
    std::env::set_current_dir(&spec.directory)
        .with_context(|| format!("the directory {} cannot be entered", spec.directory.display()))?;
    spec.confinement.enforce()?;
    close_inherited();
    let mut command = Command::new(&spec.program);
    command.args(&spec.arguments).env_clear().envs(&spec.environment).stdin(Stdio::null());
    let error = command.exec();
    Err(error).with_context(|| format!("{} cannot be started", spec.program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_with_secrets_are_allowed_except_the_secrets() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for directory in ["etc/ssl", "etc/runner"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        std::fs::write(root.join("etc/runner/config.toml"), "token").unwrap();
        std::fs::write(root.join("etc/runner/other"), "").unwrap();
        std::fs::write(root.join("etc/hosts"), "").unwrap();
        std::os::unix::fs::symlink("runner/config.toml", root.join("etc/link")).unwrap();
        std::os::unix::fs::symlink("..", root.join("etc/loop")).unwrap();

        let mut confinement = Confinement::default();
        confinement.allow_path(&root.join("etc"), &[root.join("etc/runner/config.toml")]);
        let mut found = confinement.read;
        found.sort();
        assert_eq!(found, ["etc/hosts", "etc/runner/other", "etc/ssl"].map(|path| root.join(path)));
        assert!(confinement.list.contains(&root.join("etc/runner")));
    }

    #[test]
    fn root_as_home_directory_hides_nothing() {
        let confinement = Confinement::new(&[], &[], &[], Some(Path::new("/")));
        assert!(confinement.read.contains(&PathBuf::from("/usr")));
    }
}
