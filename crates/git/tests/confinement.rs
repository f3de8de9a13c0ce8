//! What a process of git can touch. A script stands in for a git that was made to run somebody's code.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use holdfast_git::program::Command;
use holdfast_git::{Bare, Git, Incoming};
use landlock::{Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// Whether this kernel has all rules: git runs on older ones, with fewer.
fn kernel_confines() -> bool {
    let ruleset = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let confines = ruleset().handle_access(AccessFs::from_all(landlock::ABI::V6)).is_ok()
        && ruleset().handle_access(AccessNet::ConnectTcp).is_ok()
        && ruleset().scope(Scope::Signal).is_ok();
    if !confines {
        println!("not tried: this kernel does not know all the rules");
    }
    confines
}

/// Tries things in a shell; returns the names of those that worked.
async fn tried(command: Command) -> Vec<String> {
    let output = command.run(b"", 1 << 20, Duration::from_secs(60)).await.unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

struct Scene {
    directory: tempfile::TempDir,
    own: Bare,
    other: Bare,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bare = |name: &str| Bare::at(directory.path().join(name)).unwrap();
        let (own, other) = (bare("own.git"), bare("other.git"));
        std::fs::write(directory.path().join("secret"), "hunter2").unwrap();
        Self { own, other, directory }
    }

    /// A program that tries all of these.
    fn git(&self, trials: &[(&str, String)]) -> Git {
        let mut script = String::new();
        for (name, trial) in trials {
            writeln!(script, "if ({trial}) >/dev/null 2>&1; then echo {name}; fi").unwrap();
        }
        self.program(&format!("#!/bin/sh\n{script}"))
    }

    /// A program in a directory of its own.
    fn program(&self, script: &str) -> Git {
        let programs = self.directory.path().join("programs");
        std::fs::create_dir_all(&programs).unwrap();
        let program = programs.join("git");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Git::new(&program, 1 << 30)
    }
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

/// Code that runs in a process of git looks for what the server knows: its environment, its configuration, packs of other
/// projects, other machines.
#[tokio::test]
async fn a_process_of_git_reaches_its_repository_and_nothing_else() {
    if !kernel_confines() {
        return;
    }
    let scene = Scene::new();
    let (own, other) = (show(scene.own.directory()), show(scene.other.directory()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::process::id();
    let trials = [
        ("reads-its-repository", format!("cat {own}/HEAD")),
        ("starts-programs", "git --version || ls /usr/bin".to_owned()),
        ("writes-its-repository", format!("echo x >{own}/new")),
        ("reads-a-secret", format!("cat {}", show(&scene.directory.path().join("secret")))),
        ("reads-another-repository", format!("cat {other}/HEAD")),
        ("writes-another-repository", format!("echo x >{other}/new")),
        ("lists-the-cache", format!("ls {}", show(scene.directory.path()))),
        ("reads-the-configuration", "cat /etc/hostname || cat /etc/passwd".to_owned()),
        ("reads-the-environment", format!("cat /proc/{server}/environ")),
        ("reads-the-memory", format!("head -c 1 /proc/{server}/mem || cat /proc/{server}/maps")),
        ("sends-signals", format!("kill -0 {server}")),
        ("connects", format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'")),
        ("writes-to-tmp", "echo x >/tmp/holdfast-confinement-test".to_owned()),
        ("runs-what-it-writes", format!("cp /bin/true {own}/run && {own}/run")),
    ];
    let git = scene.git(&trials);
    let reading = tried(git.command(scene.own.directory(), "upload-pack")).await;
    assert_eq!(reading, ["reads-its-repository", "starts-programs"]);
    let writing = tried(git.command(scene.own.directory(), "index-pack").writing(scene.own.directory())).await;
    assert_eq!(writing, ["reads-its-repository", "starts-programs", "writes-its-repository"]);
    // An import calls the source, and reads what that takes.
    let import = tried(git.command(scene.own.directory(), "fetch").with_network()).await;
    let network = ["reads-its-repository", "starts-programs", "reads-the-configuration", "connects"];
    assert_eq!(import, network, "of the configuration, the users");
}

/// A push is checked in a repository of its own that borrows the objects of the real one.
#[tokio::test]
async fn a_quarantine_reads_what_it_borrows_and_writes_its_own() {
    if !kernel_confines() {
        return;
    }
    let scene = Scene::new();
    let incoming = Incoming::new(scene.directory.path(), Some(&scene.own)).unwrap();
    let objects = show(&scene.own.directory().join("objects"));
    let trials = [
        ("reads-what-it-borrows", format!("ls {objects}/pack")),
        ("writes-what-it-borrows", format!("echo x >{objects}/new")),
        ("writes-its-own", format!("echo x >{}/new", show(incoming.directory()))),
        ("moves-its-own", format!("mv {0}/new {0}/objects/new", show(incoming.directory()))),
    ];
    let command = scene.git(&trials).command(incoming.bare().directory(), "index-pack").writing(incoming.directory());
    assert_eq!(tried(command).await, ["reads-what-it-borrows", "writes-its-own", "moves-its-own"]);
}

/// The thread that starts a process is confined and ends; the server goes on as it was.
#[tokio::test]
async fn the_server_itself_is_not_confined() {
    let scene = Scene::new();
    let git = scene.git(&[("runs", "true".to_owned())]);
    assert_eq!(tried(git.command(scene.own.directory(), "upload-pack")).await, ["runs"]);
    std::fs::read(scene.directory.path().join("secret")).unwrap();
    std::fs::write(scene.other.directory().join("new"), "x").unwrap();
    tokio::task::spawn_blocking(|| std::fs::read("/etc/passwd").unwrap()).await.unwrap();
}

/// A process that asks for more memory than it may have fails, whatever made it ask.
#[tokio::test]
async fn the_memory_of_a_process_is_limited() {
    let scene = Scene::new();
    // The limit comes a moment after the start.
    let script = "#!/bin/sh\ni=0\nwhile [ $i -lt 1000000 ]; do\n\
                  if [ $(ulimit -d) = 65536 ]; then echo limited; exit; fi\ni=$((i+1))\ndone\n";
    let mut git = scene.program(script);
    git.max_memory_bytes = 64 << 20;
    let command = git.command(scene.own.directory(), "index-pack");
    assert_eq!(tried(command).await, ["limited"]);
}
