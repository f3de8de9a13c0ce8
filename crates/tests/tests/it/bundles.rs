//! Bundle URIs: the packed part of a large public repository as one file.

use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, RepackScope};
use holdfast_tests::{Server, Setup, WorkTree, git_programs};

async fn repack(server: &Server) {
    maintenance::maintain(&server.app, &Actor::Operator, &ProjectRef::Id(1.into()), RepackScope::Full).await.unwrap();
}

#[tokio::test]
async fn reachable_objects_are_served_as_a_bundle() {
    let mut setup = Setup::default();
    setup.settings.git.bundle_min_bytes = 100;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let anonymous = format!("{}/ada/p.git", server.base_url);
    let status = async || reqwest::get(format!("{anonymous}/bundle")).await.unwrap().status().as_u16();
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main", "main:other"]).await.ok();
    assert_eq!(status().await, 404, "nothing was packed yet");
    repack(&server).await;
    let newest = tree.commit("f", b"two\n", "two").await;
    tree.push(&url, &["main"]).await.ok();
    assert_eq!(status().await, 200);
    for program in git_programs() {
        let (cloned, clone) =
            WorkTree::clone_with(program, &anonymous, &["-c", "transfer.bundleURI=true", "--mirror"]).await;
        cloned.ok();
        clone.git(["fsck", "--full", "--strict"]).await.ok();
        assert_eq!(clone.git(["rev-parse", "main"]).await.ok().line(), newest);
    }
    let (cloned, clone) = WorkTree::clone(&anonymous, &["-c", "transfer.bundleURI=true"]).await;
    cloned.ok();
    let fetched = clone.git(["for-each-ref", "--format=%(refname)", "refs/bundles"]).await.ok();
    assert!(fetched.line().starts_with("refs/bundles/"), "{}", fetched.line());
    // After a force push, the old commits are not served any more, neither by fetch nor as a bundle.
    tree.git(["checkout", "-q", "--orphan", "anew"]).await.ok();
    tree.commit("f", b"anew\n", "anew").await;
    tree.push(&url, &[":other"]).await.ok();
    assert_eq!(status().await, 200, "main still leads there");
    ada.put("/projects/1/repository/branches/main/unprotect", &[]).await;
    tree.push(&url, &["-f", "anew:main"]).await.ok();
    assert_eq!(status().await, 404);
    repack(&server).await;
    assert_eq!(status().await, 200);
    // A fork shares the pack, which may then contain objects that are not reachable in this project.
    let group = server.group(&ada, "team", 20).await;
    assert_eq!(ada.post("/projects/fork/ada%2Fp", &[("namespace", &group.to_string())]).await.status, 201);
    tree.commit("f", b"three\n", "three").await;
    tree.push(&url, &["anew:main"]).await.ok();
    assert_eq!(status().await, 404);
}

#[tokio::test]
async fn private_projects_offer_no_bundle() {
    let mut setup = Setup::default();
    setup.settings.git.bundle_min_bytes = 100;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 0).await;
    server.push_first(&ada, "ada/p").await;
    repack(&server).await;
    let url = server.git_url(&ada, "ada/p");
    let (cloned, clone) = WorkTree::clone(&url, &["-c", "transfer.bundleURI=true"]).await;
    cloned.ok();
    assert_eq!(clone.git(["for-each-ref", "refs/bundles"]).await.ok().line(), "");
    assert_eq!(reqwest::get(format!("{url}/bundle")).await.unwrap().status(), 404);
}
