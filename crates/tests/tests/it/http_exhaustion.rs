//! Denial of service by one client over HTTP. Each test describes an attack.
//!
//! Attackers and other clients have different addresses of this machine: 127.0.0.2 and 127.0.0.1.

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use holdfast_tests::{Client, Server, Setup, WorkTree, log};
use sqlx::Executor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::pipelines::Runner;
use crate::shared_fetches::random_bytes;

/// Longer than any test takes, and shorter than the timeouts that must not be the reason why something ends.
const DEADLINE: Duration = Duration::from_secs(50);
const LONG_TIMEOUT: Duration = Duration::from_secs(600);

/// Like [`connect`], from the address of an attacking client.
async fn attack(server: &Server) -> TcpStream {
    connect(server, "127.0.0.2").await
}

/// Opens a connection with a small receive buffer.
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

/// Returns everything that the server sends until it closes the connection, within the deadline.
async fn read_response(mut socket: TcpStream) -> String {
    let mut response = Vec::new();
    // A reset also counts as closed.
    timeout(DEADLINE, socket.read_to_end(&mut response)).await.expect("the server closes the connection").ok();
    String::from_utf8_lossy(&response).into_owned()
}

/// Returns whether the server has sent anything yet.
async fn has_response(socket: &TcpStream) -> bool {
    timeout(Duration::from_millis(100), socket.readable()).await.is_ok()
}

fn status(response: &str) -> &str {
    response.strip_prefix("HTTP/1.1 ").map_or(response, |rest| &rest[..3])
}

/// Returns the head of a request that announces a body.
fn head_with_body(request: &str, headers: &str, bytes: usize) -> String {
    format!("{request} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {bytes}\r\n\r\n")
}

fn get_request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")
}

/// Returns the request with a header that makes the server close the connection after its response.
fn with_close(request: &str) -> String {
    request.replacen("Host: x\r\n", "Host: x\r\nConnection: close\r\n", 1)
}

/// Sends a request from an address that does not attack, and returns the whole response.
async fn send_and_read(server: &Server, request: &str) -> String {
    let mut socket = connect_with(server, "127.0.0.1", 256 << 10).await;
    socket.write_all(with_close(request).as_bytes()).await.unwrap();
    read_response(socket).await
}

/// Checks that a request is rejected because its client has too many large responses, with a Retry-After header.
async fn assert_busy(server: &Server, request: &str) {
    let answer = read_response(send(server, &with_close(request)).await).await;
    assert_eq!(status(&answer), "503", "{}", answer.chars().take(500).collect::<String>());
    assert!(answer.to_lowercase().contains("retry-after: 10"), "{answer}");
    assert!(answer.contains("Too many large responses are being sent; try again later"), "{answer}");
}

/// Checks that a response with status 200 begins.
async fn assert_begins(socket: &mut TcpStream) {
    let mut start = [0; 12];
    timeout(DEADLINE, socket.read_exact(&mut start)).await.expect("a response begins").unwrap();
    assert_eq!(start, *b"HTTP/1.1 200");
}

/// Repeats a request until its response is 200, and returns that response.
async fn wait_until_served(server: &Server, request: &str) -> String {
    let mut every = tokio::time::interval(Duration::from_millis(50));
    let served = async {
        loop {
            every.tick().await;
            let mut socket = connect_with(server, "127.0.0.2", 256 << 10).await;
            socket.write_all(with_close(request).as_bytes()).await.unwrap();
            let answer = read_response(socket).await;
            if status(&answer) == "200" {
                return answer;
            }
        }
    };
    timeout(DEADLINE, served).await.expect("it is served")
}

const FETCH: &str = "Content-Type: application/x-git-upload-pack-request\r\nGit-Protocol: version=2\r\n";
const PUSH: &str = "Content-Type: application/x-git-receive-pack-request\r\n";

/// Creates a public project of ada's with one file of `bytes` bytes, and a private one of bea's.
async fn set_up(server: &Server, bytes: usize) -> (Client, Client) {
    let ((_, ada), (_, bea)) = (server.user("ada").await, server.user("bea").await);
    server.project(&ada, "public", 20).await;
    server.project(&bea, "secret", 0).await;
    let tree = WorkTree::new().await;
    tree.commit("noise", &random_bytes(bytes, 1), "large").await;
    tree.push(&server.git_url(&ada, "ada/public"), &["main"]).await.ok();
    server.push_first(&bea, "bea/secret").await;
    (ada, bea)
}

/// A client sends the heads of many fetch requests without their bodies, to take all permits for reading such requests.
#[tokio::test]
async fn unsent_fetch_requests_do_not_block_others() {
    let mut setup = Setup::default();
    (setup.settings.git.request_timeout, setup.limits.stall_timeout) = (LONG_TIMEOUT, LONG_TIMEOUT);
    let server = Server::start_with(setup).await;
    let (_, bea) = set_up(&server, 10).await;
    let request = head_with_body("POST /ada/public.git/git-upload-pack", FETCH, 1000) + "0014";
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

/// Long requests are kept in memory while they are read, so they need permits, of which one client gets a quarter.
#[tokio::test]
async fn long_fetch_requests_of_one_client_leave_permits_to_others() {
    let mut setup = Setup::default();
    (setup.settings.git.request_timeout, setup.limits.stall_timeout) = (LONG_TIMEOUT, LONG_TIMEOUT);
    let server = Server::start_with(setup).await;
    set_up(&server, 10).await;
    let id = "1".repeat(40);
    let haves: String = (0..2000).map(|_| format!("0032have {id}\n")).collect();
    let head = format!("0011command=fetch0001000eofs-delta\n{haves}");
    let silent = head_with_body("POST /ada/public.git/git-upload-pack", FETCH, 10 << 20) + &head;
    let mut silent_ones = Vec::new();
    for _ in 0..64 {
        silent_ones.push(send(&server, &silent).await);
    }
    let complete = format!("{head}0000");
    let complete = head_with_body("POST /ada/public.git/git-upload-pack", FETCH, complete.len()) + &complete;
    let complete = complete.replace("Host: x\r\n", "Host: x\r\nConnection: close\r\n");
    // Eventually the client's own share is used up.
    let waiting = async {
        loop {
            let own = send(&server, &complete).await;
            if !has_response(&own).await {
                return own;
            }
        }
    };
    let own = timeout(DEADLINE, waiting).await.expect("one waits");
    let mut other = connect(&server, "127.0.0.1").await;
    other.write_all(complete.as_bytes()).await.unwrap();
    assert_eq!(status(&read_response(other).await), "200");
    assert!(!has_response(&own).await);
}

/// A client requests archives and does not read them, to take all fetch permits of a node.
#[tokio::test]
async fn unread_archives_leave_fetch_permits_to_others() {
    let mut setup = Setup::default();
    (setup.settings.git.max_fetches, setup.settings.git.max_fetches_per_repository) = (4, 4);
    let server = Server::start_with(setup).await;
    let (ada, bea) = set_up(&server, 8 << 20).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].clone();
    let request = get_request(&format!("/api/v3/projects/{project}/repository/archive.tar"));
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
        assert!(!has_response(socket).await, "one client gets a quarter of the fetches");
    }
    drop(unread);
    let answered = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while !has_response(&waiting[0]).await && !has_response(&waiting[1]).await {
            every.tick().await;
        }
    };
    timeout(DEADLINE, answered).await.expect("the next one begins");
}

/// A client requests a long list of refs many times and does not read it, so that the server keeps all responses in
/// memory.
#[tokio::test]
async fn unread_ref_lists_are_limited_for_each_client() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = LONG_TIMEOUT;
    let server = Server::start_with(setup).await;
    let (ada, bea) = set_up(&server, 10).await;
    let tree = WorkTree::new().await;
    let head = tree.commit("f", b"x", "x").await;
    let long = "x".repeat(180);
    let refs = (0..3000).map(|number| format!("create refs/heads/many/{number:05}-{long} {head}\n"));
    std::fs::write(tree.path().join("refs"), refs.collect::<String>()).unwrap();
    let update = format!("git update-ref --stdin < {}", tree.path().join("refs").display());
    tree.git(["-c", &format!("alias.update=!{update}"), "update"]).await.ok();
    let url = server.git_url(&ada, "ada/public");
    tree.push(&url, &["refs/heads/many/*:refs/heads/many/*"]).await.ok();
    // All refs arrive, with every protocol version.
    for version in ["0", "1", "2"] {
        let protocol = format!("protocol.version={version}");
        let listed = tree.git(["-c", &protocol, "ls-remote", &url, "refs/heads/many/*"]).await.ok();
        assert_eq!(listed.stdout.lines().count(), 3000, "version {version}");
    }
    let request = get_request("/ada/public.git/info/refs?service=git-upload-pack");
    let mut unread = Vec::new();
    for _ in 0..16 {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the list begins").unwrap();
        unread.push(socket);
    }
    let waiting = send(&server, &request).await;
    let listed = timeout(DEADLINE, tree.git(["ls-remote", &server.git_url(&bea, "ada/public")])).await;
    assert_eq!(listed.expect("others are served").ok().stdout.lines().count(), 3002);
    assert!(!has_response(&waiting).await, "its client has its share");
    unread.clear();
    timeout(DEADLINE, waiting.readable()).await.expect("the list begins").unwrap();
}

/// Files of up to 4 MiB stayed in memory for as long as the client did not read them.
#[tokio::test]
async fn unread_files_are_limited_for_each_client() {
    const SIZE: usize = 4 << 20;
    let mut setup = Setup::default();
    setup.limits.stall_timeout = LONG_TIMEOUT;
    let server = Server::start_with(setup).await;
    let (ada, _) = set_up(&server, SIZE).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].clone();
    let before = server.dump_database().await;
    let request = get_request(&format!("/api/v3/projects/{project}/repository/blobs/main?filepath=noise"));
    let mut unread = Vec::new();
    for _ in 0..8 {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the file begins").unwrap();
        unread.push(socket);
    }
    assert_busy(&server, &request).await;
    // Small requests of this client, and requests of others, are served.
    let small = get_request(&format!("/api/v3/projects/{project}/repository/tree"));
    assert_eq!(status(&read_response(send(&server, &with_close(&small)).await).await), "200");
    let mut other = connect_with(&server, "127.0.0.1", 256 << 10).await;
    other.write_all(with_close(&request).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(DEADLINE, other.read_to_end(&mut answer)).await.expect("others are served").unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(&random_bytes(SIZE, 1)), "{} bytes", answer.len());
    // A waiting request is served when another one of the same client ends.
    let mut waiting = send(&server, &request).await;
    assert!(!has_response(&waiting).await);
    unread.pop();
    assert_begins(&mut waiting).await;
    drop((unread, waiting));
    wait_until_served(&server, &request).await;
    assert_eq!(server.dump_database().await, before);
}

/// The HTML page of a file of half a megabyte stayed in memory for as long as the client did not read it.
#[tokio::test]
async fn unread_html_pages_are_limited_for_each_client() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = LONG_TIMEOUT;
    let server = Server::start_with(setup).await;
    let (ada, _) = set_up(&server, 10).await;
    let tree = WorkTree::new().await;
    let lines: String = (0..9000).map(|number| format!("{number:050}\n")).collect();
    tree.commit("lines.txt", lines.as_bytes(), "lines").await;
    tree.push(&server.git_url(&ada, "ada/public"), &["main:lines"]).await.ok();
    let request = get_request("/ada/public/blob/lines/lines.txt");
    let page = wait_until_served(&server, &request).await;
    // A client gets 32 MiB, and every page uses at most its length and 64 KiB.
    let permitted = (32 << 20) / (page.len() + (64 << 10));
    let mut unread = Vec::new();
    for _ in 0..permitted {
        let mut socket = send(&server, &request).await;
        assert_begins(&mut socket).await;
        unread.push(socket);
    }
    let refused = async {
        loop {
            let mut socket = send(&server, &request).await;
            let mut start = [0; 12];
            socket.read_exact(&mut start).await.unwrap();
            match &start {
                b"HTTP/1.1 200" => unread.push(socket),
                other => return String::from_utf8_lossy(other).into_owned(),
            }
            assert!(unread.len() <= permitted + 2, "{} pages are in memory", unread.len());
        }
    };
    assert_eq!(timeout(DEADLINE, refused).await.expect("the limit is reached"), "HTTP/1.1 503");
    // Small pages of this client, and pages of others, are served.
    let small = with_close(&get_request("/ada/public/branches"));
    assert_eq!(status(&read_response(send(&server, &small).await).await), "200");
    let mut other = connect_with(&server, "127.0.0.1", 256 << 10).await;
    other.write_all(with_close(&request).as_bytes()).await.unwrap();
    assert_begins(&mut other).await;
    drop(unread);
    wait_until_served(&server, &request).await;
}

/// A page of long texts stayed in memory for as long as the client did not read it.
#[tokio::test]
async fn unread_pages_are_limited_for_each_client() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = LONG_TIMEOUT;
    let server = Server::start_with(setup).await;
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
        get_request(&path).replacen("Host: x\r\n", &format!("Host: x\r\nPRIVATE-TOKEN: {}\r\n", client.token()), 1)
    };
    let request = page(&ada, 100);
    let theirs = send_and_read(&server, &page(&bea, 100)).await;
    assert!(status(&theirs) == "200" && theirs.len() > 6 << 20, "{} bytes", theirs.len());
    // The number that fits into the memory limit of a client, which is counted in units of 64 KiB.
    let bytes = bea.get(&format!("/projects/{project}/issues?per_page=100")).await.text.len();
    let most = (32 << 20) / bytes.next_multiple_of(64 << 10);
    let mut unread = Vec::new();
    for _ in 0..most {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the page begins").unwrap();
        unread.push(socket);
    }
    assert_busy(&server, &request).await;
    assert_eq!(status(&read_response(send(&server, &with_close(&page(&ada, 1))).await).await), "200");
    let again = send_and_read(&server, &page(&bea, 100)).await;
    assert_eq!((status(&again), again.len()), ("200", theirs.len()), "others are served");
    let mut waiting = send(&server, &request).await;
    assert!(!has_response(&waiting).await);
    unread.pop();
    assert_begins(&mut waiting).await;
    drop((unread, waiting));
    assert!(wait_until_served(&server, &request).await.len() > 6 << 20);
}

/// A client without a token could keep a body of one megabyte in memory for each connection.
#[tokio::test]
async fn long_bodies_of_one_client_leave_permits_to_others() {
    let mut setup = Setup::default();
    (setup.limits.request_timeout, setup.limits.stall_timeout) = (LONG_TIMEOUT, LONG_TIMEOUT);
    let server = Server::start_with(setup).await;
    let before = server.dump_database().await;
    let start = format!("x={}", "a".repeat(150 << 10));
    let silent = head_with_body("POST /api/v3/session", "", 1_000_000) + &start;
    let mut silent_ones = Vec::new();
    for _ in 0..64 {
        silent_ones.push(send(&server, &silent).await);
    }
    let complete = with_close(&(head_with_body("POST /api/v3/session", "", start.len()) + &start));
    // Eventually the client's own share is used up.
    let waiting = async {
        loop {
            let own = send(&server, &complete).await;
            if !has_response(&own).await {
                return own;
            }
        }
    };
    let own = timeout(DEADLINE, waiting).await.expect("one waits");
    let answer = send_and_read(&server, &(head_with_body("POST /api/v3/session", "", start.len()) + &start)).await;
    assert_eq!(status(&answer), "400", "{answer}");
    assert!(answer.contains("password is missing"), "{answer}");
    // Short bodies of the same client are still read.
    let short = with_close(&(head_with_body("POST /api/v3/session", "", 3) + "x=a"));
    assert_eq!(status(&read_response(send(&server, &short).await).await), "400");
    assert!(!has_response(&own).await);
    drop(silent_ones);
    assert_eq!(status(&read_response(own).await), "400");
    assert_eq!(server.dump_database().await, before);
}

/// A client opens connections until the node has no file descriptors left.
#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let mut setup = Setup::default();
    setup.limits.max_connections_per_address = 8;
    setup.limits.head_timeout = LONG_TIMEOUT;
    let server = Server::start_with(setup).await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(attack(&server).await);
    }
    assert_eq!(read_response(attack(&server).await).await, "");
    assert_eq!(server.anonymous().get("/user").await.status, 401);
    // A closed connection frees a slot.
    idle.pop();
    let mut every = tokio::time::interval(Duration::from_millis(20));
    let again = async {
        loop {
            every.tick().await;
            let mut socket = attack(&server).await;
            socket.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.ok();
            if read_response(socket).await.starts_with("HTTP/1.0 200") {
                return;
            }
        }
    };
    timeout(DEADLINE, again).await.expect("there is room again");
}

/// A load balancer carries the connections of all clients.
#[tokio::test]
async fn connections_of_trusted_proxies_are_not_limited() {
    let mut setup = Setup::default();
    setup.limits.max_connections_per_address = 2;
    setup.limits.head_timeout = LONG_TIMEOUT;
    setup.limits.trusted_proxies = vec!["127.0.0.2/32".parse().unwrap()];
    let server = Server::start_with(setup).await;
    let mut open = Vec::new();
    for _ in 0..10 {
        let mut socket = send(&server, &get_request("/healthz")).await;
        timeout(DEADLINE, socket.read_u8()).await.expect("an answer").unwrap();
        open.push(socket);
    }
}

/// A client requests a large response and does not read it, to hold the connection and its memory forever.
#[tokio::test]
async fn unread_responses_close_their_connection() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    setup.limits.max_connections_per_address = 4;
    let server = Server::start_with(setup).await;
    let (ada, _) = set_up(&server, 10).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].as_i64().unwrap();
    let uploaded = crate::uploads::upload(&ada, project, "large.bin", &random_bytes(8 << 20, 2)).await;
    let request = get_request(&format!("/ada/public{}", uploaded.body["url"].as_str().unwrap()));
    let mut unread = Vec::new();
    for _ in 0..4 {
        let socket = send(&server, &request).await;
        timeout(DEADLINE, socket.readable()).await.expect("the file begins").unwrap();
        unread.push(socket);
    }
    assert_eq!(read_response(attack(&server).await).await, "", "there is no room");
    let mut every = tokio::time::interval(Duration::from_millis(50));
    let room = async {
        loop {
            every.tick().await;
            let mut socket = attack(&server).await;
            socket.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await.ok();
            if read_response(socket).await.starts_with("HTTP/1.0 200") {
                return;
            }
        }
    };
    timeout(DEADLINE, room).await.expect("the server has closed the unread ones");
    for socket in unread {
        assert!(read_response(socket).await.len() < 8 << 20);
    }
}

/// A slow client that keeps reading gets the whole response, however long it takes.
#[tokio::test]
async fn a_slow_reader_gets_the_whole_response() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    let server = Server::start_with(setup).await;
    let (ada, _) = set_up(&server, 10).await;
    let project = ada.get("/projects/ada%2Fpublic").await.body["id"].as_i64().unwrap();
    let content = random_bytes(4 << 20, 3);
    let uploaded = crate::uploads::upload(&ada, project, "large.bin", &content).await;
    let request = get_request(&format!("/ada/public{}", uploaded.body["url"].as_str().unwrap()));
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
async fn error_responses_do_not_wait_for_the_body() {
    let mut setup = Setup::default();
    (setup.limits.stall_timeout, setup.limits.request_timeout) = (LONG_TIMEOUT, LONG_TIMEOUT);
    let server = Server::start_with(setup).await;
    set_up(&server, 10).await;
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
        let answer = read_response(send(&server, &(head_with_body(request, headers, 1_000_000) + "x")).await).await;
        assert_eq!(status(&answer), expected, "{request}: {answer}");
        assert!(answer.to_lowercase().contains("connection: close"), "{request}: {answer}");
    }
}

/// A client that sends all of a large request before it reads the response still receives the response.
#[tokio::test]
async fn error_responses_are_received_after_a_large_body() {
    let server = Server::start().await;
    for (request, headers, expected) in [
        ("POST /api/nothing", "", "404"),
        ("POST /nothing", "", "405"),
        ("POST /api/v3/session", "", "413"),
        ("POST /api/v3/user", "Host: y\r\n", "400"),
    ] {
        let mut socket = send(&server, &head_with_body(request, headers, 8 << 20)).await;
        socket.write_all(&vec![b'x'; 8 << 20]).await.unwrap();
        let answer = read_response(socket).await;
        assert_eq!(status(&answer), expected, "{request}: {answer}");
    }
}

/// A client stops in the middle of a body, or sends single bytes slowly, to keep the request open forever.
#[tokio::test]
async fn stalled_request_bodies_time_out() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    setup.limits.request_timeout = LONG_TIMEOUT;
    setup.settings.git.request_timeout = LONG_TIMEOUT;
    let server = Server::start_with(setup).await;
    let (ada, _) = set_up(&server, 10).await;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x:{}", ada.token()));
    let push = format!("{PUSH}Authorization: Basic {basic}\r\n");
    let upload = format!("PRIVATE-TOKEN: {}\r\nContent-Type: multipart/form-data; boundary=b\r\n", ada.token());
    for (request, headers, expected) in [
        ("POST /api/v3/session", "", "408"),
        ("POST /api/v4/jobs/request", "", "408"),
        ("PUT /api/v4/jobs/1", "", "408"),
        ("POST /api/v3/projects/1/uploads", &upload, "408"),
        ("POST /ada/public.git/git-upload-pack", FETCH, "408"),
        // The response has already started.
        ("POST /ada/public.git/git-receive-pack", &push, "200"),
    ] {
        for is_dripping in [false, true] {
            let (mut reader, mut writer) = send(&server, &head_with_body(request, headers, 10_000)).await.into_split();
            let drip = async {
                let mut every = tokio::time::interval(Duration::from_millis(100));
                // git reads this as the start of a packet of 4,369 bytes.
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

/// The commands of a push arrive one byte at a time, fast enough for the timeout of the connection.
#[tokio::test]
async fn git_requests_time_out() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = LONG_TIMEOUT;
    setup.settings.git.request_timeout = Duration::from_secs(1);
    let server = Server::start_with(setup).await;
    let (ada, _) = set_up(&server, 10).await;
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("x:{}", ada.token()));
    let push = format!("{PUSH}Authorization: Basic {basic}\r\n");
    for (request, headers, expected) in [
        ("POST /ada/public.git/git-upload-pack", FETCH, "408"),
        ("POST /ada/public.git/git-receive-pack", &push, "200"),
    ] {
        let answer = read_response(send(&server, &(head_with_body(request, headers, 1000) + "00")).await).await;
        assert_eq!(status(&answer), expected, "{request}: {answer}");
    }
}

/// A body may contain another token than the header, which it then overrides.
#[tokio::test]
async fn a_token_in_the_body_overrides_the_header() {
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

/// A client disconnects in the middle of fetch requests, to fill the log with errors.
#[tokio::test]
async fn client_disconnects_are_not_logged_as_errors() {
    let server = Server::start().await;
    set_up(&server, 10).await;
    let path = "/ada/public.git/git-upload-pack";
    for _ in 0..3 {
        drop(send(&server, &(head_with_body(&format!("POST {path}"), FETCH, 1000) + "0014")).await);
    }
    let wait_for_log = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while !log::captured().contains("client disconnected during request") {
            every.tick().await;
        }
    };
    timeout(DEADLINE, wait_for_log).await.expect("the message is logged");
    let is_ours = |line: &&str| line.contains("ERROR") && line.contains(path);
    let log = log::captured();
    let errors: Vec<&str> = log.lines().filter(is_ours).collect();
    assert_eq!(errors, [""; 0]);
}

/// Returns the start of a gzip stream that stores these bytes uncompressed. More blocks may follow.
fn stored_zlib(bytes: &[u8]) -> Vec<u8> {
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

/// A fetch request with an invalid gzip stream got 500, and an error was logged.
#[tokio::test]
async fn damaged_gzip_is_a_client_error() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "gzip", 20).await;
    server.push_first(&ada, "ada/gzip").await;
    let path = "/ada/gzip.git/git-upload-pack";
    let haves: String = (0..2000).map(|_| format!("0032have {}\n", "1".repeat(40))).collect();
    let long = format!("0011command=fetch0001000eofs-delta\n{haves}");
    let mut truncated = stored_zlib(b"0014command=ls-refs\n0000");
    truncated.truncate(truncated.len() - 8);
    let truncated_late = stored_zlib(long.as_bytes());
    // DEFLATE has no block type 3.
    let damage = |start: &[u8]| [&stored_zlib(start)[..], &[7_u8; 100]].concat();
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
            let mut socket = send(&server, &head_with_body(&format!("POST {path}"), &headers, body.len())).await;
            socket.write_all(body).await.unwrap();
            let answer = read_response(socket).await;
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

/// Request smuggling: requests that a proxy and the server may parse differently, or with very long heads.
#[tokio::test]
async fn ambiguous_requests_are_rejected() {
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
    let answer = read_response(send(&server, "GET /healthz HTTP/1.0\r\n\r\n").await).await;
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
}

/// Paths that the router cannot decode get the response of unknown paths.
#[tokio::test]
async fn undecodable_paths_are_not_found() {
    let server = Server::start().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (method, path) in [
        ("GET", "/%ff/%fe/info/refs?service=git-upload-pack"),
        ("POST", "/%ff/%fe/git-upload-pack"),
        ("GET", "/a/%ff/uploads/x/y"),
        ("GET", "/api/v3/projects/%ff"),
        ("PUT", "/api/v4/jobs/x"),
        ("PATCH", "/ci/api/v1/builds/x/trace"),
    ] {
        let request = http.request(method.parse().unwrap(), format!("{}{path}", server.base_url));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        let body: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(body, serde_json::json!({ "error": "404 Not Found" }), "{path}");
    }
    for path in ["/%ff/%fe", "/groups/%ff", "/%ff"] {
        assert_eq!(server.browser().get(path).await.status, 404, "{path}");
    }
}

/// An attacker shows the documentation page in a frame, makes it load other scripts, or finds secrets in the cache of a
/// browser.
#[tokio::test]
async fn security_and_cache_headers_are_set() {
    for url in ["http://holdfast.test", "https://holdfast.test"] {
        let mut setup = Setup::default();
        setup.settings.site = holdfast_http::InstanceUrls::new(&url.parse().unwrap(), 22);
        let server = Server::start_with(setup).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let get = async |path: &str| {
            let request = http.get(format!("{}{path}", server.base_url)).header("private-token", server.admin.token());
            request.send().await.unwrap().headers().clone()
        };
        for path in ["/api/docs/", "/api/docs/swagger-ui-bundle.js", "/api/v3/user", "/api/nothing/at/all", "/healthz"]
        {
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
        let page = http.get(format!("{}/api/docs/", server.base_url)).send().await.unwrap().text().await.unwrap();
        assert!(!page.contains("<script>") && !page.contains("onload="), "{page}");
    }
    let server = Server::start().await;
    let refused = server.anonymous().get("/user").await;
    assert_eq!((refused.status, refused.header("cache-control")), (401, Some("no-store")));
}

/// A runner waits for a build without traffic for longer than a client may stall.
#[tokio::test]
async fn long_polls_do_not_time_out_as_stalled() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_millis(200);
    setup.settings.ci.long_poll_timeout = Duration::from_secs(1);
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let token = ada.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
    let runner = Runner::register(&server, serde_json::json!({ "token": token })).await;
    assert!(runner.request().await.is_none());
    assert!(runner.request().await.is_none());
}
