//! One client cannot stop a node over HTTP: each test tells the attack.
//!
//! Attackers and victims have different addresses of this machine: 127.0.0.2 and 127.0.0.1.

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use holdfast_tests::{Client, Server, Setup, WorkTree, log};
use sqlx::Executor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::equal_fetches::noise;
use crate::pipelines::Runner;

/// Longer than anything here takes, and shorter than the limits that must not be what ends it.
const DEADLINE: Duration = Duration::from_secs(50);
const FOREVER: Duration = Duration::from_secs(600);

/// Like [`connect`], from the address of a client that attacks.
async fn attack(server: &Server) -> TcpStream {
    connect(server, "127.0.0.2").await
}

/// A connection that takes little before it is read from.
async fn connect(server: &Server, from: &str) -> TcpStream {
    connect_with(server, from, 2048).await
}

async fn connect_with(server: &Server, from: &str, receive_buffer: u32) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(receive_buffer).unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    socket.connect(server.address().parse().unwrap()).await.unwrap()
}

async fn send(server: &Server, request: &str) -> TcpStream {
    let mut socket = attack(server).await;
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

/// All that the server says until it closes the connection, which it does within the deadline.
async fn heard(mut socket: TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection that is reset has ended, too.
    timeout(DEADLINE, socket.read_to_end(&mut answer)).await.expect("the server closes the connection").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Whether the server has said anything yet.
async fn has_answer(socket: &TcpStream) -> bool {
    timeout(Duration::from_millis(100), socket.readable()).await.is_ok()
}

fn status(answer: &str) -> &str {
    answer.strip_prefix("HTTP/1.1 ").map_or(answer, |rest| &rest[..3])
}

/// The head of a request whose body is announced.
fn announce(request: &str, headers: &str, bytes: usize) -> String {
    format!("{request} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {bytes}\r\n\r\n")
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// The same request on a connection that the server is to close after its response.
fn closing(request: &str) -> String {
    request.replacen("Host: x\r\n", "Host: x\r\nConnection: close\r\n", 1)
}

/// Sends a request from an address that does not attack, and returns the whole response.
async fn ask(server: &Server, request: &str) -> String {
    let mut socket = connect_with(server, "127.0.0.1", 256 << 10).await;
    socket.write_all(closing(request).as_bytes()).await.unwrap();
    heard(socket).await
}

/// Checks that a request is refused for now because its client has too many large responses, and that it is told when to try
/// again.
async fn assert_busy(server: &Server, request: &str) {
    let answer = heard(send(server, &closing(request)).await).await;
    assert_eq!(status(&answer), "503", "{}", answer.chars().take(500).collect::<String>());
    assert!(answer.to_lowercase().contains("retry-after: 10"), "{answer}");
    assert!(answer.contains("Too many large responses are being sent, please try again later"), "{answer}");
}

/// Checks that a response with status 200 begins.
async fn assert_begins(socket: &mut TcpStream) {
    let mut start = [0; 12];
    timeout(DEADLINE, socket.read_exact(&mut start)).await.expect("a response begins").unwrap();
    assert_eq!(start, *b"HTTP/1.1 200");
}

/// Sends a request again and again until it is answered 200, and returns that response.
async fn until_served(server: &Server, request: &str) -> String {
    let mut every = tokio::time::interval(Duration::from_millis(50));
    let served = async {
        loop {
            every.tick().await;
            let mut socket = connect_with(server, "127.0.0.2", 256 << 10).await;
            socket.write_all(closing(request).as_bytes()).await.unwrap();
            let answer = heard(socket).await;
            if status(&answer) == "200" {
                return answer;
            }
        }
    };
    timeout(DEADLINE, served).await.expect("it is served")
}

const FETCH: &str = "Content-Type: application/x-git-upload-pack-request\r\nGit-Protocol: version=2\r\n";
const PUSH: &str = "Content-Type: application/x-git-receive-pack-request\r\n";

/// A public project of ada's with one file of so many bytes, and a private one of bea's.
async fn world(server: &Server, bytes: usize) -> (Client, Client) {
    let ((_, ada), (_, bea)) = (server.user("ada").await, server.user("bea").await);
    server.project(&ada, "public", 20).await;
    server.project(&bea, "secret", 0).await;
    let tree = WorkTree::new().await;
    tree.commit("noise", &noise(bytes, 1), "large").await;
    tree.push(&server.git_url(&ada, "ada/public"), &["main"]).await.ok();
    server.push_first(&bea, "bea/secret").await;
    (ada, bea)
}

/// A client sends the heads of many fetch requests without their bodies, to take all permits for reading such requests.
#[tokio::test]
async fn unsent_fetch_requests_do_not_stop_others() {
    let mut setup = Setup::default();
    (setup.settings.git.request_timeout, setup.limits.stall_timeout) = (FOREVER, FOREVER);
    let server = Server::with(setup).await;
    let (_, bea) = world(&server, 10).await;
    let request = announce("POST /ada/public.git/git-upload-pack", FETCH, 1000) + "0014";
    let mut silent = Vec::new();
    for _ in 0..80 {
        silent.push(send(&server, &request).await);
    }
    let tree = WorkTree::new().await;
    for path in ["ada/public", "bea/secret"] {
        let url = server.git_url(&bea, path);
        timeout(DEADLINE, tree.git(["ls-remote", &url])).await.expect("others are served").ok();
        timeout(DEADLINE, WorkTree::clone(&url, &[])).await.expect("others are served").0.ok();
    }
}

/// A long request is kept in memory while it is read, so there are places for them; one client gets a quarter.
#[tokio::test]
async fn long_fetch_requests_of_one_client_leave_places_to_others() {
    let mut setup = Setup::default();
    (setup.settings.git.request_timeout, setup.limits.stall_timeout) = (FOREVER, FOREVER);
    let server = Server::with(setup).await;
    world(&server, 10).await;
    let id = "1".repeat(40);
    let haves: String = (0..2000).map(|_| format!("0032have {id}\n")).collect();
    let head = format!("0011command=fetch0001000eofs-delta\n{haves}");
    let silent = announce("POST /ada/public.git/git-upload-pack", FETCH, 10 << 20) + &head;
    let mut silent_ones = Vec::new();
    for _ in 0..64 {
        silent_ones.push(send(&server, &silent).await);
    }
    let complete = format!("{head}0000");
    let complete = announce("POST /ada/public.git/git-upload-pack", FETCH, complete.len()) + &complete;
    let complete = complete.replace("Host: x\r\n", "Host: x\r\nConnection: close\r\n");
    // At some point its own share is used up, whatever else it asks for.
    let waiting = async {
        loop {
            let own = send(&server, &complete).await;
            if !has_answer(&own).await {
                return own;
            }
        }
    };
    let own = timeout(DEADLINE, waiting).await.expect("one waits");
    let mut other = connect(&server, "127.0.0.1").await;
    other.write_all(complete.as_bytes()).await.unwrap();
    assert_eq!(status(&heard(other).await), "200");
    assert!(!has_answer(&own).await);
}

/// A client requests archives and does not read them, to take all fetches of a node.
#[tokio::test]
async fn unread_archives_leave_fetches_to_others() {
    let mut setup = Setup::default();
    (setup.settings.git.max_fetches, setup.settings.git.max_fetches_per_repository) = (4, 4);
    let server = Server::with(setup).await;
    let (ada, bea) = world(&server, 8 << 20).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].clone();
    let request = get(&format!("/api/v3/projects/{project}/repository/archive.tar"));
    let unread = send(&server, &request).await;
    timeout(DEADLINE, unread.readable()).await.expect("an archive begins").unwrap();
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(send(&server, &request).await);
    }
    for path in ["bea/secret", "ada/public"] {
        let url = server.git_url(&bea, path);
        timeout(DEADLINE, WorkTree::clone(&url, &[])).await.expect("others are served").0.ok();
    }
    for socket in &waiting {
        assert!(!has_answer(socket).await, "one client gets a quarter of the fetches");
    }
    drop(unread);
    let answered = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while !has_answer(&waiting[0]).await && !has_answer(&waiting[1]).await {
            every.tick().await;
        }
    };
    timeout(DEADLINE, answered).await.expect("the next one begins");
}

/// A client requests a long list of refs many times and does not read it, so that the server keeps all copies in memory.
#[tokio::test]
async fn unread_ref_lists_are_limited_for_each_client() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = FOREVER;
    let server = Server::with(setup).await;
    let (ada, bea) = world(&server, 10).await;
    let tree = WorkTree::new().await;
    let head = tree.commit("f", b"x", "x").await;
    let long = "x".repeat(180);
    let refs = (0..3000).map(|number| format!("create refs/heads/many/{number:05}-{long} {head}\n"));
    std::fs::write(tree.path().join("refs"), refs.collect::<String>()).unwrap();
    let update = format!("git update-ref --stdin < {}", tree.path().join("refs").display());
    tree.git(["-c", &format!("alias.update=!{update}"), "update"]).await.ok();
    let url = server.git_url(&ada, "ada/public");
    tree.push(&url, &["refs/heads/many/*:refs/heads/many/*"]).await.ok();
    // All of them arrive, whichever way they are asked for.
    for version in ["0", "1", "2"] {
        let protocol = format!("protocol.version={version}");
        let listed = tree.git(["-c", &protocol, "ls-remote", &url, "refs/heads/many/*"]).await.ok();
        assert_eq!(listed.stdout.lines().count(), 3000, "version {version}");
    }
    let request = get("/ada/public.git/info/refs?service=git-upload-pack");
    let mut unread = Vec::new();
    for _ in 0..16 {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the list begins").unwrap();
        unread.push(socket);
    }
    let waiting = send(&server, &request).await;
    let listed = timeout(DEADLINE, tree.git(["ls-remote", &server.git_url(&bea, "ada/public")])).await;
    assert_eq!(listed.expect("others are served").ok().stdout.lines().count(), 3002);
    assert!(!has_answer(&waiting).await, "its client has its share");
    unread.clear();
    timeout(DEADLINE, waiting.readable()).await.expect("the list begins").unwrap();
}

/// Every file of up to 4 MiB was in memory for as long as its client did not read it.
#[tokio::test]
async fn unread_files_are_limited_for_each_client() {
    const SIZE: usize = 4 << 20;
    let mut setup = Setup::default();
    setup.limits.stall_timeout = FOREVER;
    let server = Server::with(setup).await;
    let (ada, _) = world(&server, SIZE).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].clone();
    let before = server.contents().await;
    let request = get(&format!("/api/v3/projects/{project}/repository/blobs/main?filepath=noise"));
    let mut unread = Vec::new();
    for _ in 0..8 {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the file begins").unwrap();
        unread.push(socket);
    }
    assert_busy(&server, &request).await;
    // What is small, and what others ask for, is answered as always.
    let small = get(&format!("/api/v3/projects/{project}/repository/tree"));
    assert_eq!(status(&heard(send(&server, &closing(&small)).await).await), "200");
    let mut other = connect_with(&server, "127.0.0.1", 256 << 10).await;
    other.write_all(closing(&request).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(DEADLINE, other.read_to_end(&mut answer)).await.expect("others are served").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(&noise(SIZE, 1)), "{} bytes", answer.len());
    // One that waits gets what another one of its client gives back.
    let mut waiting = send(&server, &request).await;
    assert!(!has_answer(&waiting).await);
    unread.pop();
    assert_begins(&mut waiting).await;
    drop((unread, waiting));
    until_served(&server, &request).await;
    assert_eq!(server.contents().await, before);
}

/// A page of long texts was in memory for as long as its client did not read it.
#[tokio::test]
async fn unread_pages_are_limited_for_each_client() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = FOREVER;
    let server = Server::with(setup).await;
    let ((_, ada), (_, bea)) = (server.user("ada").await, server.user("bea").await);
    let project = server.project(&ada, "public", 20).await;
    let text = "x".repeat(64 << 10);
    let long = [("title", "t"), ("description", &*text)];
    assert_eq!(ada.post(&format!("/projects/{project}/issues"), &long).await.status, 201);
    let fill = "
        insert into issues (project_id, iid, author_id, title, description, state, confidential, milestone_id, created_at,
          updated_at)
          select project_id, iid + n, author_id, title, description, state, confidential, milestone_id, created_at,
          updated_at
          from issues, generate_series(1, 99) n;";
    server.database().await.execute(fill).await.unwrap();
    let page = |client: &Client, size: usize| {
        let path = format!("/api/v3/projects/{project}/issues?per_page={size}");
        get(&path).replacen("Host: x\r\n", &format!("Host: x\r\nPRIVATE-TOKEN: {}\r\n", client.token()), 1)
    };
    let request = page(&ada, 100);
    let theirs = ask(&server, &page(&bea, 100)).await;
    assert!(status(&theirs) == "200" && theirs.len() > 6 << 20, "{} bytes", theirs.len());
    // As many as fit into the memory that a client gets, which is counted in units of 64 KiB.
    let bytes = bea.get(&format!("/projects/{project}/issues?per_page=100")).await.text.len();
    let most = (32 << 20) / bytes.next_multiple_of(64 << 10);
    let mut unread = Vec::new();
    for _ in 0..most {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the page begins").unwrap();
        unread.push(socket);
    }
    assert_busy(&server, &request).await;
    assert_eq!(status(&heard(send(&server, &closing(&page(&ada, 1))).await).await), "200");
    let again = ask(&server, &page(&bea, 100)).await;
    assert_eq!((status(&again), again.len()), ("200", theirs.len()), "others are served");
    let mut waiting = send(&server, &request).await;
    assert!(!has_answer(&waiting).await);
    unread.pop();
    assert_begins(&mut waiting).await;
    drop((unread, waiting));
    assert!(until_served(&server, &request).await.len() > 6 << 20);
}

/// Whoever sends no token could have as many bodies of a megabyte in memory as it had connections.
#[tokio::test]
async fn long_bodies_of_one_client_leave_permits_to_others() {
    let mut setup = Setup::default();
    (setup.limits.request_timeout, setup.limits.stall_timeout) = (FOREVER, FOREVER);
    let server = Server::with(setup).await;
    let before = server.contents().await;
    let start = format!("x={}", "a".repeat(150 << 10));
    let silent = announce("POST /api/v3/session", "", 1_000_000) + &start;
    let mut silent_ones = Vec::new();
    for _ in 0..64 {
        silent_ones.push(send(&server, &silent).await);
    }
    let complete = closing(&(announce("POST /api/v3/session", "", start.len()) + &start));
    // At some point its own share is used up.
    let waiting = async {
        loop {
            let own = send(&server, &complete).await;
            if !has_answer(&own).await {
                return own;
            }
        }
    };
    let own = timeout(DEADLINE, waiting).await.expect("one waits");
    let answer = ask(&server, &(announce("POST /api/v3/session", "", start.len()) + &start)).await;
    assert_eq!(status(&answer), "400", "{answer}");
    assert!(answer.contains("password is missing"), "{answer}");
    // Its own short ones are read, too.
    let short = closing(&(announce("POST /api/v3/session", "", 3) + "x=a"));
    assert_eq!(status(&heard(send(&server, &short).await).await), "400");
    assert!(!has_answer(&own).await);
    drop(silent_ones);
    assert_eq!(status(&heard(own).await), "400");
    assert_eq!(server.contents().await, before);
}

/// A client opens connections until the node has no file descriptors left.
#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let mut setup = Setup::default();
    setup.limits.max_connections_per_address = 8;
    setup.limits.head_timeout = FOREVER;
    let server = Server::with(setup).await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(attack(&server).await);
    }
    assert_eq!(heard(attack(&server).await).await, "");
    assert_eq!(server.anonymous().get("/user").await.status, 401);
    // One that ends makes room for another.
    idle.pop();
    let mut every = tokio::time::interval(Duration::from_millis(20));
    let again = async {
        loop {
            every.tick().await;
            let mut socket = attack(&server).await;
            socket.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.ok();
            if heard(socket).await.starts_with("HTTP/1.0 200") {
                return;
            }
        }
    };
    timeout(DEADLINE, again).await.expect("there is room again");
}

/// A balancer carries the connections of all clients.
#[tokio::test]
async fn connections_of_trusted_proxies_are_not_limited() {
    let mut setup = Setup::default();
    setup.limits.max_connections_per_address = 2;
    setup.limits.head_timeout = FOREVER;
    setup.limits.trusted_proxies = vec!["127.0.0.2/32".parse().unwrap()];
    let server = Server::with(setup).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        let mut socket = send(&server, &get("/healthz")).await;
        timeout(DEADLINE, socket.read_u8()).await.expect("an answer").unwrap();
        open.push(socket);
    }
}

/// A client requests a large response and does not read it, to keep the connection and its memory for ever.
#[tokio::test]
async fn an_unread_response_ends_its_connection() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    setup.limits.max_connections_per_address = 4;
    let server = Server::with(setup).await;
    let (ada, _) = world(&server, 10).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].as_i64().unwrap();
    let uploaded = crate::uploads::upload(&ada, project, "large.bin", &noise(8 << 20, 2)).await;
    let request = get(&format!("/ada/public{}", uploaded.body["url"].as_str().unwrap()));
    let mut unread = Vec::new();
    for _ in 0..4 {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the file begins").unwrap();
        unread.push(socket);
    }
    assert_eq!(heard(attack(&server).await).await, "", "there is no room");
    let mut every = tokio::time::interval(Duration::from_millis(50));
    let room = async {
        loop {
            every.tick().await;
            let mut socket = attack(&server).await;
            socket.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.ok();
            if heard(socket).await.starts_with("HTTP/1.0 200") {
                return;
            }
        }
    };
    timeout(DEADLINE, room).await.expect("the server has closed the unread ones");
    for socket in unread {
        assert!(heard(socket).await.len() < 8 << 20);
    }
}

/// A client that is slow, but takes what it is sent, gets all of it, however long that takes.
#[tokio::test]
async fn a_slow_reader_gets_the_whole_response() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    let server = Server::with(setup).await;
    let (ada, _) = world(&server, 10).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].as_i64().unwrap();
    let content = noise(4 << 20, 3);
    let uploaded = crate::uploads::upload(&ada, project, "large.bin", &content).await;
    let request = get(&format!("/ada/public{}", uploaded.body["url"].as_str().unwrap()));
    let mut socket = connect_with(&server, "127.0.0.2", 64 << 10).await;
    let request = request.replace("Host: x\r\n", "Host: x\r\nConnection: close\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let (mut answer, mut part) = (Vec::new(), vec![0; 64 << 10]);
    let mut every = tokio::time::interval(Duration::from_millis(60));
    loop {
        every.tick().await;
        match timeout(DEADLINE, socket.read(&mut part)).await.expect("more of it").unwrap() {
            0 => break,
            count => answer.extend_from_slice(&part[..count]),
        }
    }
    assert!(answer.ends_with(&content), "{} bytes", answer.len());
}

/// A client announces a long body to an unknown route, or with a wrong token, and does not send it, to make the server
/// wait.
#[tokio::test]
async fn refusals_do_not_wait_for_the_body() {
    let mut setup = Setup::default();
    (setup.limits.stall_timeout, setup.limits.request_timeout) = (FOREVER, FOREVER);
    let server = Server::with(setup).await;
    world(&server, 10).await;
    let wrong = "PRIVATE-TOKEN: wrong\r\n";
    for (request, headers, expected) in [
        ("POST /nothing/here/at/all", "", "404"),
        ("POST /api/v3/nothing", "", "404"),
        ("PATCH /api/v3/projects", "", "404"),
        ("PUT /api/v4/jobs/1/artifacts", "", "404"),
        ("POST /api/v4/jobs/1/artifacts", "", "403"),
        ("POST /api/v4/jobs/1/artifacts", "JOB-TOKEN: wrong\r\n", "403"),
        ("PATCH /api/v4/jobs/1/trace", "JOB-TOKEN: wrong\r\n", "403"),
        ("PUT /api/v4/jobs/1", "JOB-TOKEN: wrong\r\n", "403"),
        ("POST /ci/api/v1/builds/1/artifacts", "BUILD-TOKEN: wrong\r\n", "403"),
        ("POST /api/v3/projects", wrong, "401"),
        ("POST /api/v3/projects?private_token=wrong", "", "401"),
        ("POST /api/v3/projects/1/uploads", "", "401"),
        ("POST /bea/secret.git/git-upload-pack", FETCH, "401"),
        ("POST /ada/public.git/git-receive-pack", PUSH, "401"),
        ("POST /ada/public.git/git-receive-pack", "", "415"),
    ] {
        let answer = heard(send(&server, &(announce(request, headers, 1_000_000) + "x")).await).await;
        assert_eq!(status(&answer), expected, "{request}: {answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{request}: {answer}");
    }
}

/// Whoever sends all of a large request before it reads the response hears what it says.
#[tokio::test]
async fn a_refusal_is_heard_behind_a_large_body() {
    let server = Server::start().await;
    for (request, headers, expected) in
        [("POST /nothing", "", "404"), ("POST /api/v3/session", "", "413"), ("POST /api/v3/user", "Host: y\r\n", "400")]
    {
        let mut socket = send(&server, &announce(request, headers, 8 << 20)).await;
        socket.write_all(&vec![b'x'; 8 << 20]).await.unwrap();
        let answer = heard(socket).await;
        assert_eq!(status(&answer), expected, "{request}: {answer}");
    }
}

/// A client stops in the middle of a body, or sends a byte of it now and then, to keep the request open for ever.
#[tokio::test]
async fn a_body_that_does_not_advance_ends_the_request() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    setup.limits.request_timeout = FOREVER;
    setup.settings.git.request_timeout = FOREVER;
    let server = Server::with(setup).await;
    let (ada, _) = world(&server, 10).await;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x:{}", ada.token()));
    let push = format!("{PUSH}Authorization: Basic {basic}\r\n");
    let upload = format!("PRIVATE-TOKEN: {}\r\nContent-Type: multipart/form-data; boundary=b\r\n", ada.token());
    for (request, headers, expected) in [
        ("POST /api/v3/session", "", "408"),
        ("POST /api/v4/jobs/request", "", "408"),
        ("PUT /api/v4/jobs/1", "", "408"),
        ("POST /api/v3/projects/1/uploads", &upload, "408"),
        ("POST /ada/public.git/git-upload-pack", FETCH, "408"),
        // It has begun to answer.
        ("POST /ada/public.git/git-receive-pack", &push, "200"),
    ] {
        for is_dripping in [false, true] {
            let (mut reader, mut writer) = send(&server, &announce(request, headers, 10_000)).await.into_split();
            let drip = async {
                let mut every = tokio::time::interval(Duration::from_millis(100));
                // To git this is the beginning of a packet of 4,369 bytes.
                while is_dripping && writer.write_all(b"1").await.is_ok() {
                    every.tick().await;
                }
                std::future::pending::<()>().await;
            };
            let mut answer = Vec::new();
            tokio::select! {
                read = timeout(DEADLINE, reader.read_to_end(&mut answer)) => drop(read.expect("the request ends")),
                () = drip => {}
            }
            let answer = String::from_utf8_lossy(&answer);
            assert_eq!(status(&answer), expected, "{request}: {answer}");
        }
    }
}

/// Commands of a push that come one byte at a time, quickly enough for the connection.
#[tokio::test]
async fn git_requests_have_a_limited_time() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = FOREVER;
    setup.settings.git.request_timeout = Duration::from_secs(1);
    let server = Server::with(setup).await;
    let (ada, _) = world(&server, 10).await;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x:{}", ada.token()));
    let push = format!("{PUSH}Authorization: Basic {basic}\r\n");
    for (request, headers, expected) in [
        ("POST /ada/public.git/git-upload-pack", FETCH, "408"),
        ("POST /ada/public.git/git-receive-pack", &push, "200"),
    ] {
        let answer = heard(send(&server, &(announce(request, headers, 1000) + "00")).await).await;
        assert_eq!(status(&answer), expected, "{request}: {answer}");
    }
}

/// A body may name another token than the header, and then it is the one that counts.
#[tokio::test]
async fn a_token_in_the_body_still_counts() {
    let server = Server::start().await;
    let ((ada_id, ada), (bea_id, bea)) = (server.user("ada").await, server.user("bea").await);
    let made = ada.post("/projects", &[("name", "one"), ("private_token", bea.token())]).await;
    assert_eq!((made.status, &made.body["owner"]["id"]), (201, &bea_id.get().into()), "{}", made.text);
    let made = server.anonymous().post("/projects", &[("name", "two"), ("private_token", bea.token())]).await;
    assert_eq!((made.status, &made.body["owner"]["id"]), (201, &bea_id.get().into()), "{}", made.text);
    let made = server.admin.post("/projects", &[("name", "three"), ("sudo", "ada")]).await;
    assert_eq!((made.status, &made.body["owner"]["id"]), (201, &ada_id.get().into()), "{}", made.text);
    let refused = ada.post("/projects", &[("name", "four"), ("private_token", "wrong")]).await;
    assert_eq!(refused.status, 401);
}

/// A client hangs up in the middle of fetch requests, to fill the log with errors.
#[tokio::test]
async fn clients_that_hang_up_are_no_errors() {
    let server = Server::start().await;
    world(&server, 10).await;
    let path = "/ada/public.git/git-upload-pack";
    for _ in 0..3 {
        drop(send(&server, &(announce(&format!("POST {path}"), FETCH, 1000) + "0014")).await);
    }
    let told = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while !log::captured().contains("client disconnected in the middle of a request") {
            every.tick().await;
        }
    };
    timeout(DEADLINE, told).await.expect("it is told");
    let is_ours = |line: &&str| line.contains("ERROR") && line.contains(path);
    let log = log::captured();
    let errors: Vec<&str> = log.lines().filter(is_ours).collect();
    assert_eq!(errors, [""; 0]);
}

/// The start of a gzip stream that stores this as it is. More blocks may follow.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    for block in bytes.chunks(60_000) {
        let length = block.len() as u16;
        stream.push(0);
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream
}

/// A fetch request that is not the gzip stream that it says it is was answered 500, with an error in the log.
#[tokio::test]
async fn damaged_gzip_is_the_fault_of_the_client() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "gzip", 20).await;
    server.push_first(&ada, "ada/gzip").await;
    let path = "/ada/gzip.git/git-upload-pack";
    let haves: String = (0..2000).map(|_| format!("0032have {}\n", "1".repeat(40))).collect();
    let long = format!("0011command=fetch0001000eofs-delta\n{haves}");
    let mut truncated = stored(b"0014command=ls-refs\n0000");
    truncated.truncate(truncated.len() - 8);
    let truncated_late = stored(long.as_bytes());
    // No block has the type 3.
    let damage = |start: &[u8]| [&stored(start)[..], &[7_u8; 100]].concat();
    let (damaged, damaged_late) = (damage(b"0014command=ls-refs\n"), damage(long.as_bytes()));
    let first_version = FETCH.replace("Git-Protocol: version=2\r\n", "");
    for protocol in [FETCH, &first_version] {
        for (name, body) in [
            ("garbage", b"this is no gzip stream, but long enough to be taken for one".as_slice()),
            ("truncated", &truncated),
            ("truncated late", &truncated_late),
            ("damaged", &damaged),
            ("damaged late", &damaged_late),
        ] {
            let headers = format!("{protocol}Content-Encoding: gzip\r\nConnection: close\r\n");
            let mut socket = send(&server, &announce(&format!("POST {path}"), &headers, body.len())).await;
            socket.write_all(body).await.unwrap();
            let answer = heard(socket).await;
            assert_eq!(status(&answer), "400", "{name} {protocol}: {answer}");
            assert!(answer.contains("{\"message\":\""), "{name} {protocol}: {answer}");
        }
    }
    let log = log::captured();
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("ERROR") && line.contains(path)).collect();
    assert_eq!(errors, [""; 0]);
    let tree = WorkTree::new().await;
    tree.git(["ls-remote", &server.git_url(&ada, "ada/gzip")]).await.ok();
}

/// A client sends requests that a proxy and a server may understand differently, or whose heads are very long.
#[tokio::test]
async fn ambiguous_requests_are_refused() {
    let server = Server::start().await;
    let long = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(500_000));
    let many: String = (0..200).map(|number| format!("X{number}: a\r\n")).collect();
    let many = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    for (request, expected) in [
        ("GET /healthz HTTP/1.1\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"),
        (&long, "431"),
        (&many, "431"),
    ] {
        let (mut reader, mut writer) = attack(&server).await.into_split();
        let mut answer = Vec::new();
        let read = async {
            while !String::from_utf8_lossy(&answer).contains("\r\n\r\n") {
                assert!(reader.read_buf(&mut answer).await.unwrap() > 0, "it ended");
            }
        };
        let (_, read) = tokio::join!(writer.write_all(request.as_bytes()), timeout(DEADLINE, read));
        read.expect("an answer");
        assert_eq!(status(&String::from_utf8_lossy(&answer)), expected, "{}", &request[..40]);
    }
    let answer = heard(send(&server, "GET /healthz HTTP/1.0\r\n\r\n").await).await;
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
}

/// Paths that the router cannot decode are answered like unknown ones.
#[tokio::test]
async fn unreadable_paths_are_unknown() {
    let server = Server::start().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (method, path) in [
        ("GET", "/%ff/%fe"),
        ("GET", "/%ff/%fe/info/refs?service=git-upload-pack"),
        ("POST", "/%ff/%fe/git-upload-pack"),
        ("GET", "/a/%ff/uploads/x/y"),
        ("GET", "/api/v3/projects/%ff"),
        ("PUT", "/api/v4/jobs/x"),
        ("PATCH", "/ci/api/v1/builds/x/trace"),
    ] {
        let request = http.request(method.parse().unwrap(), format!("{}{path}", server.base));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        let body: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(body, serde_json::json!({ "error": "404 Not Found" }), "{path}");
    }
}

/// An attacker shows the page of the documentation in a frame, has it load other scripts, or finds secrets in the cache of
/// a browser.
#[tokio::test]
async fn browsers_and_caches_are_told_what_not_to_do() {
    for url in ["http://holdfast.test", "https://holdfast.test"] {
        let mut setup = Setup::default();
        setup.settings.site = holdfast_http::Site::new(&url.parse().unwrap(), 22);
        let server = Server::with(setup).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let get = async |path: &str| {
            let request = http.get(format!("{}{path}", server.base)).header("private-token", server.admin.token());
            request.send().await.unwrap().headers().clone()
        };
        for path in ["/api/docs/", "/api/docs/swagger-ui-bundle.js", "/api/v3/user", "/nothing", "/healthz"] {
            let headers = get(path).await;
            let header = |name| headers.get(name).map(|value| value.to_str().unwrap());
            assert_eq!(header("x-content-type-options"), Some("nosniff"), "{path}");
            assert_eq!(header("referrer-policy"), Some("no-referrer"), "{path}");
            let is_https = header("strict-transport-security").is_some_and(|value| value.starts_with("max-age="));
            assert_eq!(is_https, url.starts_with("https"), "{path}");
            let policy = header("content-security-policy").unwrap_or_default();
            assert_eq!(path.starts_with("/api/docs"), policy.contains("frame-ancestors 'none'"), "{path}");
            assert_eq!(path.starts_with("/api/docs"), policy.contains("script-src 'self';"), "{path}");
            let is_kept = header("cache-control") != Some("no-store");
            assert_eq!(is_kept, !path.starts_with("/api/v3"), "{path}");
        }
        let page = http.get(format!("{}/api/docs/", server.base)).send().await.unwrap().text().await.unwrap();
        assert!(!page.contains("<script>") && !page.contains("onload="), "{page}");
    }
    let server = Server::start().await;
    let refused = server.anonymous().get("/user").await;
    assert_eq!((refused.status, refused.header("cache-control")), (401, Some("no-store")));
}

/// A runner waits for work without a byte in either direction for longer than a client may stall.
#[tokio::test]
async fn long_polls_are_no_stalls() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_millis(200);
    setup.settings.ci.longest_wait = Duration::from_secs(1);
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let token = ada.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
    let runner = Runner::register(&server, serde_json::json!({ "token": token })).await;
    assert!(runner.request().await.is_none());
    assert!(runner.request().await.is_none());
}
