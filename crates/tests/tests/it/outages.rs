//! The database takes no writes, the bucket cannot be reached, the disk is full: whoever asks is told to come back, what
//! needs none of it goes on, nothing changes half, and it is well again by itself.

use std::path::PathBuf;
use std::time::Duration;

use holdfast_store::objects;
use holdfast_tests::{Answer, Client, Server, Setup, WorkTree};
use serde_json::json;
use sqlx::{Connection, Executor};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::equal_fetches::noise;

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

/// The only way to the S3 server; it can be shut.
struct Way {
    address: String,
    target: String,
    open: Option<JoinHandle<()>>,
}

impl Way {
    async fn to(target: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
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

    async fn reopen(&mut self) {
        let listener = TcpListener::bind(&self.address).await.unwrap();
        self.serve(listener);
    }
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
