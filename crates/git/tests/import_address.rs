//! Tests that git connects to the address that was checked, whatever the name of the host resolves to later.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use holdfast_git::import::{self, ImportSource};
use holdfast_git::{Git, Quarantine};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// An attacker's host name resolves to a public address when the server checks it, and to an internal one when git
/// resolves it again. The name in this test does not resolve at all, so only a client that does not resolve it can
/// connect.
#[tokio::test]
async fn git_does_not_resolve_the_name_of_an_import_again() {
    let directory = tempfile::tempdir().unwrap();
    let quarantine = Quarantine::new(directory.path(), None).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let source = ImportSource {
        url: format!("http://import.invalid:{port}/x.git"),
        protocol: "http",
        resolved: Some(format!("import.invalid:{port}:127.0.0.1")),
        authorization: None,
    };
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let count = stream.read(&mut request).await.unwrap();
        // Git must not follow a redirect either.
        let answer = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.2/x.git/info/refs\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    };
    let git = Git::new(Path::new("git"), 1 << 30);
    let (head, request) = tokio::join!(import::find_remote_head(&git, &quarantine, &source), serve);
    assert!(request.to_lowercase().contains(&format!("host: import.invalid:{port}")), "{request}");
    let text = head.unwrap_err().to_string();
    assert!(text.contains("redirect") || text.contains("302"), "{text}");
}
