//! Tests of the encryption key: its check by `doctor`, and its protection from other processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{ENCRYPTION_KEY, Server, database, holdfast, run, text};

const OTHER_KEY: &str = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

fn doctor(url: &str, key: &str) -> Output {
    run(&["doctor"], &[("HOLDFAST__DATABASE__URL", url), ("HOLDFAST__ENCRYPTION__KEY", key)])
}

#[test]
fn doctor_reports_a_wrong_encryption_key() {
    let url = database("process_secrets");
    let environment = [("HOLDFAST__DATABASE__URL", url.as_str()), ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY)];
    assert!(run(&["migrate"], &environment).status.success());
    // Nothing is encrypted yet, so `doctor` accepts any key.
    assert!(text(&doctor(&url, OTHER_KEY).stdout).contains("encryption ok"));
    let root = ["--username", "root", "--email", "r@example.com", "--name", "R", "--admin"];
    assert!(run(&[&["admin", "user", "create"], root.as_slice()].concat(), &environment).status.success());
    let token = text(&run(&["admin", "token", "create", "--user", "root"], &environment).stdout);
    let server = Server::start(&url);
    for (path, form) in [("projects", "name=p"), ("projects/root%2Fp/variables", "key=A&value=secret")] {
        let mut stream = server.connect();
        let length = form.len();
        let token = token.trim();
        let head = format!("POST /api/v3/{path} HTTP/1.1\r\nHost: x\r\nPRIVATE-TOKEN: {token}\r\nConnection: close");
        let kind = "Content-Type: application/x-www-form-urlencoded";
        write!(stream, "{head}\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{form}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
    assert!(text(&doctor(&url, ENCRYPTION_KEY).stdout).contains("encryption ok"));
    let printed = text(&doctor(&url, OTHER_KEY).stdout);
    assert!(printed.contains("encryption error") && printed.contains("the previous key"), "{printed}");
}

/// Returns the command without root's capabilities, which allow access to processes of other users.
fn unprivileged(command: &Command) -> Command {
    let mut unprivileged = Command::new("setpriv");
    // Other users have no capabilities to drop.
    if rustix::process::geteuid().is_root() {
        unprivileged.arg("--bounding-set=-all");
    }
    unprivileged.arg("--").arg(command.get_program()).args(command.get_args());
    unprivileged.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    unprivileged
}

/// Attack: a git process that executes code of an attacker runs as the server's user. It must not be able to read the
/// encryption key and the database password from the server's environment or memory.
#[test]
fn other_processes_of_the_user_cannot_read_the_environment_of_a_server() {
    let can_read = |id: u32| {
        let mut reading = Command::new("cat");
        reading.arg(format!("/proc/{id}/environ"));
        unprivileged(&reading).output().unwrap().status.success()
    };
    let mut sleep = Command::new("sleep");
    sleep.arg("600");
    let mut other = unprivileged(&sleep).spawn().unwrap();
    // The environment can be read as soon as `setpriv` has dropped the capabilities and started `sleep`.
    let deadline = Instant::now() + Duration::from_secs(30);
    while !can_read(other.id()) {
        assert!(Instant::now() < deadline, "the environment of a process that does not protect it can be read");
    }
    other.kill().unwrap();
    other.wait().unwrap();

    let variables = [
        ("HOLDFAST__DATABASE__URL", "postgres://u:hunter42@127.0.0.1:1/none"),
        ("HOLDFAST__SERVER__LISTEN", "127.0.0.1:0"),
        ("HOLDFAST__MONITORING__LISTEN", ""),
        ("HOLDFAST__ENCRYPTION__KEY", ENCRYPTION_KEY),
        ("HOLDFAST__LOG__FORMAT", "json"),
    ];
    let mut server = unprivileged(&holdfast(&["serve"], &variables)).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let serving = log.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"server started\"")));
    assert!(serving.is_some(), "the server did not start");
    let read = can_read(server.id());
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(!read);
}
