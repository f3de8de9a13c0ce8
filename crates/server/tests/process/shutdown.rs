//! Tests of graceful shutdown: a node finishes active requests and serves every accepted connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use super::{Server, database, run};

/// The server finishes a request that has begun, accepts no new ones, and exits.
#[test]
fn shutdown_finishes_started_requests() {
    let url = database("process_stop");
    assert!(run(&["migrate"], &[("HOLDFAST__DATABASE__URL", &url)]).status.success());
    let mut server = Server::start(&url);
    let mut begun = server.connect();
    begun.write_all(b"POST /api/v3/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 19\r\n\r\nlogin=x").unwrap();
    // The rest of the body is sent only after the server has begun to shut down.
    server.wait_until("begun to read", |server| server.get("/healthz").starts_with("HTTP/1.1 200"));
    let mut kept = server.connect();
    send_terminate(&server);
    server.wait_until("says goodbye", |server| match TcpStream::connect(&server.address) {
        Ok(_) => server.get("/readyz").contains("shutting down"),
        Err(_) => panic!("the listener closed before accepted connections were answered"),
    });
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut last = String::new();
    kept.read_to_string(&mut last).unwrap();
    assert!(last.starts_with("HTTP/1.1 200") && last.contains("connection: close"), "{last}");
    server.wait_until("refuses new connections", |server| TcpStream::connect(&server.address).is_err());
    begun.write_all(b"&password=yy").unwrap();
    let mut answer = String::new();
    begun.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(server.child.wait().unwrap().success());
}

/// Closing a listener resets the connections in its backlog, and a load balancer does not retry a POST.
#[test]
fn shutdown_answers_accepted_connections() {
    let url = database("process_backlog");
    assert!(run(&["migrate"], &[("HOLDFAST__DATABASE__URL", &url)]).status.success());
    let mut server = Server::start(&url);
    let address = server.address.parse().unwrap();
    let (answered, first) = mpsc::channel();
    let ask = |_| {
        thread::spawn({
            let answered = answered.clone();
            move || request_until_refused(address, &answered)
        })
    };
    let clients: Vec<_> = (0..64).map(ask).collect();
    for _ in &clients {
        first.recv_timeout(Duration::from_secs(60)).expect("everybody is served");
    }
    send_terminate(&server);
    for client in clients {
        client.join().expect("nobody is cut off");
    }
    assert!(server.child.wait().unwrap().success());
}

fn request_until_refused(address: SocketAddr, responses: &Sender<()>) {
    // A timeout of the connection attempt is as good as a refusal: no request was sent yet.
    while let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(30)) {
        stream
            .write_all(b"POST /api/nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 404"), "{response}");
        responses.send(()).ok();
    }
}

fn send_terminate(server: &Server) {
    // Uses the shell's builtin, because a minimal system has no kill program.
    let status = Command::new("sh").args(["-c", &format!("kill -TERM {}", server.child.id())]).status().unwrap();
    assert!(status.success());
}
