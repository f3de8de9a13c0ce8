//! Many who fetch the same at once: answered once, and each as if it were alone.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use holdfast_tests::{Client, Server, Setup, WorkTree};

fn packet(line: &str) -> Vec<u8> {
    format!("{:04x}{line}", line.len() + 4).into_bytes()
}

/// A fetch of version 2 as a new clone asks for it.
fn request(want: &str, agent: &str) -> Vec<u8> {
    let mut body = [packet("command=fetch"), packet(&format!("agent={agent}")), b"0001".to_vec()].concat();
    for line in ["ofs-delta\n", &format!("want {want}\n"), "done\n"] {
        body.extend(packet(line));
    }
    body.extend_from_slice(b"0000");
    body
}

async fn ask(server: &Server, client: &Client, want: &str, agent: &str) -> reqwest::Response {
    let request = reqwest::Client::new()
        .post(format!("{}/ada/p.git/git-upload-pack", server.base))
        .header("Content-Type", "application/x-git-upload-pack-request")
        .header("Git-Protocol", "version=2")
        .body(request(want, agent));
    let request = match client.has_token() {
        Some(token) => request.basic_auth("user", Some(token)),
        None => request,
    };
    request.send().await.unwrap()
}

/// What is in an answer, however it was divided and whatever was said beside it.
fn pack(mut answer: &[u8]) -> Vec<u8> {
    let mut pack = Vec::new();
    while let Some((length, rest)) = answer.split_at_checked(4) {
        let length = usize::from_str_radix(std::str::from_utf8(length).unwrap(), 16).unwrap();
        let (line, rest) = rest.split_at(length.saturating_sub(4));
        if let Some((1, part)) = line.split_first() {
            pack.extend_from_slice(part);
        }
        answer = rest;
    }
    pack
}

/// What cannot be made smaller.
pub fn noise(bytes: usize, seed: u64) -> Vec<u8> {
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
async fn equal_clones_at_once_are_computed_once() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"old\n", "old").await;
    // Beyond what is kept in memory.
    let head = tree.commit("noise", &noise(6 << 20, 1), "large").await;
    tree.push(&url, &["main"]).await.ok();
    for (arguments, commits) in [(&["--depth=1"][..], "1"), (&[], "2")] {
        let (before, _) = server.app.engine.answers.counts();
        let clones = join_all((0..12).map(|_| WorkTree::clone(&url, arguments))).await;
        for (cloned, clone) in clones {
            cloned.ok();
            assert_eq!(clone.head().await, head);
            assert_eq!(clone.git(["rev-list", "--count", "HEAD"]).await.line(), commits);
            clone.git(["fsck", "--full", "--strict"]).await.ok();
        }
        // Who comes when the first is far ahead of it makes a second one, which all others share.
        let (after, _) = server.app.engine.answers.counts();
        assert!((1..=3).contains(&(after - before)), "{} for {arguments:?}", after - before);
    }
    // Another version of the protocol is answered otherwise.
    let (before, shared) = server.app.engine.answers.counts();
    let (cloned, _) = WorkTree::clone(&url, &["-c", "protocol.version=0", "--depth=1"]).await;
    cloned.ok();
    let (after, still_shared) = server.app.engine.answers.counts();
    assert!(after > before && still_shared == shared, "{after} > {before}, {still_shared} == {shared}");
}

#[tokio::test]
async fn a_small_answer_is_given_again() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let head = server.push_first(&ada, "ada/p").await;
    server.project(&ada, "q", 20).await;
    server.push_first(&ada, "ada/q").await;
    let whole = ask(&server, &ada, &head, "git/1").await.bytes().await.unwrap();
    assert!(whole.windows(4).any(|four| four == b"PACK"));
    for agent in ["git/1", "git/2.47 of somebody else"] {
        assert_eq!(ask(&server, &server.anonymous(), &head, agent).await.bytes().await.unwrap(), whole);
    }
    assert_eq!(server.app.engine.answers.counts(), (1, 2));
    // The same request of another project is another.
    let (cloned, clone) = WorkTree::clone(&server.git_url(&ada, "ada/q"), &[]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    let computed = server.app.engine.answers.counts().0;
    assert_eq!(computed, 2);
    // What has moved is answered anew.
    let tree = WorkTree::clone(&server.git_url(&ada, "ada/p"), &[]).await.1;
    let newer = tree.commit("f", b"more\n", "more").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let (cloned, clone) = WorkTree::clone(&server.git_url(&ada, "ada/p"), &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, newer);
}

/// Readers of one answer that is larger than what the system keeps on the way.
#[tokio::test]
async fn who_is_slow_or_leaves_does_not_disturb_others() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    let head = tree.commit("noise", &noise(24 << 20, 2), "large").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    let mut begun = Vec::new();
    for mut answer in join_all((0..4).map(|_| ask(&server, &ada, &head, "git/1"))).await {
        begun.push((answer.chunk().await.unwrap().unwrap().to_vec(), answer));
    }
    let (slow, leaves) = (begun.pop().unwrap(), begun.pop().unwrap());
    drop(leaves);
    let rest = |(mut bytes, mut answer): (Vec<u8>, reqwest::Response)| async move {
        while let Some(part) = answer.chunk().await.unwrap() {
            bytes.extend_from_slice(&part);
        }
        pack(&bytes)
    };
    let whole = join_all(begun.into_iter().map(rest));
    let whole = tokio::time::timeout(Duration::from_secs(300), whole).await.expect("nobody waits for the slow one");
    assert!(whole[0].len() > 24 << 20 && whole[0] == whole[1], "{} and {}", whole[0].len(), whole[1].len());
    assert!(rest(slow).await == whole[0]);
}

/// An answer that has begun and stays unread: git waits with the rest.
async fn begin(server: &Server, client: &Client, want: &str) -> reqwest::Response {
    let mut answer = ask(server, client, want, "git/1").await;
    let mut bytes = 0;
    while bytes < 1 << 20 {
        bytes += answer.chunk().await.unwrap().expect("there is more").len();
    }
    answer
}

#[tokio::test]
async fn git_ends_when_the_last_one_leaves() {
    let mut setup = Setup::default();
    setup.settings.git.max_fetches_per_repository = 2;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    let mut tips = Vec::new();
    for seed in 3..6 {
        tips.push(tree.commit("noise", &noise(24 << 20, seed), "large").await);
    }
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    drop(join_all((0..2).map(|_| begin(&server, &ada, &tips[0]))).await);
    // Sooner than git is ended for one who is there and takes nothing.
    let both = join_all(tips[1..].iter().map(|want| begin(&server, &ada, want)));
    tokio::time::timeout(Duration::from_secs(90), both).await.expect("both turns are free again");
}

/// The answer is there, and somebody is just being given it: that gives nobody a right to it.
#[tokio::test]
async fn an_answer_is_given_only_to_who_may_ask() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"public\n", "first").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "secret"]).await.ok();
    let secret = tree.commit("noise", &noise(24 << 20, 4), "secret").await;
    tree.push(&url, &["secret"]).await.ok();
    let mut answer = ask(&server, &ada, &secret, "git/1").await;
    answer.chunk().await.unwrap().unwrap();
    for (client, status) in [(&eve, 404), (&server.anonymous(), 401)] {
        assert_eq!(ask(&server, client, &secret, "git/1").await.status(), status);
    }
    // The branch goes while its answer is under way.
    tree.push(&url, &[":secret"]).await.ok();
    let refused = ask(&server, &ada, &secret, "git/1").await.text().await.unwrap();
    assert!(refused.contains("not our ref"), "{refused}");
    assert!(answer.chunk().now_or_never().is_none_or(|part| part.is_ok()), "who was allowed goes on");
    let mut bytes = 0;
    while let Some(part) = answer.chunk().await.unwrap() {
        bytes += part.len();
    }
    assert!(bytes > 20 << 20);
    let refused = ask(&server, &ada, &secret, "git/1").await.text().await.unwrap();
    assert!(refused.contains("not our ref"), "{refused}");
}
