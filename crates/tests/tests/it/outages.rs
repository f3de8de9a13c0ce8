//! Outages: the database is read-only, the bucket is unreachable, or the disk is full. Clients get a response with
//! Retry-After, requests that do not need the failed part succeed, no change is applied partially, and the node
//! recovers by itself.

use std::path::PathBuf;
use std::time::Duration;

use holdfast_store::objects;
use holdfast_tests::ssh::{KeyPair, run_command};
use holdfast_tests::{Client, Server, Setup, TestResponse, WorkTree};
use serde_json::json;
use sqlx::{Connection, Executor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::shared_fetches::random_bytes;
use crate::ssh_connections::wait_until;

/// Larger than the test kit stores inline in the database.
const LARGE_BYTES: usize = 200 << 10;

/// Creates a project with one commit, and returns its URL and a clone.
async fn create_project(server: &Server) -> (Client, String, WorkTree) {
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", &random_bytes(LARGE_BYTES, 1), "first").await;
    tree.push(&url, &["main"]).await.ok();
    (ada, url, tree)
}

fn assert_retry_later(response: &TestResponse) {
    assert_eq!(response.status_and_body(), (503, &json!({ "message": "503 Service Unavailable" })));
    assert!(response.header("retry-after").is_some());
}

/// Makes the database writable, or read-only like a standby before its promotion.
async fn allow_writes(server: &Server, is_allowed: bool) {
    let mut connection = server.database().await;
    // The connection itself may be read-only.
    connection.execute("set default_transaction_read_only = off").await.unwrap();
    let switch = match is_allowed {
        true => {
            "do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$"
        }
        false => {
            "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$"
        }
    };
    connection.execute(switch).await.unwrap();
    let others = "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()";
    connection.execute(others).await.unwrap();
    connection.close().await.unwrap();
    // Each connection of the pool that was closed may cost a request.
    let mut every = tokio::time::interval(Duration::from_millis(20));
    let mut answered = 0;
    for _ in 0..500 {
        every.tick().await;
        answered = if server.admin.get("/user").await.status == 200 { answered + 1 } else { 0 };
        if answered > 20 {
            return;
        }
    }
    panic!("the server does not find back to its database");
}

#[tokio::test]
async fn reads_work_with_a_read_only_database() {
    let server = Server::start().await;
    let (ada, url, tree) = create_project(&server).await;
    let first = tree.head().await;
    allow_writes(&server, false).await;
    let before = server.dump_database().await;

    assert_eq!(ada.get("/projects/ada%2Fp").await.status, 200);
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!((branch.status, &branch.body["commit"]["id"]), (200, &json!(first)));
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, first);
    assert_retry_later(&ada.post("/projects", &[("name", "q")]).await);
    assert_retry_later(&ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await);
    let branch = [("branch_name", "other"), ("ref", "main")];
    assert_retry_later(&ada.post("/projects/ada%2Fp/repository/branches", &branch).await);
    let second = tree.commit("g", b"two\n", "second").await;
    tree.push(&url, &["main"]).await.expect_failure();
    assert_eq!(server.dump_database().await, before);

    allow_writes(&server, true).await;
    tree.push(&url, &["main"]).await.ok();
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!(branch.body["commit"]["id"], json!(second));
    assert_eq!(ada.post("/projects", &[("name", "q")]).await.status, 201);
}

/// PostgreSQL without free disk space rejects writes with an error code of its own.
#[tokio::test]
async fn a_full_database_disk_is_reported_as_unavailable() {
    let server = Server::start().await;
    let (ada, ..) = create_project(&server).await;
    let full = "
        create function no_room() returns trigger language plpgsql as
          $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
        create trigger no_room before insert on issues for each row execute function no_room();";
    server.database().await.execute(full).await.unwrap();
    let before = server.dump_database().await;
    assert_retry_later(&ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await);
    assert_eq!(server.dump_database().await, before);
}

/// The only route to the S3 server or the database, which can be closed.
struct TcpProxy {
    address: String,
    target: String,
    task: Option<JoinHandle<()>>,
}

/// The behavior of a proxy without a backend on a new connection.
#[derive(Clone, Copy, Debug)]
enum OutageMode {
    /// The proxy closes the connection at once, as HAProxy does.
    Closes,
    /// The proxy declines TLS and sends an error in response to the first message, as PgBouncer does.
    Refuses,
}

impl TcpProxy {
    async fn start(target: &str) -> Self {
        // The port stays free while the proxy is closed: outgoing connections of this machine use 127.0.0.1.
        let listener = TcpListener::bind("127.0.0.9:0").await.unwrap();
        let mut proxy =
            Self { address: listener.local_addr().unwrap().to_string(), target: target.to_owned(), task: None };
        proxy.serve(listener);
        proxy
    }

    fn serve(&mut self, listener: TcpListener) {
        let target = self.target.clone();
        self.task = Some(tokio::spawn(async move {
            let mut passing = tokio::task::JoinSet::new();
            while let Ok((mut from, _)) = listener.accept().await {
                let target = target.clone();
                passing.spawn(async move {
                    let mut to = TcpStream::connect(target).await.unwrap();
                    tokio::io::copy_bidirectional(&mut from, &mut to).await.ok();
                });
            }
        }));
    }

    /// Closes the listener and all connections.
    async fn close(&mut self) {
        let open = self.task.take().unwrap();
        open.abort();
        open.await.unwrap_err();
    }

    /// Binds the address again. A process that another test starts holds the old listener for a moment, between `fork`
    /// and `exec`.
    async fn listen(&self) -> TcpListener {
        wait_until("the address is free", async || TcpListener::bind(&self.address).await.is_ok()).await;
        TcpListener::bind(&self.address).await.unwrap()
    }

    async fn reopen(&mut self) {
        let listener = self.listen().await;
        self.serve(listener);
    }

    /// Ends all connections, like a proxy that lost its backend, and serves new ones without it.
    async fn lose_server(&mut self, kind: OutageMode) {
        self.close().await;
        let listener = self.listen().await;
        self.task = Some(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if matches!(kind, OutageMode::Refuses) {
                    send_pooler_error(client).await.ok();
                }
            }
        }));
    }
}

/// Sends a PostgreSQL client the error that PgBouncer sends when it cannot reach its backend.
async fn send_pooler_error(mut client: TcpStream) -> std::io::Result<()> {
    let mut tls_request = [0; 8];
    client.read_exact(&mut tls_request).await?;
    client.write_all(b"N").await?;
    let length = client.read_u32().await?;
    let mut startup = vec![0; length as usize - 4];
    client.read_exact(&mut startup).await?;
    let fields = b"SFATAL\0VFATAL\0C08P01\0Mserver login failed: no server\0\0";
    client.write_all(b"E").await?;
    client.write_u32(fields.len() as u32 + 4).await?;
    client.write_all(fields).await
}

/// A failover behind HAProxy or PgBouncer: the proxy is up and the database is not. Clients got 500, took that for a
/// permanent error and did not retry.
#[tokio::test]
async fn a_database_proxy_without_a_backend_yields_503() {
    let server = Server::start().await;
    let (ada, url, tree) = create_project(&server).await;
    let first = tree.head().await;
    let key = KeyPair::registered(&ada).await;
    let database: url::Url = std::env::var("HOLDFAST_TEST_DATABASE_URL").unwrap().parse().unwrap();
    let target = format!("{}:{}", database.host_str().unwrap(), database.port().unwrap_or(5432));
    let mut way = TcpProxy::start(&target).await;
    let (node, ssh) = server.another_node_through(&way.address).await;
    let (ada, url) = (ada.for_node(&node), url.replace(&server.address(), &node));
    let directory = tempfile::tempdir().unwrap();
    let control = format!("ControlPath={}/socket", directory.path().display());
    let mut master = ssh.command(&key, &["-M", "-N", "-o", &control]).spawn().unwrap();
    let through = ["-T", "-o", "ControlMaster=no", "-o", &control];
    wait_until("the connection is there", async || directory.path().join("socket").exists()).await;
    let greeted = run_command(&mut ssh.command(&key, &through)).await;
    assert_eq!(greeted.status, Some(0), "{greeted:?}");
    tree.commit("g", b"two\n", "second").await;
    let before = server.dump_database().await;

    for kind in [OutageMode::Closes, OutageMode::Refuses] {
        assert_eq!(ada.get("/projects/ada%2Fp").await.status, 200);
        way.lose_server(kind).await;
        // The first request gets a connection that was closed, the others get none.
        for _ in 0..3 {
            assert_retry_later(&ada.get("/projects/ada%2Fp").await);
        }
        assert_retry_later(&ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await);
        let ready = reqwest::get(format!("http://{node}/readyz")).await.unwrap();
        assert_eq!(ready.status(), 503, "{kind:?}");
        let refs = reqwest::get(format!("http://{node}/ada/p.git/info/refs?service=git-upload-pack")).await.unwrap();
        assert_eq!((refs.status().as_u16(), refs.headers().contains_key("retry-after")), (503, true), "{kind:?}");
        let fetched = tree.git(["ls-remote", &url]).await.expect_failure();
        assert!(fetched.stderr.contains("503"), "{kind:?}: {}", fetched.stderr);
        let pushed = tree.push(&url, &["main"]).await.expect_failure();
        assert!(pushed.stderr.contains("503"), "{kind:?}: {}", pushed.stderr);
        for command in ["git-upload-pack ada/p", "git-receive-pack ada/p"] {
            let output = run_command(ssh.command(&key, &through).arg(command)).await;
            let expected = "ERROR: The database is unavailable. Try again later.\n";
            assert_eq!((output.status, output.stderr.as_str()), (Some(128), expected), "{kind:?}");
        }
        // Without the database the key cannot be looked up, which must not look like a rejected key.
        let unknown = ssh.run(&key, &[]).await;
        assert!(unknown.status == Some(255) && !unknown.stderr.contains("denied"), "{kind:?}: {unknown:?}");
        // `-v` replaces the log level of the test kit, which hides the message.
        let announced = run_command(&mut ssh.command(&key, &["-T", "-v"])).await;
        assert!(
            announced.stderr.contains("ERROR: The database is unavailable. Try again later."),
            "{kind:?}: {announced:?}"
        );
        assert_eq!(server.dump_database().await, before, "{kind:?}");

        way.close().await;
        way.reopen().await;
        assert_eq!(ada.get("/projects/ada%2Fp").await.status, 200, "{kind:?}");
        let refs = tree.git(["ls-remote", &url, "refs/heads/main"]).await.ok();
        assert!(refs.stdout.starts_with(&first), "{kind:?}: {}", refs.stdout);
    }
    tree.push(&url, &["main"]).await.ok();
    master.kill().await.unwrap();
}

#[tokio::test]
async fn an_unreachable_object_store_affects_only_requests_that_need_it() {
    let endpoint = std::env::var("HOLDFAST_TEST_S3_ENDPOINT").expect("dev/test starts an S3 server");
    let mut way = TcpProxy::start(endpoint.trim_start_matches("http://")).await;
    let bucket = objects::Options::S3 {
        bucket: "holdfast".into(),
        prefix: "outages".into(),
        endpoint: Some(format!("http://{}", way.address)),
        region: "us-east-1".into(),
        credentials: Some(("test".into(), "test".into())),
    };
    let server = Server::start_with(Setup { objects: Some(bucket), ..Setup::default() }).await;
    let (ada, url, tree) = create_project(&server).await;
    let first = tree.head().await;
    way.close().await;

    // A cached repository is served, and a small push is stored in the database.
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, first);
    assert_eq!(ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await.status, 201);
    let second = tree.commit("g", b"two\n", "second").await;
    tree.push(&url, &["main"]).await.ok();

    // A large push, and a node without the cached repository, need the object store.
    tree.commit("h", &random_bytes(LARGE_BYTES, 2), "third").await;
    tree.push(&url, &["main"]).await.expect_failure();
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!(branch.body["commit"]["id"], json!(second));
    let other = server.another_node().await;
    assert_retry_later(&ada.for_node(&other).get("/projects/ada%2Fp/repository/tree").await);
    let there = url.replace(&server.address(), &other);
    let (cloned, _) = WorkTree::clone(&there, &[]).await;
    let refused = cloned.expect_failure();
    assert!(refused.stderr.contains("503"), "{}", refused.stderr);
    assert_eq!(ada.for_node(&other).get("/projects/ada%2Fp").await.status, 200);

    way.reopen().await;
    tree.push(&url, &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&there, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, tree.head().await);
    clone.git(["fsck", "--full", "--strict"]).await.ok();
}

/// Fills a disk completely until it is dropped.
struct DiskFiller(PathBuf);

impl DiskFiller {
    fn fill(disk: &str) -> Self {
        let path = PathBuf::from(disk).join("filling");
        let mut file = std::fs::File::create(&path).unwrap();
        let full = std::io::copy(&mut std::io::repeat(1), &mut file).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        Self(path)
    }
}

impl Drop for DiskFiller {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[tokio::test]
async fn a_node_with_a_full_disk_reports_it_and_others_serve() {
    let Ok(disk) = std::env::var("HOLDFAST_TEST_SMALL_DISK") else {
        println!("not tried: only root can mount a small disk (dev/test)");
        return;
    };
    let server = Server::start_with(Setup { cache_parent: Some(PathBuf::from(&disk)), ..Setup::default() }).await;
    let (ada, url, tree) = create_project(&server).await;
    let first = tree.head().await;
    let filling = DiskFiller::fill(&disk);

    tree.commit("g", &random_bytes(LARGE_BYTES, 2), "second").await;
    let refused = tree.push(&url, &["main"]).await.expect_failure();
    assert!(refused.stderr.contains("disk is full"), "{}", refused.stderr);
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!((branch.status, &branch.body["commit"]["id"]), (200, &json!(first)));
    assert_eq!(ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await.status, 201);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = server.another_node_in(elsewhere.path()).await;
    tree.push(&url.replace(&server.address(), &other), &["main"]).await.ok();

    drop(filling);
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, tree.head().await);
    tree.commit("h", &random_bytes(LARGE_BYTES, 3), "third").await;
    tree.push(&url, &["main"]).await.ok();
}
