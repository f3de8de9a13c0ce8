//! A node that is told to stop finishes what has begun, and loses nobody who was let in.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use super::{Server, database, run};

/// A request that has begun is finished; new ones are not taken; then the process ends by itself.
#[test]
fn stopping_finishes_what_has_begun() {
    let url = database("process_stop");
    assert!(run(&["migrate"], &[("HOLDFAST__DATABASE__URL", &url)]).status.success());
    let mut server = Server::start(&url);
    let mut begun = server.connect();
    begun.write_all(b"POST /api/v3/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 19\r\n\r\nlogin=x").unwrap();
    // The rest of the body is held back until the server knows that it is to stop.
    server.wait_until("begun to read", |server| server.get("/healthz").starts_with("HTTP/1.1 200"));
    let mut kept = server.connect();
    tell_to_stop(&server);
    server.wait_until("says goodbye", |server| match TcpStream::connect(&server.address) {
        Ok(_) => server.get("/readyz").contains("about to stop"),
        Err(_) => panic!("it closes the door while somebody could be on the way"),
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

/// A listener that is closed resets whoever waits to be let in, and a balancer does not dare to send a POST twice.
#[test]
fn whoever_was_let_in_is_answered() {
    let url = database("process_door");
    assert!(run(&["migrate"], &[("HOLDFAST__DATABASE__URL", &url)]).status.success());
    let mut server = Server::start(&url);
    let address = server.address.parse().unwrap();
    let (answered, first) = mpsc::channel();
    let ask = |_| {
        thread::spawn({
            let answered = answered.clone();
            move || ask_until_refused(address, &answered)
        })
    };
    let clients: Vec<_> = (0..64).map(ask).collect();
    for _ in &clients {
        first.recv_timeout(Duration::from_secs(60)).expect("everybody is served");
    }
    tell_to_stop(&server);
    for client in clients {
        client.join().expect("nobody is cut off");
    }
    assert!(server.child.wait().unwrap().success());
}

fn ask_until_refused(address: SocketAddr, answered: &Sender<()>) {
    // Not to be heard is as good as to be refused: nothing was sent yet.
    while let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(30)) {
        stream
            .write_all(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        answered.send(()).ok();
    }
}

fn tell_to_stop(server: &Server) {
    // The shell's own: a bare machine has no program of that name.
    let told = Command::new("sh").args(["-c", &format!("kill -TERM {}", server.child.id())]).status().unwrap();
    assert!(told.success());
}
