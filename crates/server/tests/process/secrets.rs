//! The key that opens what projects keep secret, and who may read it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use super::{KEY, Server, database, holdfast, run, text};

const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

fn doctor(url: &str, key: &str) -> Output {
    run(&["doctor"], &[("HOLDFAST__DATABASE__URL", url), ("HOLDFAST__SECRETS__KEY", key)])
}

#[test]
fn the_doctor_finds_a_key_that_opens_nothing() {
    let url = database("process_secrets");
    let environment = [("HOLDFAST__DATABASE__URL", url.as_str()), ("HOLDFAST__SECRETS__KEY", KEY)];
    assert!(run(&["migrate"], &environment).status.success());
    // Nothing is sealed yet: any key will do.
    assert!(text(&doctor(&url, OTHER).stdout).contains("secrets    ok"));
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
    assert!(text(&doctor(&url, KEY).stdout).contains("secrets    ok"));
    let told = text(&doctor(&url, OTHER).stdout);
    assert!(told.contains("secrets    WRONG") && told.contains("the one of before"), "{told}");
}

/// A command without the privileges that root has over the processes of others.
fn unprivileged(command: &Command) -> Command {
    let mut unprivileged = Command::new("setpriv");
    // As somebody else, it has none to drop.
    if rustix::process::geteuid().is_root() {
        unprivileged.arg("--bounding-set=-all");
    }
    unprivileged.arg("--").arg(command.get_program()).args(command.get_args());
    unprivileged.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    unprivileged
}

/// A process of git that was made to run somebody's code has the same user as the server, and could read the key and the
/// password of the database in the server's environment or memory.
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
    assert!(can_read(other.id()), "that of another process can be read");
    other.kill().unwrap();
    other.wait().unwrap();

    let variables = [
        ("HOLDFAST__DATABASE__URL", "postgres://u:hunter42@127.0.0.1:1/none"),
        ("HOLDFAST__SERVER__LISTEN", "127.0.0.1:0"),
        ("HOLDFAST__OPERATIONS__LISTEN", ""),
        ("HOLDFAST__SECRETS__KEY", KEY),
        ("HOLDFAST__LOG__FORMAT", "json"),
    ];
    let mut server = unprivileged(&holdfast(&["serve"], &variables)).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
    let serving = log.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"serving\"")));
    assert!(serving.is_some(), "the server did not start");
    let read = can_read(server.id());
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(!read);
}
