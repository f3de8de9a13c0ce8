//! The limits of a script: files by Landlock, signals and sockets too where the kernel knows how.

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

use super::Order;

/// The newest rules used here; older kernels enforce those they know.
const NEWEST: ABI = ABI::V6;

/// Programs, libraries and what they read. The last ones are what links in /etc commonly lead to.
const SYSTEM: &[&str] = &[
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

/// What a process may touch and how much it may have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Read and execute, with everything below.
    read: Vec<PathBuf>,
    /// List the names, and no more.
    list: Vec<PathBuf>,
    /// Everything but making devices.
    write: Vec<PathBuf>,
    open_files: u64,
    processes: Option<u64>,
    /// Rather run nothing than run it unconfined.
    is_required: bool,
}

impl Confinement {
    /// `hidden` is left out even where it lies in a directory of the system, except for `write`, which is the build's own.
    pub fn new(read: &[PathBuf], write: &[PathBuf], hidden: &[PathBuf], home: Option<&Path>) -> Confinement {
        let hidden: Vec<PathBuf> = hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let home = home.and_then(|path| path.canonicalize().ok());
        // A service's home may be / itself: hiding that would hide everything.
        let home = home.filter(|home| !SYSTEM.iter().any(|path| Path::new(path).starts_with(home)));
        let mut all_hidden = hidden.clone();
        all_hidden.extend(home);

        let mut new = Confinement { write: write.to_vec(), open_files: 65_536, ..Confinement::default() };
        for path in SYSTEM {
            new.allow(Path::new(path), &all_hidden);
        }
        // What the operator names may lie in the home.
        for path in read {
            new.allow(path, &hidden);
        }
        new
    }

    /// What is the build's own as well, to be read alone.
    pub fn with_scripts(mut self, directory: &Path) -> Confinement {
        self.read.push(directory.to_owned());
        self
    }

    pub fn with_processes(self, processes: Option<u64>) -> Confinement {
        Confinement { processes, ..self }
    }

    pub fn required(self, is_required: bool) -> Confinement {
        Confinement { is_required, ..self }
    }

    /// A rule holds for everything below it and cannot be taken back there, so a directory with something hidden in it
    /// is allowed piece by piece.
    fn allow(&mut self, path: &Path, hidden: &[PathBuf]) {
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
            // A link allows nothing by itself: what it leads to is allowed where it stands, or not at all.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.allow(&entry.path(), hidden);
            }
        }
    }

    /// Of the calling thread, for good.
    fn enforce(&self) -> anyhow::Result<()> {
        limit(Resource::Core, 0)?;
        limit(Resource::Nofile, self.open_files)?;
        if let Some(processes) = self.processes {
            limit(Resource::Nproc, processes)?;
        }
        rustix::thread::set_no_new_privs(true)?;
        let enforced = self.restrict().context("Landlock refuses the rules")?;
        if enforced == RulesetStatus::NotEnforced && self.is_required {
            bail!("this kernel has no Landlock, and the runner was told to require it");
        }
        // Where the runner is root, the script is not quite: some of root's powers go past Landlock.
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        set_capabilities(None, sets).context("capabilities cannot be given up")
    }

    fn restrict(&self) -> Result<RulesetStatus, RulesetError> {
        let read = AccessFs::from_read(NEWEST);
        // Nobody needs to make devices or to speak to them in a build.
        let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
        let device: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST))?
            .scope(Scope::from_all(NEWEST))?
            .create()?
            .add_rules(path_beneath_rules(&self.read, read))?
            .add_rules(path_beneath_rules(&self.list, AccessFs::ReadDir))?
            .add_rules(path_beneath_rules(&self.write, write))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .restrict_self()?;
        Ok(status.ruleset)
    }
}

/// Never more than there already is.
fn limit(resource: Resource, to: u64) -> anyhow::Result<()> {
    let hard = getrlimit(resource).maximum;
    let to = hard.map_or(to, |hard| hard.min(to));
    setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) }).context("a limit cannot be set")
}

/// What this kernel can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No Landlock.
    None,
    /// Files, but scripts can signal other processes of the same user.
    Files,
    /// Files, signals and abstract sockets.
    FilesAndSignals,
}

pub fn protection() -> Protection {
    let offers = |abi: ABI| -> Result<(), RulesetError> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
        if abi >= ABI::V6 {
            ruleset.scope(Scope::from_all(abi))?.create()?
        } else {
            ruleset.create()?
        };
        Ok(())
    };
    match (offers(ABI::V1), offers(NEWEST)) {
        (_, Ok(())) => Protection::FilesAndSignals,
        (Ok(()), _) => Protection::Files,
        _ => Protection::None,
    }
}

/// What is open already is past every rule. The runner opens nothing for its children, but whoever started the runner may
/// have.
fn close_inherited() {
    let open = Path::new("/proc/self/fd").read_dir().into_iter().flatten().flatten();
    let open: Vec<i32> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|it| *it > 2) {
        // The one of the list itself is closed by now.
        nix::unistd::close(descriptor).ok();
    }
}

/// Does not return when it succeeds.
pub fn become_shell() -> anyhow::Result<u8> {
    let order = Order::read(&mut BufReader::new(std::io::stdin())).context("no order came from the supervisor")?;
    rustix::process::setsid().context("the script cannot have a session of its own")?;
    std::env::set_current_dir(&order.directory)
        .with_context(|| format!("the directory {} cannot be entered", order.directory.display()))?;
    order.confinement.enforce()?;
    close_inherited();
    let mut command = Command::new(&order.program);
    command.args(&order.arguments).env_clear().envs(&order.environment).stdin(Stdio::null());
    let error = command.exec();
    Err(error).with_context(|| format!("{} cannot be started", order.program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_a_secret_is_allowed_around_it() {
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
        confinement.allow(&root.join("etc"), &[root.join("etc/runner/config.toml")]);
        let mut found = confinement.read;
        found.sort();
        assert_eq!(found, ["etc/hosts", "etc/runner/other", "etc/ssl"].map(|path| root.join(path)));
        assert!(confinement.list.contains(&root.join("etc/runner")));
    }

    #[test]
    fn a_home_that_is_everything_hides_nothing() {
        let confinement = Confinement::new(&[], &[], &[], Some(Path::new("/")));
        assert!(confinement.read.contains(&PathBuf::from("/usr")));
    }
}
