//! Git calls the address that was checked, whatever the name of the host leads to by then.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use holdfast_git::import::{self, Source};
use holdfast_git::{Git, Incoming};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A name leads to a public address when the server checks it, and to a neighbor when git asks for it again. This name leads
/// nowhere at all: only who does not ask arrives.
#[tokio::test]
async fn git_does_not_resolve_the_name_of_an_import_again() {
    let directory = tempfile::tempdir().unwrap();
    let incoming = Incoming::new(directory.path(), None).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let source = Source {
        url: format!("http://import.invalid:{port}/x.git"),
        protocol: "http",
        resolved: Some(format!("import.invalid:{port}:127.0.0.1")),
        authorization: None,
    };
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let count = stream.read(&mut request).await.unwrap();
        // It may not be led elsewhere either.
        let answer = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.2/x.git/info/refs\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    };
    let git = Git::new(Path::new("git"), 1 << 30);
    let (head, request) = tokio::join!(import::head(&git, &incoming, &source), serve);
    assert!(request.to_lowercase().contains(&format!("host: import.invalid:{port}")), "{request}");
    let text = head.unwrap_err().to_string();
    assert!(text.contains("redirect") || text.contains("302"), "{text}");
}
