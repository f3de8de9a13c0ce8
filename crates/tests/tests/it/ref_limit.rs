//! The most refs that a repository may have.

use holdfast_tests::{Client, Server, Setup, WorkTree};
use serde_json::json;

const TOO_MANY: &str = "the repository has as many refs as this server accepts (git.max_refs)";

async fn with_five_refs() -> (Server, Client, WorkTree, String) {
    let mut setup = Setup::default();
    setup.settings.git.max_refs = 5;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    let url = server.git_url(&ada, "ada/p");
    tree.push(&url, &["main", "main:b1", "main:b2", "main:b3"]).await.ok();
    (server, ada, tree, url)
}

/// Every client that pushes is told all refs of a repository, and the server holds them in memory: whoever may push could
/// make as many as the disk has room for.
#[tokio::test]
async fn a_repository_has_a_maximum_of_refs() {
    let (server, ada, tree, url) = with_five_refs().await;
    let pushed = tree.push(&url, &["main:b4", "main:b5", "main:b6"]).await.refused();
    assert_eq!(pushed.stderr.matches(TOO_MANY).count(), 2, "one fits: {}", pushed.stderr);
    let before = server.contents().await;
    tree.push(&url, &["--atomic", "main:b5"]).await.refused();
    let branch = ada.post("/projects/ada%2Fp/repository/branches", &[("branch_name", "b5"), ("ref", "main")]).await;
    assert!(branch.status == 400 && branch.text.contains(TOO_MANY), "{} {}", branch.status, branch.text);
    let tag = ada.post("/projects/ada%2Fp/repository/tags", &[("tag_name", "v1"), ("ref", "main")]).await;
    assert!(tag.status == 405 && tag.text.contains(TOO_MANY), "{} {}", tag.status, tag.text);
    assert_eq!(server.contents().await, before);

    // What is there moves on, and what is deleted makes room.
    tree.commit("f", b"two\n", "two").await;
    tree.push(&url, &["main", ":b1", "main:b5"]).await.ok();
    let branches = ada.get("/projects/ada%2Fp/repository/branches").await.body;
    let names: Vec<_> = branches.as_array().unwrap().iter().map(|branch| branch["name"].clone()).collect();
    let refs = tree.git(["ls-remote", "--heads", &url]).await.ok().stdout;
    assert_eq!((names.len(), refs.lines().count()), (5, 5), "{names:?}");
    assert!(names.contains(&json!("b5")) && !names.contains(&json!("b1")), "{names:?}");
}

/// Those who push at once do not get past it together.
#[tokio::test]
async fn pushes_at_once_do_not_exceed_the_maximum() {
    let (_server, _ada, tree, url) = with_five_refs().await;
    let refspecs: Vec<String> = (0..8).map(|number| format!("main:at-once-{number}")).collect();
    let pushes = refspecs.iter().map(|refspec| tree.git(["push", "-q", &url, refspec]));
    let outcomes = futures_util::future::join_all(pushes).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.success).count(), 1);
    assert_eq!(tree.git(["ls-remote", "--heads", &url]).await.ok().stdout.lines().count(), 5);
}
