//! Shared fetches: identical concurrent requests get one response of git, and each client gets all of it.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use holdfast_tests::{Client, Server, Setup, WorkTree};

fn packet(line: &str) -> Vec<u8> {
    format!("{:04x}{line}", line.len() + 4).into_bytes()
}

/// Returns a fetch request of protocol version 2 as a new clone sends it.
fn request(want: &str, agent: &str) -> Vec<u8> {
    let mut body = [packet("command=fetch"), packet(&format!("agent={agent}")), b"0001".to_vec()].concat();
    for line in ["ofs-delta\n", &format!("want {want}\n"), "done\n"] {
        body.extend(packet(line));
    }
    body.extend_from_slice(b"0000");
    body
}

async fn request_fetch(server: &Server, client: &Client, want: &str, agent: &str) -> reqwest::Response {
    let request = reqwest::Client::new()
        .post(format!("{}/ada/p.git/git-upload-pack", server.base_url))
        .header("Content-Type", "application/x-git-upload-pack-request")
        .header("Git-Protocol", "version=2")
        .body(request(want, agent));
    let request = match client.token_opt() {
        Some(token) => request.basic_auth("user", Some(token)),
        None => request,
    };
    request.send().await.unwrap()
}

/// Extracts the pack from a response, without packet framing and progress messages.
fn extract_pack(mut response: &[u8]) -> Vec<u8> {
    let mut pack = Vec::new();
    while let Some((length, rest)) = response.split_at_checked(4) {
        let length = usize::from_str_radix(std::str::from_utf8(length).unwrap(), 16).unwrap();
        let (line, rest) = rest.split_at(length.saturating_sub(4));
        if let Some((1, part)) = line.split_first() {
            pack.extend_from_slice(part);
        }
        response = rest;
    }
    pack
}

/// Returns incompressible bytes.
pub fn random_bytes(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[tokio::test]
async fn identical_concurrent_clones_are_computed_once() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"old\n", "old").await;
    // Larger than the part of a response that is kept in memory.
    let head = tree.commit("noise", &random_bytes(6 << 20, 1), "large").await;
    tree.push(&url, &["main"]).await.ok();
    for (arguments, commits) in [(&["--depth=1"][..], "1"), (&[], "2")] {
        let (before, _) = server.app.git_runtime.shared_fetches.counts();
        let clones = join_all((0..12).map(|_| WorkTree::clone(&url, arguments))).await;
        for (cloned, clone) in clones {
            cloned.ok();
            assert_eq!(clone.head().await, head);
            assert_eq!(clone.git(["rev-list", "--count", "HEAD"]).await.line(), commits);
            clone.git(["fsck", "--full", "--strict"]).await.ok();
        }
        // A client that joins when the first one is too far ahead starts a second response, which the others share.
        let (after, _) = server.app.git_runtime.shared_fetches.counts();
        assert!((1..=3).contains(&(after - before)), "{} for {arguments:?}", after - before);
    }
    // Another protocol version has another response.
    let (before, shared) = server.app.git_runtime.shared_fetches.counts();
    let (cloned, _) = WorkTree::clone(&url, &["-c", "protocol.version=0", "--depth=1"]).await;
    cloned.ok();
    let (after, still_shared) = server.app.git_runtime.shared_fetches.counts();
    assert!(after > before && still_shared == shared, "{after} > {before}, {still_shared} == {shared}");
}

#[tokio::test]
async fn small_responses_are_served_from_the_cache() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let head = server.push_first(&ada, "ada/p").await;
    server.project(&ada, "q", 20).await;
    server.push_first(&ada, "ada/q").await;
    let whole = request_fetch(&server, &ada, &head, "git/1").await.bytes().await.unwrap();
    assert!(whole.windows(4).any(|four| four == b"PACK"));
    for agent in ["git/1", "git/2.47 of somebody else"] {
        assert_eq!(request_fetch(&server, &server.anonymous(), &head, agent).await.bytes().await.unwrap(), whole);
    }
    assert_eq!(server.app.git_runtime.shared_fetches.counts(), (1, 2));
    // The same request for another project is not shared.
    let (cloned, clone) = WorkTree::clone(&server.git_url(&ada, "ada/q"), &[]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    let computed = server.app.git_runtime.shared_fetches.counts().0;
    assert_eq!(computed, 2);
    // After a ref update, the response is computed again.
    let tree = WorkTree::clone(&server.git_url(&ada, "ada/p"), &[]).await.1;
    let newer = tree.commit("f", b"more\n", "more").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&server.git_url(&ada, "ada/p"), &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, newer);
}

/// Clients of one shared response that is larger than the buffers of the sockets.
#[tokio::test]
async fn slow_or_disconnected_clients_do_not_affect_others() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    let head = tree.commit("noise", &random_bytes(24 << 20, 2), "large").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let mut begun = Vec::new();
    for mut answer in join_all((0..4).map(|_| request_fetch(&server, &ada, &head, "git/1"))).await {
        begun.push((answer.chunk().await.unwrap().unwrap().to_vec(), answer));
    }
    let (slow, leaves) = (begun.pop().unwrap(), begun.pop().unwrap());
    drop(leaves);
    let rest = |(mut bytes, mut answer): (Vec<u8>, reqwest::Response)| async move {
        while let Some(part) = answer.chunk().await.unwrap() {
            bytes.extend_from_slice(&part);
        }
        extract_pack(&bytes)
    };
    let whole = join_all(begun.into_iter().map(rest));
    let whole = tokio::time::timeout(Duration::from_secs(300), whole).await.expect("nobody waits for the slow one");
    assert!(whole[0].len() > 24 << 20 && whole[0] == whole[1], "{} and {}", whole[0].len(), whole[1].len());
    assert!(rest(slow).await == whole[0]);
}

/// Starts a fetch and leaves the response unread, so that git blocks.
async fn start_fetch(server: &Server, client: &Client, want: &str) -> reqwest::Response {
    let mut answer = request_fetch(server, client, want, "git/1").await;
    let mut bytes = 0;
    while bytes < 1 << 20 {
        bytes += answer.chunk().await.unwrap().expect("there is more").len();
    }
    answer
}

#[tokio::test]
async fn git_is_killed_when_the_last_client_disconnects() {
    let mut setup = Setup::default();
    setup.settings.git.max_fetches_per_repository = 2;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    let mut tips = Vec::new();
    for seed in 3..6 {
        tips.push(tree.commit("noise", &random_bytes(24 << 20, seed), "large").await);
    }
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    drop(join_all((0..2).map(|_| start_fetch(&server, &ada, &tips[0]))).await);
    // This is sooner than the timeout for connected clients that do not read.
    let both = join_all(tips[1..].iter().map(|want| start_fetch(&server, &ada, want)));
    tokio::time::timeout(Duration::from_secs(90), both).await.expect("both turns are free again");
}

/// A shared response that is being sent to another client grants no access.
#[tokio::test]
async fn shared_responses_require_read_access() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"public\n", "first").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "secret"]).await.ok();
    let secret = tree.commit("noise", &random_bytes(24 << 20, 4), "secret").await;
    tree.push(&url, &["secret"]).await.ok();
    let mut answer = request_fetch(&server, &ada, &secret, "git/1").await;
    answer.chunk().await.unwrap().unwrap();
    for (client, status) in [(&eve, 404), (&server.anonymous(), 401)] {
        assert_eq!(request_fetch(&server, client, &secret, "git/1").await.status(), status);
    }
    // The branch is deleted while the response is being sent.
    tree.push(&url, &[":secret"]).await.ok();
    let refused = request_fetch(&server, &ada, &secret, "git/1").await.text().await.unwrap();
    assert!(refused.contains("not our ref"), "{refused}");
    assert!(answer.chunk().now_or_never().is_none_or(|part| part.is_ok()), "who was allowed goes on");
    let mut bytes = 0;
    while let Some(part) = answer.chunk().await.unwrap() {
        bytes += part.len();
    }
    assert!(bytes > 20 << 20);
    let refused = request_fetch(&server, &ada, &secret, "git/1").await.text().await.unwrap();
    assert!(refused.contains("not our ref"), "{refused}");
}
