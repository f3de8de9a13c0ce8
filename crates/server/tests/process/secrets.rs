//! The key that opens what projects keep secret.

use std::io::{Read, Write};
use std::process::Output;

use super::{KEY, Server, database, run, text};

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
