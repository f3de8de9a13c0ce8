//! Forks share packs with their source, and objects that only one of them reaches are not visible in the other.

use holdfast_tests::{Client, Server, TestResponse, WorkTree, database};
use serde_json::json;
use sqlx::Executor;

#[tokio::test]
async fn a_fork_is_a_project_with_the_same_history() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let source = server.project(&ada, "p", 20).await;
    let first = server.push_first(&ada, "ada/p").await;
    let objects = || std::fs::read_dir(server.directory.path()).map_or(0, Iterator::count);
    let before = objects();
    let fork = bob.post("/projects/fork/ada%2Fp", &[("namespace", "BOB")]).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    let body = &fork.body;
    assert_eq!(body["path_with_namespace"], "bob/p");
    assert_eq!((&body["creator_id"], &body["default_branch"]), (&json!(bob_id), &json!("main")));
    assert_eq!(body["forked_from_project"]["path_with_namespace"], "ada/p");
    assert!(body["runners_token"].is_string());
    assert_eq!(ada.get(&format!("/projects/{source}")).await.body["forks_count"], 1);
    assert_eq!(objects(), before, "no bytes were copied");
    // A push to the fork does not change the source.
    let url = server.git_url(&bob, "bob/p");
    let (cloned, tree) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    assert_eq!(tree.head().await, first);
    let second = tree.commit("f", b"fork\n", "in the fork").await;
    tree.push(&url, &["main"]).await.ok();
    tree.push(&url, &["-f", "main~1:main"]).await.expect_failure();
    let main = async |path: &str| {
        ada.get(&format!("/projects/{path}/repository/branches/main")).await.body["commit"]["id"].clone()
    };
    assert_eq!((main("bob%2Fp").await, main("ada%2Fp").await), (json!(second), json!(first)));
    // The name is already taken in that namespace.
    let again = bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await;
    let taken = json!(["has already been taken"]);
    assert_eq!(again.status_and_body(), (409, &json!({ "message": { "name": taken, "path": taken } })));
    for namespace in ["nowhere", "ada"] {
        let refused = bob.post("/projects/fork/ada%2Fp", &[("namespace", namespace)]).await;
        assert_eq!(
            refused.status_and_body(),
            (404, &json!({ "message": "404 Target Namespace Not Found" })),
            "{namespace}"
        );
    }
    // The source is deleted; the fork remains complete.
    assert_eq!(ada.delete(&format!("/projects/{source}")).await.status, 200);
    server.run_jobs().await;
    assert_eq!(bob.get("/projects/bob%2Fp").await.body.get("forked_from_project"), None);
    let other = server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&url.replace(&server.address(), &other), &[]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    assert_eq!(clone.head().await, second);
}

#[tokio::test]
async fn deleted_forks_are_not_counted() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    server.project(&ada, "p", 20).await;
    let count = async || ada.get("/projects/ada%2Fp").await.body["forks_count"].clone();
    let group = server.group(&bob, "team", 20).await;
    for namespace in ["bob", "team"] {
        assert_eq!(bob.post("/projects/fork/ada%2Fp", &[("namespace", namespace)]).await.status, 201);
    }
    assert_eq!(count().await, 2);
    assert_eq!(bob.delete("/projects/bob%2Fp").await.status, 200);
    assert_eq!(count().await, 1);
    assert_eq!(bob.delete(&format!("/groups/{group}")).await.status, 200);
    assert_eq!(count().await, 0);
}

#[tokio::test]
async fn forks_are_never_more_visible_than_their_source() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let (_, eve) = server.user("eve").await;
    server.project(&ada, "p", 20).await;
    assert_eq!(bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await.status, 201);
    assert_eq!(eve.post("/projects/fork/bob%2Fp", &[("namespace", "eve")]).await.status, 201);
    ada.put("/projects/ada%2Fp", &[("name", "p"), ("visibility_level", "10")]).await;
    let raised = bob.put("/projects/bob%2Fp", &[("name", "p"), ("visibility_level", "20")]).await;
    let text = "public is not allowed since the fork source project has lower visibility.";
    assert_eq!(raised.status_and_body(), (400, &json!({ "message": { "visibility_level": [text] } })));
    ada.put("/projects/ada%2Fp", &[("name", "p"), ("visibility_level", "0")]).await;
    assert_eq!(bob.get("/projects/bob%2Fp").await.body["visibility_level"], 0);
    assert_eq!(eve.get("/projects/eve%2Fp").await.body["visibility_level"], 0);
    // The source of a fork is not shown to users who cannot see it.
    assert_eq!(bob.get("/projects/bob%2Fp").await.body.get("forked_from_project"), None);
}

/// Moving a project into a less visible group lowers its visibility, and that of its forks and their forks.
#[tokio::test]
async fn transfer_into_a_private_group_hides_the_forks() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let (_, eve) = server.user("eve").await;
    let source = server.project(&ada, "p", 20).await;
    assert_eq!(bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await.status, 201);
    assert_eq!(eve.post("/projects/fork/bob%2Fp", &[("namespace", "eve")]).await.status, 201);
    let visibility =
        async |path: &str| server.admin.get(&format!("/projects/{path}")).await.body["visibility_level"].clone();
    for (group, level) in [("open", 20), ("inner", 10), ("closed", 0)] {
        let id = server.group(&server.admin, group, level).await;
        assert_eq!(server.admin.post(&format!("/groups/{id}/projects/{source}"), &[]).await.status, 201);
        for path in [&*format!("{group}%2Fp"), "bob%2Fp", "eve%2Fp"] {
            assert_eq!(visibility(path).await, level, "{path}");
        }
    }
    assert_eq!(eve.get("/projects/bob%2Fp").await.status, 404);
}

/// The visibility limit of a fork outlives its source: a user could fork a private project, wait until the source is
/// deleted, and make the fork public.
#[tokio::test]
async fn a_fork_keeps_the_visibility_limit_of_a_deleted_source() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (_, eve) = server.user("eve").await;
    let group = server.group(&ada, "team", 20).await;
    let limited = "is not allowed since the fork source project has lower visibility.";
    for (namespace, level) in [(None, 0), (Some(group), 0), (None, 10)] {
        let source = server.project_in(&ada, "p", level, namespace).await;
        crate::projects::add_member(&ada, &format!("/projects/{source}"), bob_id.get(), 20).await;
        let fork = bob.post(&format!("/projects/fork/{source}"), &[("namespace", "bob")]).await;
        assert_eq!(fork.status, 201, "{}", fork.text);
        let path = format!("/projects/{}", fork.body["id"]);
        match namespace {
            Some(group) => assert_eq!(ada.delete(&format!("/groups/{group}")).await.status, 200),
            None => assert_eq!(ada.delete(&format!("/projects/{source}")).await.status, 200),
        }
        // Before and after the deletion job.
        for _ in 0..2 {
            let raised = bob.put(&path, &[("name", "p"), ("visibility_level", "20")]).await;
            let text = format!("public {limited}");
            assert_eq!(raised.status_and_body(), (400, &json!({ "message": { "visibility_level": [text] } })));
            server.run_jobs().await;
        }
        if level == 10 {
            // The visibility can be raised up to the limit, and no fork of the fork can exceed it.
            assert_eq!(bob.put(&path, &[("name", "p"), ("visibility_level", "0")]).await.status, 200);
            assert_eq!(bob.put(&path, &[("name", "p"), ("visibility_level", "10")]).await.status, 200);
            let second = eve.post("/projects/fork/bob%2Fp", &[("namespace", "eve")]).await.body["id"].clone();
            let raised = eve.put(&format!("/projects/{second}"), &[("name", "p"), ("visibility_level", "20")]).await;
            assert_eq!(raised.status, 400, "{}", raised.text);
        }
        assert_eq!(bob.delete(&path).await.status, 200);
        server.run_jobs().await;
    }
}

/// A user asks by its id for a commit or a blob that the packs of a fork network contain, although no ref of the project
/// reaches it (a cross-fork object reference).
#[tokio::test]
async fn unreachable_objects_of_the_fork_network_are_not_found() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"public\n", "public").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "leak"]).await.ok();
    let secret = tree.commit("secret", b"hunter2\n", "oops").await;
    let blob = tree.git(["rev-parse", "HEAD:secret"]).await.ok().line().to_owned();
    tree.push(&url, &["leak"]).await.ok();
    // The project is forked while the secret is reachable; then the branch is deleted in both.
    assert_eq!(bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await.status, 201);
    let fork_url = server.git_url(&bob, "bob/p");
    tree.push(&url, &[":leak"]).await.ok();
    tree.push(&fork_url, &[":leak"]).await.ok();
    // An object of the fork alone is not reachable in the source.
    tree.git(["checkout", "-q", "main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "own"]).await.ok();
    let own = tree.commit("own", b"swordfish\n", "own").await;
    tree.push(&fork_url, &["own"]).await.ok();
    for (address, id) in [(&url, &secret), (&url, &blob), (&fork_url, &secret), (&fork_url, &blob), (&url, &own)] {
        for version in ["0", "1", "2"] {
            let into = WorkTree::new().await;
            let protocol = format!("protocol.version={version}");
            let refused = into.git(["-c", &protocol, "fetch", "-q", address, id.as_str()]).await.expect_failure();
            assert!(refused.stderr.contains("not our ref"), "{}", refused.stderr);
        }
    }
    for (project, id) in [("ada%2Fp", &secret), ("bob%2Fp", &secret), ("ada%2Fp", &own), ("ada%2Fp", &blob)] {
        let form = [("branch_name", "stolen"), ("ref", id.as_str())];
        let client = if project.starts_with("ada") { &ada } else { &bob };
        let refused = client.post(&format!("/projects/{project}/repository/branches"), &form).await;
        assert_eq!(refused.status_and_body(), (400, &json!({ "message": "Invalid reference name" })));
        let form = [("tag_name", "stolen"), ("ref", id.as_str())];
        let refused = client.post(&format!("/projects/{project}/repository/tags"), &form).await;
        assert_eq!(refused.status, 405, "{}", refused.text);
    }
    // A reachable object can be fetched by its id.
    let first = tree.git(["rev-parse", "main"]).await.ok().line().to_owned();
    WorkTree::new().await.git(["fetch", "-q", &url, &first]).await.ok();
    WorkTree::new().await.git(["fetch", "-q", &fork_url, &own]).await.ok();
}

async fn link(client: &Client, project: i64, source: i64) -> TestResponse {
    client.post(&format!("/api/v4/projects/{project}/fork/{source}"), &[]).await
}

/// A project can become the fork neither of itself nor of a project that descends from it.
#[tokio::test]
async fn forks_cannot_form_a_cycle() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let first = server.project(&ada, "first", 20).await;
    let second = server.project(&ada, "second", 20).await;
    let third = server.project(&ada, "third", 20).await;
    for (project, source) in [(second, first), (third, second)] {
        let linked = link(&ada, project, source).await;
        assert_eq!((linked.status, &linked.body["forked_from_project"]["id"]), (201, &json!(source)));
    }
    let before = server.dump_database().await;
    let cycle = json!({ "message": "A project cannot be a fork of one of its own forks" });
    for source in [second, third] {
        assert_eq!(link(&ada, first, source).await.status_and_body(), (409, &cycle), "{source}");
    }
    let itself = json!({ "message": "A project cannot be a fork of itself" });
    assert_eq!(link(&ada, first, first).await.status_and_body(), (422, &itself));
    let forked = json!({ "message": "Project already forked" });
    assert_eq!(link(&ada, second, third).await.status_and_body(), (409, &forked));
    assert_eq!(server.dump_database().await, before);
    // Without the link in the middle, the others are no longer forks of the first project.
    assert_eq!(ada.delete(&format!("/api/v4/projects/{second}/fork")).await.status, 204);
    assert_eq!(link(&ada, first, third).await.status, 201);
    assert_eq!(link(&ada, second, first).await.status_and_body(), (409, &cycle));
}

/// Two links that are made at once and would form a cycle together, directly or through other forks: one of them is made,
/// and the other one is refused.
#[tokio::test]
async fn concurrent_links_cannot_form_a_cycle() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    for is_direct in [true, false] {
        let mut projects = Vec::new();
        for number in 0..4 {
            projects.push(server.project(&ada, &format!("p{number}-{is_direct}"), 20).await);
        }
        let [a, b, c, d] = projects[..] else { panic!("four projects") };
        let links = match is_direct {
            true => [(a, b), (b, a)],
            false => {
                assert_eq!(link(&ada, a, b).await.status, 201);
                assert_eq!(link(&ada, c, d).await.status, 201);
                [(b, c), (d, a)]
            }
        };
        let (mut blocking, mut observer) = (server.database().await, server.database().await);
        blocking.execute("begin; select id from projects for no key update").await.unwrap();
        let requests = links.map(|(project, source)| {
            let ada = ada.clone();
            tokio::spawn(async move { link(&ada, project, source).await })
        });
        database::wait_for_blocked(&mut observer, 2).await;
        blocking.execute("commit").await.unwrap();
        let mut statuses = Vec::new();
        for request in requests {
            statuses.push(request.await.unwrap().status);
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409], "direct: {is_direct}");
    }
}
