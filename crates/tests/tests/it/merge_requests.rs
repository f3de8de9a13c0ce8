//! Merge requests: merged exactly once, updated by pushes, and independent of the forks that they come from.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use futures_util::future::join_all;
use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, RepackScope};
use holdfast_tests::{Client, Server, TestResponse, WorkTree, database};
use serde_json::{Value, json};
use sqlx::Executor;

use crate::projects::add_member;

/// A public project `ada/p` with a branch `topic` that is one commit ahead of `main`. Bob is a developer, Eve is no
/// member.
struct Fixture {
    server: Server,
    ada: Client,
    bob: Client,
    eve: Client,
    tree: WorkTree,
    api: String,
    project: i64,
    first: String,
    topic: String,
}

impl Fixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (bob_id, bob) = server.user("bob").await;
        let (_, eve) = server.user("eve").await;
        let project = server.project(&ada, "p", 20).await;
        let api = format!("/projects/{project}");
        add_member(&ada, &api, bob_id.get(), 30).await;
        let tree = WorkTree::new().await;
        let first = tree.commit("a.txt", b"one\n", "first").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
        tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
        let topic = tree.commit("b.txt", b"two\n", "second").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["topic"]).await.ok();
        Self { server, ada, bob, eve, tree, api, project, first, topic }
    }

    fn url(&self) -> String {
        self.server.git_url(&self.ada, "ada/p")
    }

    async fn propose(&self, source: &str, target: &str) -> String {
        let form = [("title", "t"), ("source_branch", source), ("target_branch", target)];
        let created = self.ada.post(&format!("{}/merge_requests", self.api), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        format!("{}/merge_requests/{}", self.api, created.body["id"])
    }

    /// Forks the project for Eve. Returns the id of the fork and the address of its repository.
    async fn fork(&self) -> (i64, String) {
        let forked = self.eve.post(&format!("/projects/fork/{}", self.project), &[("namespace", "eve")]).await;
        assert_eq!(forked.status, 201, "{}", forked.text);
        (forked.body["id"].as_i64().unwrap(), self.server.git_url(&self.eve, "eve/p"))
    }

    /// Proposes a branch of Eve's fork for `main`. Returns the address of the request and its head.
    async fn propose_from_fork(&self, fork: i64, branch: &str) -> (String, Value) {
        let target = self.project.to_string();
        let form =
            [("title", "t"), ("source_branch", branch), ("target_branch", "main"), ("target_project_id", &target)];
        let created = self.eve.post(&format!("/projects/{fork}/merge_requests"), &form).await;
        assert_eq!(created.status, 201, "{}", created.text);
        (format!("{}/merge_requests/{}", self.api, created.body["id"]), created.body["sha"].clone())
    }

    async fn state(&self, request: &str) -> Value {
        self.ada.get(request).await.body["state"].clone()
    }

    async fn tip(&self, branch: &str) -> String {
        let found = self.ada.get(&format!("{}/repository/branches/{branch}", self.api)).await;
        found.body["commit"]["id"].as_str().unwrap_or_default().to_owned()
    }

    async fn accept(&self, node: &str, request: &str, form: &[(&str, &str)]) -> TestResponse {
        let client = if node.is_empty() { self.ada.clone() } else { self.ada.for_node(node) };
        client.put(&format!("{request}/merge"), form).await
    }

    /// Returns the numbers of rows about merges: events in the feed, and events for hooks.
    async fn count_merges(&self) -> (i64, i64) {
        let mut database = self.server.database().await;
        let events = sqlx::query_scalar("select count(*) from events where subject_kind = 2 and action = 7");
        let outbox = sqlx::query_scalar("select count(*) from outbox where payload ->> 'action' = 'merge'");
        (events.fetch_one(&mut database).await.unwrap(), outbox.fetch_one(&mut database).await.unwrap())
    }

    /// Returns how many merge commits a branch has.
    async fn count_merge_commits(&self, branch: &str) -> usize {
        self.tree.git(["fetch", "-q", &self.url(), branch]).await.ok();
        let merges = self.tree.git(["rev-list", "--merges", "FETCH_HEAD"]).await.ok();
        merges.stdout.lines().count()
    }
}

/// Many clients accept the same request on three nodes. One of them merges it.
#[tokio::test]
async fn a_request_is_merged_exactly_once() {
    let fixture = Fixture::new().await;
    let request = fixture.propose("topic", "main").await;
    let nodes = [String::new(), fixture.server.another_node().await, fixture.server.another_node().await];
    let accepts = (0..20).map(|number| fixture.accept(&nodes[number % 3], &request, &[]));
    let responses = join_all(accepts).await;
    let merged: BTreeSet<String> =
        responses.iter().filter(|it| it.status == 200).map(|it| it.body["merge_commit_sha"].to_string()).collect();
    assert!(responses.iter().all(|it| matches!(it.status, 200 | 405 | 409)));
    assert_eq!(responses.iter().filter(|it| it.status == 200).count(), 1);
    assert_eq!(merged, BTreeSet::from([json!(fixture.tip("main").await).to_string()]));
    assert_eq!(fixture.count_merge_commits("main").await, 1);
    assert_eq!(fixture.count_merges().await, (1, 1));
    fixture.server.run_jobs().await;
    assert_eq!(fixture.count_merges().await, (1, 1));
    assert_eq!(fixture.state(&request).await, "merged");
}

/// Several requests into one branch are accepted at once on three nodes, while others push to it.
#[tokio::test]
async fn concurrent_merges_into_a_branch_are_all_kept() {
    let fixture = Fixture::new().await;
    let nodes = [String::new(), fixture.server.another_node().await, fixture.server.another_node().await];
    let mut requests = Vec::new();
    for number in 0..6 {
        let branch = format!("b{number}");
        fixture.tree.git(["checkout", "-q", "-B", &branch, &fixture.first]).await.ok();
        fixture.tree.commit(&format!("{branch}.txt"), b"x\n", &branch).await;
        fixture.tree.push(&fixture.url(), &[&branch]).await.ok();
        requests.push(fixture.propose(&branch, "main").await);
    }
    let accepts = requests.iter().zip(nodes.iter().cycle()).map(|(it, node)| fixture.accept(node, it, &[]));
    let responses = join_all(accepts).await;
    let done = responses.iter().filter(|it| it.status == 200).count();
    assert!(done > 0 && responses.iter().all(|it| matches!(it.status, 200 | 409)));
    assert_eq!(fixture.count_merge_commits("main").await, done);
    let tree = fixture.ada.get(&format!("{}/repository/tree", fixture.api)).await;
    let files: Vec<&str> = tree.body.as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    for (number, (request, response)) in requests.iter().zip(&responses).enumerate() {
        let is_merged = response.status == 200;
        assert_eq!(fixture.state(request).await, if is_merged { "merged" } else { "opened" });
        assert_eq!(files.contains(&format!("b{number}.txt").as_str()), is_merged);
    }
}

/// The head that the client has seen is compared under the lock: what is pushed at the same time is never merged unseen.
#[tokio::test]
async fn a_push_during_the_merge_is_not_merged_unseen() {
    let fixture = Fixture::new().await;
    for round in 0..4 {
        let (source, target) = (format!("s{round}"), format!("t{round}"));
        let refs = [format!("topic:refs/heads/{source}"), format!("main:refs/heads/{target}")];
        fixture.tree.push(&fixture.url(), &[&refs[0], &refs[1]]).await.ok();
        let request = fixture.propose(&source, &target).await;
        fixture.tree.git(["checkout", "-q", "-B", "later", &fixture.topic]).await.ok();
        let later = fixture.tree.commit(&format!("later{round}.txt"), b"x\n", "later").await;
        let push = format!("later:refs/heads/{source}");
        let form = [("sha", fixture.topic.as_str())];
        let url = fixture.url();
        let refs = [push.as_str()];
        let (accepted, pushed) = tokio::join!(fixture.accept("", &request, &form), fixture.tree.push(&url, &refs));
        pushed.ok();
        assert!(matches!(accepted.status, 200 | 409), "{}", accepted.text);
        fixture.tree.git(["fetch", "-q", &url, &target]).await.ok();
        let contains = fixture.tree.git(["merge-base", "--is-ancestor", &later, "FETCH_HEAD"]).await;
        contains.expect_failure();
        assert_eq!(fixture.tip(&target).await != fixture.first, accepted.status == 200);
    }
}

/// Like the test above, without the id of the head, and with a deletion of the source branch, which the push makes
/// impossible: the attempts after the first one do not merge what was pushed.
#[tokio::test]
async fn a_push_during_a_merge_without_the_head_is_a_conflict() {
    let fixture = Fixture::new().await;
    let request = fixture.propose("topic", "main").await;
    for form in [&[("should_remove_source_branch", "true")][..], &[]] {
        let head = fixture.tip("topic").await;
        let (mut blocking, mut observer) = (fixture.server.database().await, fixture.server.database().await);
        blocking.execute("begin; select id from merge_requests for no key update").await.unwrap();
        let accept = {
            let (ada, path) = (fixture.ada.clone(), format!("{request}/merge"));
            tokio::spawn(async move { ada.put(&path, form).await })
        };
        database::wait_for_blocked(&mut observer, 1).await;
        fixture.tree.git(["checkout", "-q", "-B", "topic", &head]).await.ok();
        let later = fixture.tree.commit(&format!("later{}.txt", form.len()), b"x\n", "later").await;
        fixture.tree.push(&fixture.url(), &["topic"]).await.ok();
        blocking.execute("commit").await.unwrap();
        let accepted = accept.await.unwrap();
        let message = format!("SHA does not match HEAD of source branch: {later}");
        assert_eq!(accepted.status_and_body(), (409, &json!({ "message": message })), "{form:?}");
        assert_eq!((fixture.tip("main").await, fixture.tip("topic").await), (fixture.first.clone(), later));
        assert_eq!(fixture.state(&request).await, "opened");
    }
}

/// A push that already brought the head into the target branch does not keep the source branch.
#[tokio::test]
async fn the_source_branch_of_a_merged_head_is_deleted() {
    let fixture = Fixture::new().await;
    let request = fixture.propose("topic", "main").await;
    fixture.tree.push(&fixture.url(), &["topic:refs/heads/main"]).await.ok();
    let accepted = fixture.accept("", &request, &[("should_remove_source_branch", "true")]).await;
    assert_eq!((accepted.status, &accepted.body["state"]), (200, &json!("merged")), "{}", accepted.text);
    assert_eq!(fixture.ada.get(&format!("{}/repository/branches/topic", fixture.api)).await.status, 404);
    assert_eq!(fixture.tip("main").await, fixture.topic);
}

/// A push marks the requests as merged that it merged, and not those that were opened after it.
#[tokio::test]
async fn a_push_does_not_merge_a_request_that_was_opened_after_it() {
    let fixture = Fixture::new().await;
    fixture.tree.push(&fixture.url(), &["topic:refs/heads/same"]).await.ok();
    let earlier = fixture.propose("topic", "main").await;
    fixture.tree.push(&fixture.url(), &["topic:refs/heads/main"]).await.ok();
    let later = fixture.propose("same", "main").await;
    fixture.server.run_jobs().await;
    assert_eq!(fixture.state(&earlier).await, "merged");
    assert_eq!(fixture.state(&later).await, "opened");
    assert_eq!(fixture.count_merges().await, (1, 1));
}

/// A skipped pipeline never succeeds: nobody waits for it.
#[tokio::test]
async fn a_merge_does_not_wait_for_a_skipped_pipeline() {
    let fixture = Fixture::new().await;
    let file = b"one:\n  script: [\"true\"]\n";
    fixture.tree.commit(".gitlab-ci.yml", file, "Add builds [ci skip]").await;
    fixture.tree.push(&fixture.url(), &["topic"]).await.ok();
    fixture.server.run_jobs().await;
    let pipelines = fixture.ada.get(&format!("{}/pipelines", fixture.api)).await;
    assert_eq!(pipelines.body[0]["status"], "skipped", "{}", pipelines.text);
    let request = fixture.propose("topic", "main").await;
    let accepted = fixture.accept("", &request, &[("merge_when_build_succeeds", "true")]).await;
    assert_eq!((accepted.status, &accepted.body["state"]), (200, &json!("merged")), "{}", accepted.text);
}

/// Whoever may not merge is told so at once, and not after the pipeline was created.
#[tokio::test]
async fn a_waiting_merge_needs_the_right_to_merge() {
    let fixture = Fixture::new().await;
    let file = b"one:\n  script: [\"true\"]\n";
    fixture.tree.commit(".gitlab-ci.yml", file, "Add builds").await;
    fixture.tree.push(&fixture.url(), &["topic"]).await.ok();
    // The job that creates the pipeline has not run.
    let request = fixture.propose("topic", "main").await;
    let form = [("merge_when_build_succeeds", "true")];
    let before = fixture.server.dump_database().await;
    assert_eq!(fixture.bob.put(&format!("{request}/merge"), &form).await.status, 401);
    assert_eq!(fixture.server.dump_database().await, before);
}

/// A push adds the version of the request itself: no job is needed to see it, or to merge it.
#[tokio::test]
async fn a_push_adds_a_version_and_force_pushed_versions_survive_a_prune() {
    let fixture = Fixture::new().await;
    let request = fixture.propose("topic", "main").await;
    fixture.tree.git(["checkout", "-q", "-B", "topic", &fixture.first]).await.ok();
    let replaced = fixture.tree.commit("c.txt", b"three\n", "replaced").await;
    let opened = fixture.ada.get(&request).await;
    fixture.server.advance(TimeDelta::hours(1));
    fixture.tree.push(&fixture.url(), &["+topic"]).await.ok();
    assert_eq!(fixture.ada.get(&request).await.body["sha"], replaced);
    // Clients that poll with `updated_after` learn of the push.
    fixture.server.run_jobs().await;
    assert_ne!(fixture.ada.get(&request).await.body["updated_at"], opened.body["updated_at"]);
    // Without the request, these commits would be pruned.
    let project = ProjectRef::Id(fixture.project.into());
    maintenance::maintain(&fixture.server.app, &Actor::Operator, &project, RepackScope::Full).await.unwrap();
    for _ in 0..2 {
        fixture.server.advance(TimeDelta::days(40));
        crate::jobs::sweep(&fixture.server).await;
        fixture.server.run_jobs().await;
    }
    let versions = fixture.ada.get(&format!("{request}/versions")).await;
    let heads: Vec<&Value> =
        versions.body.as_array().unwrap().iter().map(|version| &version["head_commit_sha"]).collect();
    assert_eq!(heads, [&json!(replaced), &json!(fixture.topic)], "{}", versions.text);
    let old = fixture.ada.get(&format!("{request}/versions/{}", versions.body[1]["id"])).await;
    assert_eq!(
        (&old.body["diffs"][0]["new_path"], &old.body["commits"][0]["id"]),
        (&json!("b.txt"), &json!(fixture.topic))
    );
    let notes = fixture.ada.get(&format!("{request}/notes")).await;
    assert!(notes.body[0]["body"].as_str().unwrap().starts_with("added 1 commit"), "{}", notes.text);
}

/// Clients fetch the head of a request by its number, and any head by its id. An ordinary fetch does not list requests.
#[tokio::test]
async fn git_fetches_heads_of_requests() {
    let fixture = Fixture::new().await;
    let request = fixture.propose("topic", "main").await;
    let listed = async |patterns: &[&str]| {
        let url = fixture.url();
        let arguments = ["ls-remote", &url].into_iter().chain(patterns.iter().copied());
        fixture.tree.git(arguments).await.ok().stdout
    };
    let all = listed(&[]).await;
    assert!(all.contains("refs/heads/topic") && !all.contains("merge-requests"), "{all}");
    fixture.ada.delete(&format!("{}/repository/branches/topic", fixture.api)).await;
    let (cloned, other) = WorkTree::clone(&fixture.url(), &[]).await;
    cloned.ok();
    other.git(["cat-file", "-e", &fixture.topic]).await.expect_failure();
    other.git(["fetch", "-q", "origin", "refs/merge-requests/1/head"]).await.ok();
    assert_eq!(other.git(["rev-parse", "FETCH_HEAD"]).await.ok().line(), fixture.topic);
    other.git(["fetch", "-q", "origin", "refs/merge-requests/*/head:refs/remotes/origin/mr/*"]).await.ok();
    assert_eq!(other.git(["rev-parse", "origin/mr/1"]).await.ok().line(), fixture.topic);
    other.git(["fetch", "-q", "origin", "refs/merge-requests/2/head"]).await.expect_failure();
    let (cloned, third) = WorkTree::clone(&fixture.url(), &[]).await;
    cloned.ok();
    third.git(["fetch", "-q", "origin", &fixture.topic]).await.ok();
    let pushed = fixture.tree.push(&fixture.url(), &["main:refs/merge-requests/1/head"]).await.expect_failure();
    assert!(pushed.stderr.contains("this ref namespace is reserved"), "{}", pushed.stderr);
    assert_eq!(fixture.ada.delete(&request).await.status, 200);
    let (cloned, fourth) = WorkTree::clone(&fixture.url(), &[]).await;
    cloned.ok();
    fourth.git(["fetch", "-q", "origin", &fixture.topic]).await.expect_failure();
}

/// During an upgrade, a node of an older version may receive a push, which then adds no version.
#[tokio::test]
async fn a_missing_version_is_added_before_the_merge() {
    let fixture = Fixture::new().await;
    let request = fixture.propose("topic", "main").await;
    fixture.tree.git(["checkout", "-q", "topic"]).await.ok();
    let later = fixture.tree.commit("c.txt", b"three\n", "third").await;
    fixture.tree.push(&fixture.url(), &["topic"]).await.ok();
    let delete = "delete from merge_request_versions where number = 2";
    sqlx::query(delete).execute(&mut fixture.server.database().await).await.unwrap();
    assert_eq!(fixture.accept("", &request, &[("sha", &fixture.topic)]).await.status, 409);
    let accepted = fixture.accept("", &request, &[("sha", &later)]).await;
    assert_eq!((accepted.status, &accepted.body["sha"]), (200, &json!(later)), "{}", accepted.text);
}

/// The commits of a request from a private fork belong to the target project, whatever happens to the fork. Other
/// branches of the fork are not copied.
#[tokio::test]
async fn a_request_survives_its_fork_and_copies_only_its_branch() {
    let fixture = Fixture::new().await;
    let (fork, url) = fixture.fork().await;
    fixture.eve.put(&format!("/projects/{fork}"), &[("visibility_level", "0")]).await;
    fixture.tree.git(["checkout", "-q", "-b", "offer", &fixture.first]).await.ok();
    let offer = fixture.tree.commit("offer.txt", b"offer\n", "offer").await;
    fixture.tree.git(["checkout", "-q", "-b", "secret", &fixture.first]).await.ok();
    let secret = fixture.tree.commit("secret.txt", b"secret\n", "secret").await;
    fixture.tree.push(&url, &["offer", "secret"]).await.ok();
    let (request, head) = fixture.propose_from_fork(fork, "offer").await;
    assert_eq!(head, offer);
    // A push to the fork is copied by a job.
    fixture.tree.git(["checkout", "-q", "offer"]).await.ok();
    let later = fixture.tree.commit("more.txt", b"more\n", "more").await;
    fixture.tree.push(&url, &["offer"]).await.ok();
    fixture.server.run_jobs().await;
    assert_eq!(fixture.bob.get(&request).await.body["sha"], later);
    assert_eq!(fixture.eve.delete(&format!("/projects/{fork}")).await.status, 200);
    fixture.server.run_jobs().await;
    let changes = fixture.bob.get(&format!("{request}/changes")).await;
    let paths: Vec<&Value> = changes.body["changes"].as_array().unwrap().iter().map(|it| &it["new_path"]).collect();
    assert_eq!(paths, ["more.txt", "offer.txt"]);
    assert_eq!(changes.body["source_project_id"], Value::Null);
    assert_eq!(fixture.accept("", &request, &[]).await.status, 405);
    let node = fixture.server.another_node().await;
    assert_eq!(fixture.bob.for_node(&node).get(&format!("{request}/commits")).await.body[0]["id"], later);
    for id in [&secret, &later] {
        let found = fixture.bob.get(&format!("{}/repository/commits/{id}", fixture.api)).await;
        assert_eq!(found.status, 404, "{}", found.text);
    }
    assert_eq!(fixture.tip("main").await, fixture.first);
}

/// No ref of the target reaches the commits of a request from a fork, so a full repack moves them to a cruft pack, which
/// new forks do not get. When the request is merged, a ref reaches them.
#[tokio::test]
async fn commits_of_a_fork_that_were_unreachable_are_in_new_forks_after_the_merge() {
    let fixture = Fixture::new().await;
    let (fork, url) = fixture.fork().await;
    fixture.tree.git(["checkout", "-q", "-b", "offer", &fixture.first]).await.ok();
    fixture.tree.commit("offer.txt", b"offer\n", "offer").await;
    fixture.tree.commit("more.txt", b"more\n", "more").await;
    fixture.tree.push(&url, &["offer"]).await.ok();
    let (request, _) = fixture.propose_from_fork(fork, "offer").await;
    let project = ProjectRef::Id(fixture.project.into());
    maintenance::maintain(&fixture.server.app, &Actor::Operator, &project, RepackScope::Full).await.unwrap();
    let accepted = fixture.accept("", &request, &[]).await;
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    let forked = fixture.bob.post(&format!("/projects/fork/{}", fixture.project), &[("namespace", "bob")]).await;
    assert_eq!(forked.status, 201, "{}", forked.text);
    let clone = WorkTree::new().await;
    clone.git(["fetch", "-q", &fixture.server.git_url(&fixture.bob, "bob/p"), "main"]).await.ok();
    // Four commits, three trees and three files.
    assert_eq!(clone.git(["rev-list", "--objects", "--count", "FETCH_HEAD"]).await.ok().stdout.trim(), "10");
}

/// A merge that waits for a pipeline is made with the rights that its user has when the pipeline succeeds.
#[tokio::test]
async fn a_waiting_merge_needs_the_rights_of_that_moment() {
    let fixture = Fixture::new().await;
    fixture.tree.push(&fixture.url(), &["main:refs/heads/open"]).await.ok();
    let request = fixture.propose("topic", "open").await;
    let status = async |state: &str| {
        let form = [("state", state), ("ref", "topic")];
        let path = format!("{}/statuses/{}", fixture.api, fixture.topic);
        assert_eq!(fixture.ada.post(&path, &form).await.status, 201);
    };
    status("pending").await;
    let form = [("merge_when_build_succeeds", "true")];
    let accepted = fixture.bob.put(&format!("{request}/merge"), &form).await;
    assert_eq!(
        (&accepted.body["state"], &accepted.body["merge_when_build_succeeds"]),
        (&json!("opened"), &json!(true))
    );
    let protect = format!("{}/repository/branches/open/protect", fixture.api);
    assert_eq!(fixture.ada.put(&protect, &[]).await.status, 200);
    status("success").await;
    fixture.server.run_jobs().await;
    assert_eq!((fixture.state(&request).await, fixture.tip("open").await), (json!("opened"), fixture.first.clone()));
    let accepted = fixture.accept("", &request, &[]).await;
    assert_eq!((accepted.status, &accepted.body["state"]), (200, &json!("merged")), "{}", accepted.text);
}

/// A waiting merge applies to the branch that its user has seen: who changes the target branch does not use the rights of
/// that user.
#[tokio::test]
async fn another_target_branch_ends_the_waiting() {
    let fixture = Fixture::new().await;
    fixture.tree.push(&fixture.url(), &["main:refs/heads/open"]).await.ok();
    let form = [("title", "t"), ("source_branch", "topic"), ("target_branch", "open")];
    let created = fixture.bob.post(&format!("{}/merge_requests", fixture.api), &form).await;
    let request = format!("{}/merge_requests/{}", fixture.api, created.body["id"]);
    let status = async |state: &str| {
        let path = format!("{}/statuses/{}", fixture.api, fixture.topic);
        assert_eq!(fixture.ada.post(&path, &[("state", state), ("ref", "topic")]).await.status, 201);
    };
    status("pending").await;
    let waiting = fixture.accept("", &request, &[("merge_when_build_succeeds", "true")]).await;
    assert_eq!(
        (&waiting.body["merge_when_build_succeeds"], &waiting.body["merge_status"]),
        (&json!(true), &json!("can_be_merged"))
    );
    let moved = fixture.bob.put(&request, &[("target_branch", "main")]).await;
    assert_eq!((moved.status, &moved.body["merge_when_build_succeeds"]), (200, &json!(false)), "{}", moved.text);
    status("success").await;
    fixture.server.run_jobs().await;
    assert_eq!((fixture.state(&request).await, fixture.tip("main").await), (json!("opened"), fixture.first.clone()));
    assert_eq!(fixture.bob.put(&format!("{request}/merge"), &[]).await.status, 401);
}

#[tokio::test]
async fn a_merged_request_keeps_its_target_and_its_head() {
    let fixture = Fixture::new().await;
    fixture.tree.push(&fixture.url(), &["main:refs/heads/other"]).await.ok();
    let request = fixture.propose("topic", "main").await;
    assert_eq!(fixture.accept("", &request, &[]).await.status, 200);
    fixture.tree.git(["checkout", "-q", "topic"]).await.ok();
    fixture.tree.commit("c.txt", b"three\n", "third").await;
    fixture.tree.push(&fixture.url(), &["topic"]).await.ok();
    let changed = fixture.ada.put(&request, &[("target_branch", "other"), ("title", "u")]).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let shown = ["title", "target_branch", "sha", "state"].map(|field| changed.body[field].clone());
    assert_eq!(shown, [json!("u"), json!("main"), json!(fixture.topic), json!("merged")]);
    assert_eq!(fixture.ada.get(&format!("{request}/versions")).await.body.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn unrelated_histories_are_a_conflict() {
    let fixture = Fixture::new().await;
    fixture.tree.git(["checkout", "-q", "--orphan", "unrelated"]).await.ok();
    fixture.tree.commit("d.txt", b"four\n", "unrelated").await;
    fixture.tree.push(&fixture.url(), &["unrelated"]).await.ok();
    let request = fixture.propose("unrelated", "main").await;
    assert_eq!(fixture.accept("", &request, &[]).await.status, 406);
    assert_eq!(fixture.ada.get(&request).await.body["merge_status"], "cannot_be_merged");
    let versions = fixture.ada.get(&format!("{request}/versions")).await;
    assert_eq!(versions.body[0]["base_commit_sha"], Value::Null, "{}", versions.text);
    assert_eq!(fixture.ada.get(&format!("{request}/changes")).await.status, 200);
}
