//! Commits that the API creates: changes of files and cherry-picks.

use std::collections::BTreeSet;

use holdfast_tests::{Client, Server, TestResponse, WorkTree};
use serde_json::{Value, json};

use crate::projects::add_member;

/// A private project `ada/p` with a file, in which Bob is a developer and Eve is no member.
struct Fixture {
    server: Server,
    ada: Client,
    bob: Client,
    eve: Client,
    tree: WorkTree,
    /// The path of the repository below `/projects`.
    path: String,
    first: String,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (bob_id, bob) = server.user("bob").await;
        let (_, eve) = server.user("eve").await;
        let project = server.project(&ada, "p", 0).await;
        add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
        let tree = WorkTree::new().await;
        let first = tree.commit("src/a.txt", b"one\n", "first").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main", "main:work"]).await.ok();
        let path = format!("/projects/{project}/repository");
        Self { server, ada, bob, eve, tree, path, first }
    }

    async fn commit(&self, client: &Client, branch: &str, actions: Value) -> TestResponse {
        self.commit_at("", client, branch, actions).await
    }

    /// Like [`Self::commit`], on another node if its address is not empty.
    async fn commit_at(&self, node: &str, client: &Client, branch: &str, actions: Value) -> TestResponse {
        let client = if node.is_empty() { client.clone() } else { client.for_node(node) };
        let body = json!({"branch_name": branch, "commit_message": "change", "actions": actions});
        client.send(client.request("POST", &format!("{}/commits", self.path)).json(&body)).await
    }

    async fn tip(&self, branch: &str) -> String {
        let found = self.ada.get(&format!("{}/branches/{branch}", self.path)).await;
        found.body["commit"]["id"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_change_that_is_not_possible_leaves_nothing_behind() {
    let fixture = Fixture::new().await;
    let before = fixture.server.dump_database().await;
    let create = json!({"action": "create", "file_path": "new.txt", "content": "x"});
    let paths =
        [".git/config", "a/.GIT/x", "git~1", "../x", "a/./b", "", "/", "src", "src/a.txt", "src/a.txt/b", "a\0b"];
    for path in paths {
        let actions = json!([create, {"action": "create", "file_path": path, "content": "x"}]);
        let response = fixture.commit(&fixture.ada, "work", actions).await;
        assert_eq!(response.status, 400, "{path:?}: {}", response.text);
    }
    // A push with these trees is rejected, too.
    let submodule = "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n";
    for action in [
        json!({"action": "create", "file_path": ".gitmodules", "content": submodule}),
        json!({"action": "create", "file_path": "a\\.git\\config", "content": "x"}),
        json!({"action": "update", "file_path": "missing", "content": "x"}),
        json!({"action": "delete", "file_path": "src"}),
        json!({"action": "move", "previous_path": "src/a.txt", "file_path": ".git/x"}),
        json!({"action": "create", "file_path": "b", "content": "?", "encoding": "base64"}),
        json!({"action": "chmod", "file_path": "src/a.txt"}),
    ] {
        let response = fixture.commit(&fixture.ada, "work", json!([create, action])).await;
        assert_eq!(response.status, 400, "{action}: {}", response.text);
    }
    // One invalid field of a form makes the whole form invalid.
    let form = "branch_name=work&commit_message=m&actions[][action]=create&actions[][file_path]=a&actions[][content]=%FF\
        &actions[][action]=create&actions[][file_path]=b&actions[][content]=b";
    let request = fixture.ada.request("POST", &format!("{}/commits", fixture.path));
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
    assert_eq!(fixture.ada.send(request).await.status, 400);
    for (client, branch, status) in
        [(&fixture.ada, "missing", 400), (&fixture.bob, "main", 400), (&fixture.eve, "work", 404)]
    {
        let response = fixture.commit(client, branch, json!([create])).await;
        assert_eq!(response.status, status, "{branch}: {}", response.text);
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

/// A commit of the API is a push: it is in the ref log with its channel, and git fetches it from another node.
#[tokio::test]
async fn commits_of_the_api_are_pushes() {
    let fixture = Fixture::new().await;
    let action = json!({"action": "update", "file_path": "src/a.txt", "content": "two\n"});
    let created = fixture.commit(&fixture.bob, "work", json!([action])).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let id = created.body["id"].as_str().unwrap();
    assert_eq!(
        (&created.body["parent_ids"], &created.body["author_name"]),
        (&json!([fixture.first]), &json!("User bob"))
    );
    assert_eq!(created.body["stats"], json!({"additions": 1, "deletions": 1, "total": 2}));
    let log = fixture.ada.get(&format!("{}/ref_log?ref_name=refs/heads/work", fixture.path)).await;
    assert_eq!((&log.body[0]["new"], &log.body[0]["via"]), (&json!(id), &json!("api")), "{}", log.text);
    let node = fixture.server.another_node().await;
    let url = fixture.server.git_url(&fixture.ada, "ada/p").replace(&fixture.server.address(), &node);
    let (cloned, tree) = WorkTree::clone(&url, &["-b", "work"]).await;
    cloned.ok();
    assert_eq!(std::fs::read(tree.path().join("src/a.txt")).unwrap(), b"two\n");
    tree.git(["fsck", "--strict"]).await.ok();
}

#[tokio::test]
async fn an_edit_of_an_older_version_is_rejected() {
    let fixture = Fixture::new().await;
    let files = format!("{}/files", fixture.path);
    let read = async || fixture.ada.get(&format!("{files}?file_path=src/a.txt&ref=work")).await;
    let known = read().await.body["last_commit_id"].as_str().unwrap().to_owned();
    assert_eq!(known, fixture.first);
    let update = async |content: &str, last_commit_id: &str| {
        let form = [
            ("file_path", "src/a.txt"),
            ("branch_name", "work"),
            ("commit_message", "edit"),
            ("content", content),
            ("last_commit_id", last_commit_id),
        ];
        fixture.ada.put(&files, &form).await
    };
    assert_eq!(update("two", &known).await.status, 200);
    let rejected = update("three", &known).await;
    let message = "The file has been changed since you began to edit it";
    assert_eq!(rejected.status_and_body(), (400, &json!({ "message": message })));
    let found = read().await.body;
    assert_eq!((&found["content"], &found["last_commit_id"]), (&json!("dHdv"), &json!(fixture.tip("work").await)));
}

/// Requests on two nodes add files to one branch at the same time, while git pushes to it. What was acknowledged is in
/// the history.
#[tokio::test]
async fn concurrent_commits_are_all_kept() {
    let fixture = Fixture::new().await;
    let other = fixture.server.another_node().await;
    let name = |number: usize| format!("new/{number}.txt");
    let requests = (0..12).map(|number| {
        let action = json!([{"action": "create", "file_path": name(number), "content": number.to_string()}]);
        let node = if number % 2 == 0 { other.as_str() } else { "" };
        let fixture = &fixture;
        async move { (number, fixture.commit_at(node, &fixture.ada, "work", action).await) }
    });
    fixture.tree.commit("pushed.txt", b"pushed", "pushed").await;
    let url = fixture.server.git_url(&fixture.ada, "ada/p");
    let push = async { fixture.tree.push(&url, &["main:work"]).await.is_success };
    let (responses, is_pushed) = tokio::join!(futures_util::future::join_all(requests), push);
    let mut expected = BTreeSet::from(["src/a.txt".to_owned()]);
    for (number, response) in responses {
        assert!(matches!(response.status, 201 | 409), "{}", response.text);
        if response.status == 201 {
            expected.insert(name(number));
        }
    }
    if is_pushed {
        expected.insert("pushed.txt".to_owned());
    }
    assert!(expected.len() > 2, "{expected:?}");
    let (cloned, tree) = WorkTree::clone(&url, &["-b", "work"]).await;
    cloned.ok();
    let listed = tree.git(["ls-files"]).await.ok();
    assert_eq!(listed.stdout.lines().map(str::to_owned).collect::<BTreeSet<_>>(), expected);
}

#[tokio::test]
async fn a_cherry_pick_keeps_the_author_and_reports_conflicts() {
    let fixture = Fixture::new().await;
    let picked = fixture.tree.commit("b.txt", b"b\n", "add b").await;
    let conflicting = fixture.tree.commit("src/a.txt", b"main\n", "change a").await;
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main"]).await.ok();
    let pick = async |id: &str| {
        let path = format!("{}/commits/{id}/cherry_pick", fixture.path);
        fixture.bob.post(&path, &[("branch", "work")]).await
    };
    let created = pick(&picked).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!((&created.body["title"], &created.body["committer_name"]), (&json!("add b"), &json!("User bob")));
    assert_ne!(created.body["author_name"], "User bob");
    let message = |text: &str| json!({ "message": text });
    assert_eq!(
        pick(&picked).await.status_and_body(),
        (400, &message("The branch has the changes of this commit already"))
    );
    let action = json!({"action": "update", "file_path": "src/a.txt", "content": "work\n"});
    assert_eq!(fixture.commit(&fixture.bob, "work", json!([action])).await.status, 201);
    let tip = fixture.tip("work").await;
    assert_eq!(
        pick(&conflicting).await.status_and_body(),
        (400, &message("The commit conflicts with the branch in src/a.txt"))
    );
    assert_eq!(fixture.tip("work").await, tip);
}

#[tokio::test]
async fn a_cherry_pick_of_version_4_takes_a_message_and_rejects_a_dry_run() {
    let fixture = Fixture::new().await;
    let picked = fixture.tree.commit("b.txt", b"b\n", "add b").await;
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main"]).await.ok();
    let tip = fixture.tip("work").await;
    let path = format!("/api/v4{}/commits/{picked}/cherry_pick", fixture.path);
    let refused = fixture.bob.post(&path, &[("branch", "work"), ("dry_run", "true")]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({"error": "dry_run is not supported"})));
    assert_eq!(fixture.tip("work").await, tip);
    let form = [("branch", "work"), ("dry_run", "false"), ("message", "another message")];
    let created = fixture.bob.post(&path, &form).await;
    assert_eq!((created.status, &created.body["message"]), (201, &json!("another message\n")), "{}", created.text);
    assert_eq!(fixture.tip("work").await, created.body["id"]);
}
