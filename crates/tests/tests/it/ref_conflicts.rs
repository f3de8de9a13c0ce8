//! No ref name is a directory of another, also when many refs are updated at once.

use holdfast_tests::{Server, WorkTree};

const REF_COUNT: usize = 1200;
const CONFLICT_TEXT: &str = "conflicts with an existing ref";
const NESTED_REFSPEC: &str = "refs/many/*:refs/heads/a/*";

#[tokio::test]
async fn a_ref_and_a_ref_directory_can_replace_each_other() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let id = server.push_first(&ada, "ada/p").await;
    let url = server.git_url(&ada, "ada/p");
    let (cloned, tree) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    // Refs in refs/many of the work tree are pushed to names below `a`, and `--prune` deletes all others there.
    let have = |names: &[usize]| {
        let lines: String = names.iter().map(|n| format!("{id} refs/many/{n}\n")).collect();
        std::fs::write(tree.path().join(".git/packed-refs"), lines).unwrap();
    };
    let push = async |refs: &[&str]| tree.git(["push", "-q", "--atomic", "--prune", &url].iter().chain(refs)).await;
    let refs = async || tree.git(["ls-remote", "--heads", &url]).await.ok().stdout;
    let all: Vec<usize> = (0..REF_COUNT).collect();
    have(&all);
    push(&[NESTED_REFSPEC]).await.ok();
    assert_eq!(refs().await.lines().count(), REF_COUNT + 1);

    let before = server.dump_database().await;
    // The conflict is with the first name, and with the last.
    for left in [0, 999] {
        have(&[left]);
        let refused = push(&[NESTED_REFSPEC, "main:refs/heads/a"]).await.expect_failure();
        assert!(refused.stderr.contains(CONFLICT_TEXT), "{}", refused.stderr);
        assert!(server.dump_database().await == before, "a/{left} is left, so nothing has changed");
    }
    have(&[]);
    push(&[NESTED_REFSPEC, "main:refs/heads/a"]).await.ok();
    assert_eq!(refs().await, format!("{id}\trefs/heads/a\n{id}\trefs/heads/main\n"));

    // The reverse direction.
    have(&all);
    let before = server.dump_database().await;
    let refused = push(&[NESTED_REFSPEC]).await.expect_failure();
    assert!(refused.stderr.contains(CONFLICT_TEXT), "{}", refused.stderr);
    assert!(server.dump_database().await == before, "a is left, so nothing has changed");
    push(&[NESTED_REFSPEC, ":refs/heads/a"]).await.ok();
    assert_eq!(refs().await.lines().count(), REF_COUNT + 1);
}
