//! Discussions of merge requests: they follow their line through versions, and can be resolved.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use crate::projects::add_member;

/// A public project `ada/p` with a merge request of `topic` into `main`. Bob is a developer, Eve is no member.
struct Fixture {
    server: Server,
    ada: Client,
    bob: Client,
    eve: Client,
    tree: WorkTree,
    api: String,
    request: String,
}

/// Numbered lines, of which some are replaced.
fn text(changes: &[(usize, &str)]) -> String {
    let line = |number: usize| {
        let changed = changes.iter().find(|(changed, _)| *changed == number).map(|(_, text)| (*text).to_owned());
        changed.unwrap_or_else(|| format!("line {number}\n"))
    };
    (1..=20).map(line).collect()
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (bob_id, bob) = server.user("bob").await;
        let (_, eve) = server.user("eve").await;
        let api = format!("/projects/{}", server.project(&ada, "p", 20).await);
        add_member(&ada, &api, bob_id.get(), 30).await;
        let tree = WorkTree::new().await;
        tree.commit("a.txt", text(&[]).as_bytes(), "first").await;
        let url = server.git_url(&ada, "ada/p");
        tree.push(&url, &["main"]).await.ok();
        tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
        tree.commit("a.txt", text(&[(10, "changed\n")]).as_bytes(), "second").await;
        tree.push(&url, &["topic"]).await.ok();
        let form = [("title", "t"), ("source_branch", "topic"), ("target_branch", "main")];
        let created = ada.post(&format!("{api}/merge_requests"), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let request = format!("{api}/merge_requests/{}", created.body["id"]);
        Self { server, ada, bob, eve, tree, api, request }
    }

    async fn push(&self, path: &str, content: &str) {
        self.tree.commit(path, content.as_bytes(), "another").await;
        self.push_topic().await;
    }

    async fn push_topic(&self) {
        self.tree.push(&self.server.git_url(&self.ada, "ada/p"), &["+topic"]).await.ok();
        self.server.run_jobs().await;
    }

    async fn start(&self, line: &str, side: &str) -> Value {
        let form = [("body", "Why?"), ("path", "a.txt"), ("line", line), ("side", side)];
        let created = self.eve.post(&format!("{}/discussions", self.request), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        created.body
    }

    /// Returns where the line of a discussion is now: its path and number, or whether it is gone.
    async fn current(&self, discussion: &Value) -> Value {
        let path = format!("{}/discussions/{}", self.request, discussion["id"]);
        let found = self.ada.get(&path).await.body;
        // The stored result is the same as the computed one, and so is that of the list.
        assert_eq!(self.ada.get(&path).await.body, found);
        let list = self.ada.get(&format!("{}/discussions", self.request)).await.body;
        assert!(list.as_array().unwrap().contains(&found));
        match &found["current_position"] {
            Value::Null => found["outdated"].clone(),
            position => json!([position["path"], position["line"]]),
        }
    }
}

#[tokio::test]
async fn discussions_follow_their_line() {
    let fixture = Fixture::new().await;
    let changed = fixture.start("10", "new").await;
    let context = fixture.start("12", "new").await;
    let removed = fixture.start("10", "old").await;
    assert_eq!(changed["position"]["side"], "new");
    assert_eq!(changed["current_position"], changed["position"]);
    let first_version = changed["position"]["version_id"].clone();
    // Three lines before it, and the second line after it is edited.
    fixture.push("a.txt", &text(&[(1, "a\nb\nc\nline 1\n"), (10, "changed\n"), (12, "edited\n")])).await;
    assert_eq!(fixture.current(&changed).await, json!(["a.txt", 13]));
    assert_eq!(fixture.current(&context).await, json!(true));
    assert_eq!(fixture.current(&removed).await, json!(["a.txt", 10]));
    // The original line comes back: discussions follow from their own version, not from the one before.
    fixture.tree.git(["mv", "a.txt", "b.txt"]).await.ok();
    fixture.push("b.txt", &text(&[(2, ""), (10, "changed\n")])).await;
    assert_eq!(fixture.current(&changed).await, json!(["b.txt", 9]));
    assert_eq!(fixture.current(&context).await, json!(["b.txt", 11]));
    fixture.tree.git(["rm", "-q", "b.txt"]).await.ok();
    fixture.push("c.txt", "nothing in common\n").await;
    assert_eq!(fixture.current(&changed).await, json!(true));
    // A forced push back to the first version.
    fixture.tree.git(["reset", "-q", "--hard", "HEAD~3"]).await.ok();
    fixture.push_topic().await;
    assert_eq!(fixture.current(&changed).await, json!(["a.txt", 10]));
    let found = fixture.ada.get(&format!("{}/discussions/{}", fixture.request, changed["id"])).await.body;
    assert_eq!(found["position"]["version_id"], first_version);
    assert_ne!(found["current_position"]["version_id"], first_version);
    // The target branch gets two lines before the removed one, and the source branch is rebased: the base moves.
    fixture.tree.git(["checkout", "-q", "main"]).await.ok();
    fixture.tree.commit("a.txt", text(&[(1, "x\ny\nline 1\n")]).as_bytes(), "target").await;
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main"]).await.ok();
    fixture.tree.git(["checkout", "-q", "topic"]).await.ok();
    fixture.tree.git(["rebase", "-q", "main"]).await.ok();
    fixture.push_topic().await;
    assert_eq!(fixture.current(&removed).await, json!(["a.txt", 12]));
    assert_eq!(fixture.current(&changed).await, json!(["a.txt", 12]));
}

#[tokio::test]
async fn a_discussion_needs_an_existing_line() {
    let fixture = Fixture::new().await;
    let path = format!("{}/discussions", fixture.request);
    for form in [
        &[("path", "a.txt"), ("line", "21")][..],
        &[("path", "a.txt"), ("line", "0")],
        &[("path", "a.txt"), ("line", "-1")],
        &[("path", "missing.txt"), ("line", "1")],
        &[("path", "../a.txt"), ("line", "1")],
        &[("path", "a.txt"), ("line", "1"), ("version_id", "0")],
        &[("path", "a.txt")],
        &[("line", "1")],
    ] {
        let form: Vec<_> = [("body", "b")].iter().chain(form).copied().collect();
        assert_eq!(fixture.ada.post(&path, &form).await.status, 400, "{form:?}");
    }
    assert_eq!(fixture.ada.get(&path).await.body, json!([]));
    assert_eq!(fixture.ada.get(&format!("{}/notes", fixture.request)).await.body, json!([]));
}

#[tokio::test]
async fn discussions_are_resolved_by_developers_and_the_author() {
    let fixture = Fixture::new().await;
    let started = fixture.eve.post(&format!("{}/discussions", fixture.request), &[("body", "In general?")]).await.body;
    assert_eq!((&started["position"], &started["resolved"]), (&Value::Null, &json!(false)));
    let path = format!("{}/discussions/{}", fixture.request, started["id"]);
    assert_eq!(fixture.eve.put(&path, &[("resolved", "true")]).await.status, 403);
    let resolved = fixture.bob.put(&path, &[("resolved", "true")]).await;
    assert_eq!((resolved.status, &resolved.body["resolved_by"]["username"]), (200, &json!("bob")));
    // Who resolved it first stays, and a reply does not open it again.
    let again = fixture.ada.put(&path, &[("resolved", "true")]).await;
    assert_eq!(again.body["resolved_by"]["username"], "bob");
    let reply = fixture.eve.post(&format!("{path}/notes"), &[("body", "Thanks")]).await;
    assert_eq!(reply.status, 201);
    let found = fixture.ada.get(&path).await.body;
    assert_eq!((&found["resolved"], found["notes"].as_array().unwrap().len()), (&json!(true), 2));
    let opened = fixture.ada.put(&path, &[("resolved", "false")]).await.body;
    assert_eq!((&opened["resolved"], &opened["resolved_by"]), (&json!(false), &Value::Null));
    // Its notes are notes of the merge request, and with the last one the discussion is gone.
    let notes = fixture.ada.get(&format!("{}/notes", fixture.request)).await.body;
    for note in notes.as_array().unwrap() {
        assert_eq!(fixture.ada.get(&path).await.status, 200);
        let note = format!("{}/notes/{}", fixture.request, note["id"]);
        assert_eq!(fixture.ada.delete(&note).await.status, 200);
    }
    assert_eq!(fixture.ada.get(&path).await.status, 404);
}

/// Ids of other merge requests are not found.
#[tokio::test]
async fn discussions_and_versions_belong_to_their_request() {
    let fixture = Fixture::new().await;
    let discussion = fixture.start("10", "new").await;
    let (id, version) = (&discussion["id"], &discussion["position"]["version_id"]);
    let form = [("title", "t"), ("source_branch", "main"), ("target_branch", "topic")];
    let other = fixture.ada.post(&format!("{}/merge_requests", fixture.api), &form).await.body["id"].clone();
    let other = format!("{}/merge_requests/{other}", fixture.api);
    let own = fixture.ada.get(&format!("{other}/versions")).await.body[0]["id"].clone();
    assert_eq!(fixture.ada.get(&format!("{other}/discussions/{id}")).await.status, 404);
    assert_eq!(fixture.ada.put(&format!("{other}/discussions/{id}"), &[("resolved", "true")]).await.status, 404);
    assert_eq!(fixture.ada.post(&format!("{other}/discussions/{id}/notes"), &[("body", "b")]).await.status, 404);
    assert_eq!(fixture.ada.get(&format!("{other}/versions/{own}/range_diff?from={version}")).await.status, 404);
    assert_eq!(fixture.ada.get(&format!("{other}/versions/{version}/range_diff?from={own}")).await.status, 404);
    let version = version.to_string();
    let form = [("body", "b"), ("path", "a.txt"), ("line", "1"), ("version_id", version.as_str())];
    assert_eq!(fixture.ada.post(&format!("{other}/discussions"), &form).await.status, 400);
    assert_eq!(fixture.ada.get(&format!("{other}/discussions")).await.body, json!([]));
}

#[tokio::test]
async fn versions_are_compared_commit_by_commit() {
    let fixture = Fixture::new().await;
    fixture.push("b.txt", "b\n").await;
    // The first commit is rewritten, the second one stays, and a third one is added.
    fixture.tree.git(["reset", "-q", "--hard", "main"]).await.ok();
    fixture.tree.commit("a.txt", text(&[(10, "changed again\n")]).as_bytes(), "second").await;
    fixture.tree.commit("b.txt", b"b\n", "another").await;
    fixture.tree.commit("c.txt", b"c\n", "third").await;
    fixture.push_topic().await;
    let versions = fixture.ada.get(&format!("{}/versions", fixture.request)).await.body;
    let ids: Vec<&Value> = versions.as_array().unwrap().iter().map(|it| &it["id"]).collect();
    let [newest, middle, first] = ids[..] else { panic!("{versions}") };
    let path = format!("{}/versions/{newest}/range_diff?from={middle}", fixture.request);
    let found = fixture.eve.get(&path).await.body;
    let pairs = found["pairs"].as_array().unwrap();
    let statuses: Vec<_> =
        pairs.iter().map(|it| (it["title"].as_str().unwrap(), it["status"].as_str().unwrap())).collect();
    assert_eq!(statuses, [("second", "changed"), ("another", "unchanged"), ("third", "added")]);
    assert!(pairs[0]["diff"].as_str().unwrap().contains("changed again"));
    assert_eq!(pairs[2]["old_commit_sha"], Value::Null);
    let back = fixture.eve.get(&format!("{}/versions/{first}/range_diff?from={middle}", fixture.request)).await.body;
    assert_eq!(back["pairs"][1]["status"], "removed");
}

/// Each reason is listed while it is there, and accepting fails for the same reasons.
#[tokio::test]
async fn the_reasons_why_a_request_cannot_be_merged_are_listed() {
    let fixture = Fixture::new().await;
    let blockers = async |client: &Client| {
        let found = client.get(&format!("{}/blockers", fixture.request)).await;
        assert_eq!(found.status, 200, "{}", found.text);
        let names = found.body.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let merge = format!("{}/merge", fixture.request);
    assert_eq!(blockers(&fixture.ada).await, [] as [&str; 0]);
    assert_eq!(blockers(&fixture.eve).await, ["not_allowed"]);
    let discussion = fixture.start("10", "new").await;
    assert_eq!(blockers(&fixture.ada).await, [] as [&str; 0]);
    let rule = [("only_allow_merge_if_all_discussions_are_resolved", "true")];
    assert_eq!(fixture.ada.put(&fixture.api, &rule).await.status, 200);
    assert_eq!(fixture.ada.put(&fixture.request, &[("title", "WIP: t")]).await.status, 200);
    assert_eq!(blockers(&fixture.ada).await, ["work_in_progress", "unresolved_discussions"]);
    assert_eq!(fixture.ada.put(&merge, &[]).await.status, 405);
    assert_eq!(fixture.ada.put(&fixture.request, &[("title", "t")]).await.status, 200);
    assert_eq!(blockers(&fixture.ada).await, ["unresolved_discussions"]);
    assert_eq!(fixture.ada.put(&merge, &[]).await.status, 405);
    let path = format!("{}/discussions/{}", fixture.request, discussion["id"]);
    assert_eq!(fixture.ada.put(&path, &[("resolved", "true")]).await.status, 200);
    assert_eq!(blockers(&fixture.ada).await, [] as [&str; 0]);
    fixture.tree.git(["checkout", "-q", "main"]).await.ok();
    fixture.tree.commit("a.txt", text(&[(10, "otherwise\n")]).as_bytes(), "target").await;
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main"]).await.ok();
    let found = fixture.ada.get(&format!("{}/blockers", fixture.request)).await.body;
    assert_eq!((&found[0]["name"], &found[0]["paths"]), (&json!("conflicts"), &json!(["a.txt"])));
    assert_eq!(fixture.ada.put(&merge, &[]).await.status, 406);
    fixture.tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &[":topic"]).await.ok();
    assert!(blockers(&fixture.ada).await.contains(&"no_source_branch".to_owned()));
    assert_eq!(fixture.ada.put(&merge, &[]).await.status, 405);
    assert_eq!(fixture.ada.put(&fixture.request, &[("state_event", "close")]).await.status, 200);
    assert_eq!(blockers(&fixture.ada).await, ["not_open"]);
}

/// Lists contain all notes of a discussion, so its size is limited, also when notes are edited.
#[tokio::test]
async fn the_size_of_a_discussion_is_limited() {
    let fixture = Fixture::new().await;
    let started = fixture.start("10", "new").await;
    let path = format!("{}/discussions/{}", fixture.request, started["id"]);
    let long = "x".repeat(60 << 10);
    let replies = format!("{path}/notes");
    let first = fixture.eve.post(&replies, &[("body", long.as_str())]).await;
    assert_eq!((first.status, fixture.eve.post(&replies, &[("body", long.as_str())]).await.status), (201, 201));
    let rejected = fixture.eve.post(&replies, &[("body", long.as_str())]).await;
    assert_eq!(rejected.status, 400);
    assert!(rejected.text.contains("start another one"), "{}", rejected.text);
    assert_eq!(fixture.eve.post(&replies, &[("body", "short")]).await.status, 201);
    let note = format!("{}/notes/{}", fixture.request, started["notes"][0]["id"]);
    assert_eq!(fixture.eve.put(&note, &[("body", long.as_str())]).await.status, 400);
    assert_eq!(fixture.eve.put(&note, &[("body", "Why not?")]).await.status, 200);
    assert_eq!(fixture.ada.get(&path).await.body["notes"].as_array().unwrap().len(), 4);
}

/// A stranger may read a merge request, but not the status of pipelines that the project hides.
#[tokio::test]
async fn hidden_pipelines_are_no_listed_reason() {
    let fixture = Fixture::new().await;
    let head = fixture.ada.get(&fixture.request).await.body["sha"].as_str().unwrap().to_owned();
    let form = [("state", "failed"), ("ref", "topic")];
    assert_eq!(fixture.ada.post(&format!("{}/statuses/{head}", fixture.api), &form).await.status, 201);
    let rules = [("only_allow_merge_if_build_succeeds", "true"), ("public_builds", "false")];
    assert_eq!(fixture.ada.put(&fixture.api, &rules).await.status, 200);
    let names = async |client: &Client| {
        let found = client.get(&format!("{}/blockers", fixture.request)).await.body;
        found.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&fixture.ada).await, ["pipeline"]);
    assert_eq!(names(&fixture.eve).await, ["not_allowed"]);
}

/// A merge that waits for its pipeline is made when the last discussion is resolved or deleted, if that was the only
/// obstacle left.
#[tokio::test]
async fn the_end_of_the_last_discussion_continues_a_waiting_merge() {
    for is_deleted in [false, true] {
        continue_after_discussion(is_deleted).await;
    }
}

async fn continue_after_discussion(is_deleted: bool) {
    let fixture = Fixture::new().await;
    let head = fixture.ada.get(&fixture.request).await.body["sha"].as_str().unwrap().to_owned();
    let statuses = format!("{}/statuses/{head}", fixture.api);
    assert_eq!(fixture.ada.post(&statuses, &[("state", "running"), ("ref", "topic")]).await.status, 201);
    let rule = [("only_allow_merge_if_all_discussions_are_resolved", "true")];
    assert_eq!(fixture.ada.put(&fixture.api, &rule).await.status, 200);
    let form = [("merge_when_build_succeeds", "true")];
    fixture.server.run_jobs().await;
    let waiting = fixture.ada.put(&format!("{}/merge", fixture.request), &form).await;
    assert_eq!((waiting.status, &waiting.body["merge_when_build_succeeds"]), (200, &json!(true)), "{}", waiting.text);
    let discussion = fixture.start("10", "new").await;
    assert_eq!(fixture.ada.post(&statuses, &[("state", "success"), ("ref", "topic")]).await.status, 201);
    fixture.server.run_jobs().await;
    assert_eq!(fixture.ada.get(&fixture.request).await.body["state"], "opened");
    let ended = match is_deleted {
        true => fixture.ada.delete(&format!("{}/notes/{}", fixture.request, discussion["notes"][0]["id"])).await,
        false => {
            let path = format!("{}/discussions/{}", fixture.request, discussion["id"]);
            fixture.ada.put(&path, &[("resolved", "true")]).await
        }
    };
    assert_eq!(ended.status, 200, "{}", ended.text);
    fixture.server.run_jobs().await;
    assert_eq!(fixture.ada.get(&fixture.request).await.body["state"], "merged", "deleted: {is_deleted}");
}
