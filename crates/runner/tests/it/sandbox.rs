//! Tests of the sandbox alone, without the rest of the runner.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use holdfast_runner::sandbox::{Confinement, SandboxSpec};

use crate::kit::{SANDBOX, has_landlock, is_alive};

fn start(script: &str, own: &Path, confinement: Confinement, variables: &[(&str, &str)]) -> Child {
    let mut environment: BTreeMap<String, String> = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into();
    environment.extend(variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let spec = SandboxSpec {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        directory: own.to_owned(),
        environment,
        confinement,
    };
    // The process that starts a runner may leak open file descriptors to it.
    let mut child = Command::new("/bin/sh")
        .args(["-c", "exec 9</etc/passwd 8>/dev/full; exec \"$0\"", SANDBOX])
        .env("RUNNERS_OWN", "secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(&spec.to_json_line().unwrap()).unwrap();
    child
}

/// Waits for the supervisor and returns its output. Keeps its standard input open, because closing it ends the script.
fn finish(mut child: Child) -> Output {
    let _stdin = child.stdin.take();
    child.wait_with_output().unwrap()
}

struct Fixture {
    _root: tempfile::TempDir,
    own: PathBuf,
    other: PathBuf,
    configuration: PathBuf,
}

fn fixture() -> Fixture {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().canonicalize().unwrap();
    let (own, other) = (path.join("builds/own"), path.join("builds/other"));
    for directory in [&own, &other] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::write(other.join("file"), "theirs").unwrap();
    let configuration = path.join("etc/runner.toml");
    std::fs::create_dir(path.join("etc")).unwrap();
    std::fs::write(path.join("etc/hosts"), "known").unwrap();
    std::fs::write(&configuration, "token").unwrap();
    Fixture { _root: root, own, other, configuration }
}

impl Fixture {
    /// Returns a confinement that hides the configuration file inside of a directory that scripts may read.
    fn confinement(&self) -> Confinement {
        let read = [self.configuration.parent().unwrap().to_owned()];
        Confinement::new(&read, std::slice::from_ref(&self.own), std::slice::from_ref(&self.configuration), None)
            .with_required(true)
    }

    fn run(&self, script: &str) -> (Option<i32>, String) {
        let output = finish(start(script, &self.own, self.confinement(), &[]));
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }
}

#[test]
fn a_script_works_in_its_own_directory() {
    if !has_landlock() {
        return;
    }
    let script = "mkdir d && echo x > d/f && mv d/f g && ln -s g h && cat h && rm -r d && ls /usr >/dev/null \
                  && echo y > /dev/null && cat <&0 && echo z > /dev/stdout && exit 7";
    assert_eq!(fixture().run(script), (Some(7), "x\nz\n".to_owned()));
}

#[test]
fn a_script_cannot_escape_the_sandbox() {
    if !has_landlock() {
        return;
    }
    let place = fixture();
    let (configuration, other) = (place.configuration.display(), place.other.display());
    for attempt in [
        format!("cat {configuration}"),
        format!("ln -s {configuration} link; cat link"),
        format!("cp {configuration} ."),
        format!("ln {configuration} hard; cat hard"),
        format!("mv {configuration} stolen"),
        format!("echo x > {configuration}"),
        format!("cat {other}/file"),
        format!("ls {other}"),
        format!("echo x > {other}/new"),
        format!("rm {other}/file"),
        "echo x > /tmp/holdfast-runner-was-here".to_owned(),
        "echo x > /usr/holdfast-runner-was-here".to_owned(),
        "ls \"$(getent passwd \"$(id -u)\" | cut -d: -f6)\"".to_owned(),
        "cat /proc/$PPID/environ".to_owned(),
        "cat /proc/1/environ".to_owned(),
        "mknod disk b 8 0".to_owned(),
        "mount -t tmpfs none .".to_owned(),
    ] {
        let (code, out) = place.run(&format!("{{ {attempt}; }} 2>/dev/null"));
        assert_ne!(code, Some(0), "{attempt}");
        assert_eq!(out, "", "{attempt}");
    }
    assert_eq!(std::fs::read_to_string(&place.configuration).unwrap(), "token");
    assert_eq!(std::fs::read_to_string(place.other.join("file")).unwrap(), "theirs");
    let (code, out) = place.run(&format!("cat $(dirname {configuration})/hosts"));
    assert_eq!((code, out.as_str()), (Some(0), "known"), "what lies beside it can be read");
}

#[test]
fn a_script_cannot_signal_others() {
    if holdfast_runner::sandbox::detect_status() != holdfast_runner::sandbox::SandboxStatus::FilesAndSignals {
        println!("skipped: this kernel does not confine signals");
        return;
    }
    let script = format!("kill -0 {} 2>/dev/null || kill -0 $PPID 2>/dev/null || echo refused", std::process::id());
    assert_eq!(fixture().run(&script), (Some(0), "refused\n".to_owned()));
}

#[test]
fn file_descriptors_are_not_inherited() {
    let place = fixture();
    let child = start("echo /proc/$$/fd/*", &place.own, place.confinement().with_required(false), &[]);
    let seen = String::from_utf8(finish(child).stdout).unwrap();
    let open: Vec<&str> = seen.split_whitespace().filter_map(|path| path.rsplit('/').next()).collect();
    assert_eq!(open[..3], ["0", "1", "2"]);
    assert!(!open.contains(&"8") && !open.contains(&"9"), "{open:?}");
}

#[test]
fn scripts_get_only_the_given_environment() {
    let place = fixture();
    let variables = [("A", "two\nlines"), ("LD_PRELOAD", "/nonexistent.so")];
    let child =
        start("cat /proc/$$/environ; ulimit -c", &place.own, place.confinement().with_required(false), &variables);
    let output = finish(child);
    let seen = String::from_utf8(output.stdout).unwrap();
    assert_eq!(seen, "A=two\nlines\0LD_PRELOAD=/nonexistent.so\0PATH=/usr/bin:/bin\x000\n");
}

/// Starts a daemon that ignores SIGTERM, an orphaned daemon, and a child that ignores SIGTERM and SIGHUP.
const PROCESS_TREE_SCRIPT: &str = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & \
                      (setsid sh -c 'echo $$; exec sleep 1000' &) ; \
                      sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1; done' & ";

fn read_pids(child: &mut Child) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.take(3).map(Result::unwrap).collect()
}

#[test]
fn termination_kills_all_descendants() {
    let place = fixture();
    let script = format!("{PROCESS_TREE_SCRIPT} trap '' TERM; while :; do sleep 1; done");
    let mut child = start(&script, &place.own, place.confinement().with_required(false), &[]);
    let pids = read_pids(&mut child);
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    let begin = Instant::now();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
}

#[test]
fn a_terminated_script_may_clean_up() {
    let place = fixture();
    let script = "trap 'echo bye > note; exit 0' TERM; echo ready; while :; do sleep 0.1; done";
    let note = place.own.join("note");
    // The script has one second to clean up, which can be too short on a busy machine.
    for _ in 0..5 {
        let mut child = start(script, &place.own, place.confinement().with_required(false), &[]);
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        if note.exists() {
            break;
        }
    }
    assert_eq!(std::fs::read_to_string(note).unwrap(), "bye\n");
}

#[test]
fn background_processes_end_with_the_script() {
    let place = fixture();
    let mut child =
        start(&format!("{PROCESS_TREE_SCRIPT} sleep 2"), &place.own, place.confinement().with_required(false), &[]);
    let pids = read_pids(&mut child);
    assert_eq!(pids.len(), 3);
    // `wait` closes standard input otherwise, which would end the script.
    let leash = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(leash);
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
}
