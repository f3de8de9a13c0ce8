//! The maximum number of refs of a repository.

use holdfast_tests::{Client, Server, Setup, WorkTree};
use serde_json::json;

const LIMIT_TEXT: &str = "the repository has the maximum number of refs (git.max_refs)";

async fn set_up_five_refs() -> (Server, Client, WorkTree, String) {
    let mut setup = Setup::default();
    setup.settings.git.max_refs = 5;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    let url = server.git_url(&ada, "ada/p");
    tree.push(&url, &["main", "main:b1", "main:b2", "main:b3"]).await.ok();
    (server, ada, tree, url)
}

/// Every client that pushes gets all refs of a repository, and the server holds them in memory. Without a limit, a user
/// who may push could create as many as the disk holds.
#[tokio::test]
async fn refs_beyond_the_maximum_are_rejected() {
    let (server, ada, tree, url) = set_up_five_refs().await;
    let pushed = tree.push(&url, &["main:b4", "main:b5", "main:b6"]).await.expect_failure();
    assert_eq!(pushed.stderr.matches(LIMIT_TEXT).count(), 2, "one fits: {}", pushed.stderr);
    let before = server.dump_database().await;
    tree.push(&url, &["--atomic", "main:b5"]).await.expect_failure();
    let branch = ada.post("/projects/ada%2Fp/repository/branches", &[("branch_name", "b5"), ("ref", "main")]).await;
    assert!(branch.status == 400 && branch.text.contains(LIMIT_TEXT), "{} {}", branch.status, branch.text);
    let tag = ada.post("/projects/ada%2Fp/repository/tags", &[("tag_name", "v1"), ("ref", "main")]).await;
    assert!(tag.status == 405 && tag.text.contains(LIMIT_TEXT), "{} {}", tag.status, tag.text);
    assert_eq!(server.dump_database().await, before);

    // Existing refs can be updated, and a deleted ref makes room for a new one.
    tree.commit("f", b"two\n", "two").await;
    tree.push(&url, &["main", ":b1", "main:b5"]).await.ok();
    let branches = ada.get("/projects/ada%2Fp/repository/branches").await.body;
    let names: Vec<_> = branches.as_array().unwrap().iter().map(|branch| branch["name"].clone()).collect();
    let refs = tree.git(["ls-remote", "--heads", &url]).await.ok().stdout;
    assert_eq!((names.len(), refs.lines().count()), (5, 5), "{names:?}");
    assert!(names.contains(&json!("b5")) && !names.contains(&json!("b1")), "{names:?}");
}

/// Concurrent pushes cannot exceed the limit together.
#[tokio::test]
async fn concurrent_pushes_do_not_exceed_the_ref_limit() {
    let (_server, _ada, tree, url) = set_up_five_refs().await;
    let refspecs: Vec<String> = (0..8).map(|number| format!("main:at-once-{number}")).collect();
    let pushes = refspecs.iter().map(|refspec| tree.git(["push", "-q", &url, refspec]));
    let outcomes = futures_util::future::join_all(pushes).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_success).count(), 1);
    assert_eq!(tree.git(["ls-remote", "--heads", &url]).await.ok().stdout.lines().count(), 5);
}
