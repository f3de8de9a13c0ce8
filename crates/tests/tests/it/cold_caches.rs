//! Repositories that are missing, or partly missing, in the cache of a node.

use holdfast_app::repository::warming;
use holdfast_store::objects;
use holdfast_tests::{Server, Setup, WorkTree};

use crate::shared_fetches::random_bytes;

/// Downloads packs in parts, from a directory and from a bucket.
#[tokio::test]
async fn large_packs_are_downloaded_completely() {
    let endpoint = std::env::var("HOLDFAST_TEST_S3_ENDPOINT").expect("dev/test starts an S3 server");
    let bucket = objects::Options::S3 {
        bucket: "holdfast".into(),
        prefix: "cold caches".into(),
        endpoint: Some(endpoint),
        region: "us-east-1".into(),
        credentials: Some(("test".into(), "test".into())),
    };
    for objects in [None, Some(bucket)] {
        let server = Server::start_with(Setup { objects, ..Setup::default() }).await;
        let (_, ada) = server.user("ada").await;
        server.project(&ada, "p", 20).await;
        let url = server.git_url(&ada, "ada/p");
        let tree = WorkTree::new().await;
        for (place, bytes) in [35 << 20, 100 << 10, 80 << 10, 20].into_iter().enumerate() {
            tree.commit(&format!("f{place}"), &random_bytes(bytes + place, 1), "more").await;
            tree.push(&url, &["main"]).await.ok();
        }
        let other = server.another_node().await;
        let (cloned, clone) = WorkTree::clone(&url.replace(&server.address(), &other), &[]).await;
        cloned.ok();
        assert_eq!(clone.head().await, tree.head().await);
        clone.git(["fsck", "--full", "--strict"]).await.ok();
    }
}

#[tokio::test]
async fn a_truncated_pack_download_is_discarded() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", &random_bytes(200 << 10, 1), "more").await;
    tree.push(&url, &["main"]).await.ok();
    let packs = server.directory.path().join("packs");
    let object = walk(&packs).into_iter().max_by_key(|path| path.metadata().unwrap().len()).unwrap();
    let whole = std::fs::read(&object).unwrap();
    std::fs::write(&object, &whole[..whole.len() / 2]).unwrap();
    let other = server.another_node().await;
    let url = url.replace(&server.address(), &other);
    let (cloned, _) = WorkTree::clone(&url, &[]).await;
    cloned.expect_failure();
    std::fs::write(&object, &whole).unwrap();
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, tree.head().await);
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

/// The process was killed while it evicted the cached repository.
#[tokio::test]
async fn a_partial_cached_repository_is_completed() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    let files = walk(&server.cache.path().join("0/repositories"));
    let packs: Vec<_> = files.iter().filter(|path| path.extension().is_some_and(|it| it == "pack")).collect();
    assert_eq!(packs.len(), 1);
    std::fs::remove_file(packs[0]).unwrap();
    tree.commit("f", b"two\n", "two").await;
    let other = server.another_node().await;
    tree.push(&url.replace(&server.address(), &other), &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
}

/// Files of the cache may be deleted at any time, and later requests succeed.
#[tokio::test]
async fn deleted_cache_files_are_downloaded_again() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    let copy = server.cache.path().join("0/repositories/1.git");
    let packs = |extension: &str| {
        let mut files = walk(&copy.join("objects/pack"));
        files.retain(|path| path.extension().is_some_and(|it| it == extension));
        files
    };
    for part in ["pack", "idx", "objects/pack", "objects/info", "objects", "refs", "HEAD", ""] {
        for next in ["clone", "push", "read"] {
            match part {
                "pack" | "idx" => packs(part).iter().for_each(|file| std::fs::remove_file(file).unwrap()),
                "HEAD" => std::fs::remove_file(copy.join(part)).unwrap(),
                _ => std::fs::remove_dir_all(copy.join(part)).unwrap(),
            }
            match next {
                "clone" => {
                    let (cloned, clone) = WorkTree::clone(&url, &[]).await;
                    cloned.ok();
                    assert_eq!(clone.head().await, tree.head().await, "{part}");
                }
                "push" => {
                    tree.commit("g", part.as_bytes(), "more").await;
                    tree.push(&url, &["main"]).await.ok();
                }
                _ => {
                    let read = ada.get("/projects/1/repository/tree?recursive=true&per_page=100").await;
                    assert!(read.status == 200 && read.text.contains("\"f\""), "{part}: {}", read.text);
                }
            }
        }
    }
    WorkTree::clone(&url, &[]).await.1.git(["fsck", "--full", "--strict"]).await.ok();
}

/// Files that were deleted from outside are subtracted from the size of the cache; otherwise the rest would be evicted
/// again and again.
#[tokio::test]
async fn deleted_cache_files_do_not_count_as_used() {
    let mut setup = Setup::default();
    setup.settings.git.cache_max_bytes = 512 << 10;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let cache = server.app.git_runtime.cache().unwrap();
    for (seed, name) in ["p", "q"].into_iter().enumerate() {
        server.project(&ada, name, 20).await;
        let tree = WorkTree::new().await;
        tree.commit("noise", &random_bytes(300 << 10, seed as u64), "large").await;
        tree.push(&server.git_url(&ada, &format!("ada/{name}")), &["main"]).await.ok();
        if name == "p" {
            walk(&server.cache.path().join("0/packs")).iter().for_each(|file| std::fs::remove_file(file).unwrap());
            walk(&server.cache.path().join("0/repositories/1.git/objects/pack"))
                .iter()
                .for_each(|file| std::fs::remove_file(file).unwrap());
        }
    }
    WorkTree::clone(&server.git_url(&ada, "ada/q"), &[]).await.0.ok();
    let there: u64 = walk(&server.cache.path().join("0/packs")).iter().map(|it| it.metadata().unwrap().len()).sum();
    assert!(there > 300 << 10 && cache.bytes() == there, "{there}, {} counted", cache.bytes());
}

/// A node warms its cache when it starts, before the first request.
#[tokio::test]
async fn a_new_node_warms_recently_active_repositories() {
    let mut setup = Setup::default();
    setup.settings.git.cache_max_bytes = 1 << 20;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    // The last one is larger than the part of the cache that warming may use.
    for (name, bytes) in [("p1", 200 << 10), ("p2", 200 << 10), ("empty", 0), ("large", 600 << 10)] {
        server.project(&ada, name, 0).await;
        if bytes > 0 {
            let tree = WorkTree::new().await;
            tree.commit("f", &random_bytes(bytes, 1), name).await;
            tree.push(&server.git_url(&ada, &format!("ada/{name}")), &["main"]).await.ok();
        }
    }
    let node = server.another_app();
    assert_eq!(warming::warm(&node).await.unwrap(), 2);
    let cache = node.git_runtime.cache().unwrap();
    assert!(cache.bytes() > 400 << 10 && cache.bytes() <= 512 << 10, "{}", cache.bytes());
    // Warming again updates the repositories that are cached.
    server.push_first(&ada, "ada/empty").await;
    let tree = WorkTree::clone(&server.git_url(&ada, "ada/p1"), &[]).await.1;
    tree.commit("g", b"more\n", "more").await;
    tree.push(&server.git_url(&ada, "ada/p1"), &["main"]).await.ok();
    let before = cache.bytes();
    assert_eq!(warming::warm(&node).await.unwrap(), 2);
    assert!(cache.bytes() > before && cache.bytes() < before + 10_000);
}
