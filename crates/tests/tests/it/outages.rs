//! The database takes no writes, the bucket cannot be reached, the disk is full: whoever asks is told to come back, what
//! needs none of it goes on, nothing changes half, and it is well again by itself.

use std::path::PathBuf;
use std::time::Duration;

use holdfast_store::objects;
use holdfast_tests::ssh::{Key, heard};
use holdfast_tests::{Answer, Client, Server, Setup, WorkTree};
use serde_json::json;
use sqlx::{Connection, Executor};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::equal_fetches::noise;
use crate::ssh_door::poll;

/// More than the kit keeps in the database.
const LARGE: usize = 200 << 10;

/// A project with one commit, and a client's copy of it.
async fn project(server: &Server) -> (Client, String, WorkTree) {
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", &noise(LARGE, 1), "first").await;
    tree.push(&url, &["main"]).await.ok();
    (ada, url, tree)
}

fn assert_told_to_come_back(answer: &Answer) {
    assert_eq!(answer.both(), (503, &json!({ "message": "503 Service Unavailable" })));
    assert!(answer.header("retry-after").is_some());
}

/// As a standby is that was not promoted yet.
async fn allow_writes(server: &Server, allowed: bool) {
    let mut connection = server.database().await;
    // This connection may itself be one that cannot write.
    connection.execute("set default_transaction_read_only = off").await.unwrap();
    let switch = match allowed {
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
    // Each connection of the pool that was cut may cost a request.
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
async fn a_database_that_takes_no_writes_is_read_from() {
    let server = Server::start().await;
    let (ada, url, tree) = project(&server).await;
    let first = tree.head().await;
    allow_writes(&server, false).await;
    let before = server.contents().await;

    assert_eq!(ada.get("/projects/ada%2Fp").await.status, 200);
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!((branch.status, &branch.body["commit"]["id"]), (200, &json!(first)));
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, first);
    assert_told_to_come_back(&ada.post("/projects", &[("name", "q")]).await);
    assert_told_to_come_back(&ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await);
    let branch = [("branch_name", "other"), ("ref", "main")];
    assert_told_to_come_back(&ada.post("/projects/ada%2Fp/repository/branches", &branch).await);
    let second = tree.commit("g", b"two\n", "second").await;
    tree.push(&url, &["main"]).await.refused();
    assert_eq!(server.contents().await, before);

    allow_writes(&server, true).await;
    tree.push(&url, &["main"]).await.ok();
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!(branch.body["commit"]["id"], json!(second));
    assert_eq!(ada.post("/projects", &[("name", "q")]).await.status, 201);
}

/// PostgreSQL without room on its disk takes no writes either, and says so in its own way.
#[tokio::test]
async fn a_database_without_room_is_told_as_one_that_is_away() {
    let server = Server::start().await;
    let (ada, ..) = project(&server).await;
    let full = "
        create function no_room() returns trigger language plpgsql as
          $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
        create trigger no_room before insert on issues for each row execute function no_room();";
    server.database().await.execute(full).await.unwrap();
    let before = server.contents().await;
    assert_told_to_come_back(&ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await);
    assert_eq!(server.contents().await, before);
}

/// The only way to the S3 server or to the database; it can be shut.
struct Way {
    address: String,
    target: String,
    open: Option<JoinHandle<()>>,
}

/// What a proxy without a server does with a new connection.
#[derive(Clone, Copy, Debug)]
enum WithoutServer {
    /// It closes the connection at once, as HAProxy does.
    Closes,
    /// It declines TLS and answers the first message with an error, as PgBouncer does.
    Refuses,
}

impl Way {
    async fn to(target: &str) -> Self {
        // Its port stays free while it is shut: connections that leave this machine do so from 127.0.0.1.
        let free = TcpListener::bind("127.0.0.9:0").await.unwrap();
        let mut way = Self { address: free.local_addr().unwrap().to_string(), target: target.to_owned(), open: None };
        way.serve(free);
        way
    }

    fn serve(&mut self, listener: TcpListener) {
        let target = self.target.clone();
        self.open = Some(tokio::spawn(async move {
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

    /// With all that is under way.
    async fn shut(&mut self) {
        let open = self.open.take().unwrap();
        open.abort();
        open.await.unwrap_err();
    }

    /// A process that another test starts has the old listener for a moment, between `fork` and `exec`.
    async fn listen(&self) -> TcpListener {
        poll("the address is free", async || TcpListener::bind(&self.address).await.is_ok()).await;
        TcpListener::bind(&self.address).await.unwrap()
    }

    async fn reopen(&mut self) {
        let listener = self.listen().await;
        self.serve(listener);
    }

    /// Ends all connections, as a proxy does whose server was lost, and serves new ones without it.
    async fn lose_server(&mut self, kind: WithoutServer) {
        self.shut().await;
        let listener = self.listen().await;
        self.open = Some(tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if matches!(kind, WithoutServer::Refuses) {
                    refuse(client).await.ok();
                }
            }
        }));
    }
}

/// Answers a PostgreSQL client with the error that PgBouncer gives when it cannot reach its server.
async fn refuse(mut client: TcpStream) -> std::io::Result<()> {
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

/// Fails over behind HAProxy or PgBouncer: the proxy is there and the database is not. Clients were answered 500, took
/// that for a fault of their own and did not try again.
#[tokio::test]
async fn a_proxy_without_a_database_is_answered_with_503() {
    let server = Server::start().await;
    let (ada, url, tree) = project(&server).await;
    let first = tree.head().await;
    let key = Key::of(&ada).await;
    let database: url::Url = std::env::var("HOLDFAST_TEST_DATABASE_URL").unwrap().parse().unwrap();
    let target = format!("{}:{}", database.host_str().unwrap(), database.port().unwrap_or(5432));
    let mut way = Way::to(&target).await;
    let (node, ssh) = server.another_node_through(&way.address).await;
    let (ada, url) = (ada.at(&node), url.replace(&server.address(), &node));
    let directory = tempfile::tempdir().unwrap();
    let control = format!("ControlPath={}/socket", directory.path().display());
    let mut master = ssh.command(&key, &["-M", "-N", "-o", &control]).spawn().unwrap();
    let through = ["-T", "-o", "ControlMaster=no", "-o", &control];
    poll("the connection is there", async || directory.path().join("socket").exists()).await;
    let greeted = heard(&mut ssh.command(&key, &through)).await;
    assert_eq!(greeted.status, Some(0), "{greeted:?}");
    tree.commit("g", b"two\n", "second").await;
    let before = server.contents().await;

    for kind in [WithoutServer::Closes, WithoutServer::Refuses] {
        assert_eq!(ada.get("/projects/ada%2Fp").await.status, 200);
        way.lose_server(kind).await;
        // The first of these finds a connection that was cut, the others none.
        for _ in 0..3 {
            assert_told_to_come_back(&ada.get("/projects/ada%2Fp").await);
        }
        assert_told_to_come_back(&ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await);
        let ready = reqwest::get(format!("http://{node}/readyz")).await.unwrap();
        assert_eq!(ready.status(), 503, "{kind:?}");
        let refs = reqwest::get(format!("http://{node}/ada/p.git/info/refs?service=git-upload-pack")).await.unwrap();
        assert_eq!((refs.status().as_u16(), refs.headers().contains_key("retry-after")), (503, true), "{kind:?}");
        let fetched = tree.git(["ls-remote", &url]).await.refused();
        assert!(fetched.stderr.contains("503"), "{kind:?}: {}", fetched.stderr);
        let pushed = tree.push(&url, &["main"]).await.refused();
        assert!(pushed.stderr.contains("503"), "{kind:?}: {}", pushed.stderr);
        for command in ["git-upload-pack ada/p", "git-receive-pack ada/p"] {
            let told = heard(ssh.command(&key, &through).arg(command)).await;
            let expected = "ERROR: The database cannot be reached, please try again.\n";
            assert_eq!((told.status, told.stderr.as_str()), (Some(128), expected), "{kind:?}");
        }
        // Whose key it is cannot be told: that is no refusal of the key.
        let unknown = ssh.run(&key, &[]).await;
        assert!(unknown.status == Some(255) && !unknown.stderr.contains("denied"), "{kind:?}: {unknown:?}");
        assert_eq!(server.contents().await, before, "{kind:?}");

        way.shut().await;
        way.reopen().await;
        assert_eq!(ada.get("/projects/ada%2Fp").await.status, 200, "{kind:?}");
        let refs = tree.git(["ls-remote", &url, "refs/heads/main"]).await.ok();
        assert!(refs.stdout.starts_with(&first), "{kind:?}: {}", refs.stdout);
    }
    tree.push(&url, &["main"]).await.ok();
    master.kill().await.unwrap();
}

#[tokio::test]
async fn without_the_bucket_everything_else_goes_on() {
    let endpoint = std::env::var("HOLDFAST_TEST_S3_ENDPOINT").expect("dev/test starts an S3 server");
    let mut way = Way::to(endpoint.trim_start_matches("http://")).await;
    let bucket = objects::Options::S3 {
        bucket: "holdfast".into(),
        prefix: "outages".into(),
        endpoint: Some(format!("http://{}", way.address)),
        region: "us-east-1".into(),
        credentials: Some(("test".into(), "test".into())),
    };
    let server = Server::with(Setup { objects: Some(bucket), ..Setup::default() }).await;
    let (ada, url, tree) = project(&server).await;
    let first = tree.head().await;
    way.shut().await;

    // What this node has a copy of is there, and a small push is kept in the database.
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, first);
    assert_eq!(ada.post("/projects/ada%2Fp/issues", &[("title", "t")]).await.status, 201);
    let second = tree.commit("g", b"two\n", "second").await;
    tree.push(&url, &["main"]).await.ok();

    // A large one, and a node that has no copy, need it.
    tree.commit("h", &noise(LARGE, 2), "third").await;
    tree.push(&url, &["main"]).await.refused();
    let branch = ada.get("/projects/ada%2Fp/repository/branches/main").await;
    assert_eq!(branch.body["commit"]["id"], json!(second));
    let other = server.another_node().await;
    assert_told_to_come_back(&ada.at(&other).get("/projects/ada%2Fp/repository/tree").await);
    let there = url.replace(&server.address(), &other);
    let (cloned, _) = WorkTree::clone(&there, &[]).await;
    let refused = cloned.refused();
    assert!(refused.stderr.contains("503"), "{}", refused.stderr);
    assert_eq!(ada.at(&other).get("/projects/ada%2Fp").await.status, 200);

    way.reopen().await;
    tree.push(&url, &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&there, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, tree.head().await);
    clone.git(["fsck", "--full", "--strict"]).await.ok();
}

/// Fills a disk to its last byte for as long as it lives.
struct Filling(PathBuf);

impl Filling {
    fn of(disk: &str) -> Self {
        let path = PathBuf::from(disk).join("filling");
        let mut file = std::fs::File::create(&path).unwrap();
        let full = std::io::copy(&mut std::io::repeat(1), &mut file).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        Self(path)
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

#[tokio::test]
async fn a_node_whose_disk_is_full_says_so_and_others_serve() {
    let Ok(disk) = std::env::var("HOLDFAST_TEST_SMALL_DISK") else {
        println!("not tried: only root can mount a small disk (dev/test)");
        return;
    };
    let server = Server::with(Setup { cache_in: Some(PathBuf::from(&disk)), ..Setup::default() }).await;
    let (ada, url, tree) = project(&server).await;
    let first = tree.head().await;
    let filling = Filling::of(&disk);

    tree.commit("g", &noise(LARGE, 2), "second").await;
    let refused = tree.push(&url, &["main"]).await.refused();
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
    tree.commit("h", &noise(LARGE, 3), "third").await;
    tree.push(&url, &["main"]).await.ok();
}
