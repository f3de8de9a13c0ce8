//! Tests the files and system calls that a git process can use. A script takes the place of a git that executes an
//! attacker's code.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, or says why it does not")]

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use holdfast_git::index_pack;
use holdfast_git::pack_scan::PackLimits;
use holdfast_git::process::Command;
use holdfast_git::protocol::receive::NoProgress;
use holdfast_git::{BareRepository, Git, Quarantine};
use landlock::{Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

/// Returns whether this kernel supports all rules. Older kernels run git with fewer rules.
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

/// Runs the attempts of a script and returns the names of those that succeeded.
async fn run_attempts(command: Command) -> Vec<String> {
    let output = command.run(b"", 1 << 20, Duration::from_secs(60)).await.unwrap();
    String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
}

struct Fixture {
    directory: tempfile::TempDir,
    own: BareRepository,
    other: BareRepository,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bare = |name: &str| BareRepository::create_or_open(directory.path().join(name)).unwrap();
        let (own, other) = (bare("own.git"), bare("other.git"));
        std::fs::write(directory.path().join("secret"), "hunter2").unwrap();
        Self { own, other, directory }
    }

    /// Creates a program that makes all of these attempts.
    fn git(&self, attempts: &[(&str, String)]) -> Git {
        let mut script = String::new();
        for (name, trial) in attempts {
            writeln!(script, "if ({trial}) >/dev/null 2>&1; then echo {name}; fi").unwrap();
        }
        self.program(&format!("#!/bin/sh\n{script}"))
    }

    /// Creates a program in a separate directory.
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

/// Code in a git process tries to access data of the server: its environment, its configuration, packs of other
/// projects and other machines.
#[tokio::test]
async fn git_processes_access_only_their_repository() {
    if !kernel_confines() {
        return;
    }
    let fixture = Fixture::new();
    let (own, other) = (show(fixture.own.directory()), show(fixture.other.directory()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::process::id();
    let trials = [
        ("reads-its-repository", format!("cat {own}/HEAD")),
        ("starts-programs", "git --version || ls /usr/bin".to_owned()),
        ("writes-its-repository", format!("echo x >{own}/new")),
        ("reads-a-secret", format!("cat {}", show(&fixture.directory.path().join("secret")))),
        ("reads-another-repository", format!("cat {other}/HEAD")),
        ("writes-another-repository", format!("echo x >{other}/new")),
        ("lists-the-cache", format!("ls {}", show(fixture.directory.path()))),
        ("reads-the-configuration", "cat /etc/hostname || cat /etc/passwd".to_owned()),
        ("reads-the-environment", format!("cat /proc/{server}/environ")),
        ("reads-the-memory", format!("head -c 1 /proc/{server}/mem || cat /proc/{server}/maps")),
        ("sends-signals", format!("kill -0 {server}")),
        ("connects", format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'")),
        ("writes-to-tmp", "echo x >/tmp/holdfast-confinement-test".to_owned()),
        ("runs-what-it-writes", format!("cp /bin/true {own}/run && {own}/run")),
        // The server opens files that git wrote, and may read more than git.
        ("writes-symbolic-links", format!("ln -s {other}/HEAD {own}/link")),
        ("writes-fifos", format!("mkfifo {own}/fifo")),
    ];
    let git = fixture.git(&trials);
    let reading = run_attempts(git.command(&fixture.own, "upload-pack")).await;
    assert_eq!(reading, ["reads-its-repository", "starts-programs"]);
    let writing = run_attempts(git.command(&fixture.own, "index-pack").allow_write(fixture.own.directory())).await;
    assert_eq!(writing, ["reads-its-repository", "starts-programs", "writes-its-repository"]);
    // An import connects to its source, and reads the files that name resolution needs.
    let import = run_attempts(git.command(&fixture.own, "fetch").allow_network()).await;
    let network = ["reads-its-repository", "starts-programs", "reads-the-configuration", "connects"];
    assert_eq!(import, network, "of the configuration, the users");
}

/// A push is checked in a quarantine that borrows the objects of the cached repository.
#[tokio::test]
async fn quarantine_processes_read_alternates_and_write_only_the_quarantine() {
    if !kernel_confines() {
        return;
    }
    let fixture = Fixture::new();
    let quarantine = Quarantine::new(fixture.directory.path(), Some(&fixture.own)).unwrap();
    let objects = show(&fixture.own.directory().join("objects"));
    let trials = [
        ("reads-what-it-borrows", format!("ls {objects}/pack")),
        ("writes-what-it-borrows", format!("echo x >{objects}/new")),
        ("writes-its-own", format!("echo x >{}/new", show(quarantine.directory()))),
        ("moves-its-own", format!("mv {0}/new {0}/objects/new", show(quarantine.directory()))),
    ];
    let command =
        fixture.git(&trials).command(quarantine.repository(), "index-pack").allow_write(quarantine.directory());
    assert_eq!(run_attempts(command).await, ["reads-what-it-borrows", "writes-its-own", "moves-its-own"]);
}

/// A process that may write to a quarantine names another repository in `objects/info/alternates`. The next process
/// that is started for the quarantine must not be able to read that repository.
#[tokio::test]
async fn written_alternates_grant_no_access_to_later_processes() {
    if !kernel_confines() {
        return;
    }
    let fixture = Fixture::new();
    let quarantine = Quarantine::new(fixture.directory.path(), Some(&fixture.own)).unwrap();
    let objects = |bare: &BareRepository| show(&bare.directory().join("objects"));
    let alternates = quarantine.directory().join("objects/info/alternates");
    let write = format!("echo {} >{}", objects(&fixture.other), show(&alternates));
    let first = fixture.git(&[("writes-alternates", write)]);
    let first = first.command(quarantine.repository(), "fetch").allow_write(quarantine.directory());
    assert_eq!(run_attempts(first).await, ["writes-alternates"]);
    assert_eq!(std::fs::read_to_string(&alternates).unwrap().trim_end(), objects(&fixture.other));
    let trials = [
        ("reads-what-it-borrows", format!("ls {}/pack", objects(&fixture.own))),
        ("reads-another-repository", format!("ls {}/pack", objects(&fixture.other))),
    ];
    let second = fixture.git(&trials).command(quarantine.repository(), "rev-list");
    assert_eq!(run_attempts(second).await, ["reads-what-it-borrows"]);
}

/// The server reads the configuration and the alternates of a quarantine without confinement. The process that receives
/// the pack can write packs, and none of these files.
#[tokio::test]
async fn the_pack_receiving_process_writes_only_packs() {
    if !kernel_confines() {
        return;
    }
    let fixture = Fixture::new();
    let quarantine = Quarantine::new(fixture.directory.path(), Some(&fixture.own)).unwrap();
    let read = |name: &str| std::fs::read(quarantine.directory().join(name)).ok();
    let files = ["config", "HEAD", "packed-refs", "objects/info/alternates", "objects/info/commit-graph", "refs/new"];
    let before = files.map(read);
    let path = show(quarantine.directory());
    let mut script = "#!/bin/sh\n".to_owned();
    for name in files.iter().chain(&["objects/pack/new"]) {
        writeln!(script, "(echo x >>{path}/{name}) 2>/dev/null").unwrap();
    }
    let git = fixture.program(&script);
    let limits = PackLimits { max_pack_bytes: 1 << 20, max_object_bytes: 1 << 20, max_inflated_bytes: 1 << 20 };
    // The client sends nothing, so the process exits first.
    let (_client, mut input) = tokio::io::duplex(64);
    let received = index_pack::receive(&git, &quarantine, &mut input, limits, &mut NoProgress).await;
    assert!(received.is_err(), "the script names no pack");
    assert_eq!(read("objects/pack/new").as_deref(), Some(&b"x\n"[..]));
    assert_eq!(files.map(read), before);
}

/// Adds a ruleset to the calling thread that forbids almost nothing. Returns false if the thread has the maximum number
/// of rulesets.
fn add_layer() -> bool {
    let ruleset = Ruleset::default().handle_access(AccessFs::MakeChar).unwrap();
    ruleset.create().unwrap().restrict_self().is_ok()
}

/// A process that cannot be confined, for lack of memory, file descriptors or rulesets, is not started.
#[test]
fn git_is_not_started_if_it_cannot_be_confined() {
    if !kernel_confines() {
        return;
    }
    let fixture = Fixture::new();
    let started = fixture.directory.path().join("started");
    let git = fixture.program(&format!("#!/bin/sh\ntouch {}\n", show(&started)));
    let own = fixture.own.clone();
    let thread = std::thread::spawn(move || {
        assert!((0..100).any(|_| !add_layer()), "the kernel accepts 16");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(git.command(&own, "upload-pack").run(b"", 1 << 20, Duration::from_secs(60)))
    });
    let error = thread.join().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("running git failed: git cannot be sandboxed: "), "{error}");
    assert!(!started.exists());
}

/// Only the thread that starts a process is confined, and it ends.
#[tokio::test]
async fn the_server_itself_is_not_confined() {
    let fixture = Fixture::new();
    let git = fixture.git(&[("runs", "true".to_owned())]);
    assert_eq!(run_attempts(git.command(&fixture.own, "upload-pack")).await, ["runs"]);
    std::fs::read(fixture.directory.path().join("secret")).unwrap();
    std::fs::write(fixture.other.directory().join("new"), "x").unwrap();
    tokio::task::spawn_blocking(|| std::fs::read("/etc/passwd").unwrap()).await.unwrap();
}

/// A git process cannot allocate more memory than its limit.
#[tokio::test]
async fn git_process_memory_is_limited() {
    let fixture = Fixture::new();
    // The limit is set shortly after the process has started.
    let script = "#!/bin/sh\ni=0\nwhile [ $i -lt 1000000 ]; do\n\
                  if [ $(ulimit -d) = 65536 ]; then echo limited; exit; fi\ni=$((i+1))\ndone\n";
    let mut git = fixture.program(script);
    git.max_memory_bytes = 64 << 20;
    let command = git.command(&fixture.own, "index-pack");
    assert_eq!(run_attempts(command).await, ["limited"]);
}
