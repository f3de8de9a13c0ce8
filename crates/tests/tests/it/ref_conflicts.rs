//! No ref is a directory of another, however many of them move at once.

use holdfast_tests::{Server, WorkTree};

const MANY: usize = 1200;
const SAYS: &str = "another ref is in the way";
const BELOW: &str = "refs/many/*:refs/heads/a/*";

#[tokio::test]
async fn a_ref_and_a_directory_of_refs_take_each_others_place() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let id = server.push_first(&ada, "ada/p").await;
    let url = server.git_url(&ada, "ada/p");
    let (cloned, tree) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    // What the work tree has in refs/many is what is pushed below a, and with --prune nothing else stays there.
    let have = |names: &[usize]| {
        let lines: String = names.iter().map(|n| format!("{id} refs/many/{n}\n")).collect();
        std::fs::write(tree.path().join(".git/packed-refs"), lines).unwrap();
    };
    let push = async |refs: &[&str]| tree.git(["push", "-q", "--atomic", "--prune", &url].iter().chain(refs)).await;
    let refs = async || tree.git(["ls-remote", "--heads", &url]).await.ok().stdout;
    let all: Vec<usize> = (0..MANY).collect();
    have(&all);
    push(&[BELOW]).await.ok();
    assert_eq!(refs().await.lines().count(), MANY + 1);

    let before = server.contents().await;
    // The first by name and the last.
    for left in [0, 999] {
        have(&[left]);
        let refused = push(&[BELOW, "main:refs/heads/a"]).await.refused();
        assert!(refused.stderr.contains(SAYS), "{}", refused.stderr);
        assert!(server.contents().await == before, "a/{left} is left, so nothing has changed");
    }
    have(&[]);
    push(&[BELOW, "main:refs/heads/a"]).await.ok();
    assert_eq!(refs().await, format!("{id}\trefs/heads/a\n{id}\trefs/heads/main\n"));

    // And back.
    have(&all);
    let before = server.contents().await;
    let refused = push(&[BELOW]).await.refused();
    assert!(refused.stderr.contains(SAYS), "{}", refused.stderr);
    assert!(server.contents().await == before, "a is left, so nothing has changed");
    push(&[BELOW, ":refs/heads/a"]).await.ok();
    assert_eq!(refs().await.lines().count(), MANY + 1);
}
