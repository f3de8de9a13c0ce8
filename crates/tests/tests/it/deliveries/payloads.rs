//! Payloads of project hooks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use hmac::{Hmac, KeyInit, Mac};
use holdfast_tests::WorkTree;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{DeliveryFixture, TOKEN};

fn without(body: &Value, fields: &[&str]) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().retain(|name, _| !fields.contains(&name.as_str()));
    body
}

#[tokio::test]
async fn push_payload_lists_commits_and_files() {
    let fixture = DeliveryFixture::new().await;
    let (_, tree) = WorkTree::clone(&fixture.server.git_url(&fixture.ada, "ada/p"), &[]).await;
    std::fs::write(tree.path().join("gone"), "x").unwrap();
    tree.commit("new dir/é", b"1\n", "add").await;
    tree.git(["mv", "README.md", "README"]).await.ok();
    let after = tree.commit("new dir/é", b"2\n", "move and change").await;
    tree.push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["main"]).await.ok();
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [push] = &received[..] else { panic!("{received:?}") };
    assert_eq!(push.header("content-type"), "application/json");
    assert_eq!(push.header("x-gitlab-event"), "Push Hook");
    assert_eq!(push.header("x-gitlab-token"), TOKEN);
    assert!(push.header("user-agent").starts_with("Holdfast/"));
    let mut mac = Hmac::<Sha256>::new_from_slice(TOKEN.as_bytes()).unwrap();
    mac.update(format!("{}.{}.", push.header("webhook-id"), push.header("webhook-timestamp")).as_bytes());
    mac.update(&push.raw);
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert_eq!(push.header("webhook-signature"), signature);
    let body = &push.body;
    assert_eq!(body["after"], after);
    assert_eq!(body["commits"][0]["added"], json!(["new dir/é"]));
    assert_eq!(body["commits"][1]["added"], json!(["README"]));
    assert_eq!(body["commits"][1]["modified"], json!(["new dir/é"]));
    assert_eq!(body["commits"][1]["removed"], json!(["README.md"]));
    insta::assert_json_snapshot!(without(body, &["before", "after", "checkout_sha", "commits"]), @r#"
    {
      "event_name": "push",
      "message": null,
      "object_kind": "push",
      "project": {
        "avatar_url": null,
        "default_branch": "main",
        "description": null,
        "git_http_url": "http://holdfast.test/ada/p.git",
        "git_ssh_url": "git@holdfast.test:ada/p.git",
        "homepage": "http://holdfast.test/ada/p",
        "http_url": "http://holdfast.test/ada/p.git",
        "name": "p",
        "namespace": "ada",
        "path_with_namespace": "ada/p",
        "ssh_url": "git@holdfast.test:ada/p.git",
        "url": "git@holdfast.test:ada/p.git",
        "visibility_level": 20,
        "web_url": "http://holdfast.test/ada/p"
      },
      "project_id": 1,
      "ref": "refs/heads/main",
      "repository": {
        "description": null,
        "git_http_url": "http://holdfast.test/ada/p.git",
        "git_ssh_url": "git@holdfast.test:ada/p.git",
        "homepage": "http://holdfast.test/ada/p",
        "name": "p",
        "url": "git@holdfast.test:ada/p.git",
        "visibility_level": 20
      },
      "total_commits_count": 2,
      "user_avatar": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
      "user_email": "ada@example.com",
      "user_id": 2,
      "user_name": "User ada"
    }
    "#);
}

/// Removes all packs from the database and from the cache of this node.
async fn hide_packs(fixture: &DeliveryFixture) {
    let mut database = fixture.server.database().await;
    for statement in ["create table away as select * from pack_contents", "delete from pack_contents"] {
        sqlx::query(statement).execute(&mut database).await.unwrap();
    }
    for place in ["packs", "repositories"] {
        std::fs::remove_dir_all(fixture.server.cache.path().join("0").join(place)).unwrap();
    }
    fixture.server.app.git_runtime.invalidate_caches().await;
}

/// A delivery waits for a repository that is temporarily unavailable, since its payload would be incomplete.
#[tokio::test]
async fn push_delivery_waits_for_an_unreadable_repository() {
    let fixture = DeliveryFixture::new().await;
    let url = fixture.server.git_url(&fixture.ada, "ada/p");
    let (_, tree) = WorkTree::clone(&url, &[]).await;
    tree.commit("new", b"1\n", "add").await;
    tree.push(&url, &["main"]).await.ok();
    hide_packs(&fixture).await;
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    let mut database = fixture.server.database().await;
    for statement in ["insert into pack_contents select * from away", "drop table away"] {
        sqlx::query(statement).execute(&mut database).await.unwrap();
    }
    fixture.server.advance(TimeDelta::minutes(5));
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [push] = &received[..] else { panic!("{received:?}") };
    assert_eq!(push.body["commits"][0]["added"], json!(["new"]));
    // A repository that stays unavailable must not block later deliveries.
    tree.commit("newer", b"1\n", "add").await;
    tree.push(&url, &["main"]).await.ok();
    hide_packs(&fixture).await;
    fixture.server.advance(TimeDelta::hours(2));
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [push] = &received[..] else { panic!("{received:?}") };
    assert_eq!(push.body["commits"][0]["added"], json!([]));
}

#[tokio::test]
async fn tag_push_payload_has_the_tag_message_and_commit() {
    let fixture = DeliveryFixture::new().await;
    let (_, tree) = WorkTree::clone(&fixture.server.git_url(&fixture.ada, "ada/p"), &[]).await;
    tree.git(["tag", "-a", "v1", "-m", "One\n\nand more"]).await.ok();
    tree.git(["tag", "light"]).await.ok();
    let commit = tree.head().await;
    let tag = tree.git(["rev-parse", "v1"]).await.ok().line().to_owned();
    let url = fixture.server.git_url(&fixture.ada, "ada/p");
    tree.push(&url, &["v1"]).await.ok();
    tree.push(&url, &["light"]).await.ok();
    tree.push(&url, &[":v1"]).await.ok();
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [annotated, light, deleted] = &received[..] else { panic!("{received:?}") };
    assert_eq!(annotated.header("x-gitlab-event"), "Tag Push Hook");
    let body = &annotated.body;
    assert_eq!((&body["object_kind"], &body["event_name"]), (&json!("tag_push"), &json!("tag_push")));
    assert_eq!(body["ref"], "refs/tags/v1");
    assert_eq!((&body["after"], &body["checkout_sha"]), (&json!(tag), &json!(commit)));
    assert_eq!(body["message"], "One\n\nand more");
    assert_eq!(body["total_commits_count"], 1);
    assert_eq!(body["commits"][0]["id"], commit);
    assert_eq!(body["commits"][0]["added"], json!(["README.md"]));
    assert_eq!((&light.body["message"], &light.body["after"]), (&Value::Null, &json!(commit)));
    assert_eq!((&deleted.body["checkout_sha"], &deleted.body["commits"]), (&Value::Null, &json!([])));
    assert_eq!(deleted.body["after"], "0".repeat(40));
}

#[tokio::test]
async fn branch_deletion_payload_has_a_null_commit() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branch("a").await;
    fixture.ada.delete(&format!("/projects/{}/repository/branches/a", fixture.project)).await;
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [made, gone] = &received[..] else { panic!("{received:?}") };
    assert_eq!(made.body["before"], "0".repeat(40));
    assert_eq!((&gone.body["after"], &gone.body["checkout_sha"]), (&json!("0".repeat(40)), &Value::Null));
    assert_eq!(gone.body["commits"], json!([]));
}

#[tokio::test]
async fn a_comment_on_a_commit_is_a_note_of_the_commit() {
    let fixture = DeliveryFixture::new().await;
    let commits = format!("/projects/{}/repository/commits", fixture.project);
    let id = fixture.ada.get(&format!("{commits}/main")).await.body["id"].as_str().unwrap().to_owned();
    assert_eq!(fixture.ada.post(&format!("{commits}/{id}/comments"), &[("note", "Why?")]).await.status, 201);
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [note] = &received[..] else { panic!("{received:?}") };
    assert_eq!(note.header("x-gitlab-event"), "Note Hook");
    let attributes = &note.body["object_attributes"];
    let expected = [("note", json!("Why?")), ("noteable_type", json!("Commit")), ("noteable_id", Value::Null)];
    for (name, value) in expected {
        assert_eq!(attributes[name], value, "{name}");
    }
    let url = format!("http://holdfast.test/ada/p/commit/{id}");
    assert_eq!((&attributes["commit_id"], &note.body["commit"]["id"]), (&json!(id), &json!(id)));
    assert_eq!(note.body["commit"]["url"], url);
    assert_eq!(attributes["url"], format!("{url}#note_{}", attributes["id"]));
    assert!(note.body.get("issue").is_none());
}

#[tokio::test]
async fn issue_and_note_payloads_are_complete() {
    let fixture = DeliveryFixture::new().await;
    let issues = format!("/projects/{}/issues", fixture.project);
    let form = [("title", "Broken"), ("description", "It is"), ("assignee_id", "2"), ("labels", "bug")];
    let issue = fixture.ada.post(&issues, &form).await.body;
    let one = format!("{issues}/{}", issue["id"]);
    fixture.ada.post(&format!("{one}/notes"), &[("body", "Indeed")]).await;
    fixture.ada.put(&one, &[("state_event", "close")]).await;
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let [opened, note, closed] = &received[..] else { panic!("{received:?}") };
    assert_eq!((opened.header("x-gitlab-event"), note.header("x-gitlab-event")), ("Issue Hook", "Note Hook"));
    insta::assert_json_snapshot!(opened.body, @r#"
    {
      "assignee": {
        "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
        "name": "User ada",
        "username": "ada"
      },
      "object_attributes": {
        "action": "open",
        "assignee_id": 2,
        "author_id": 2,
        "branch_name": null,
        "confidential": false,
        "created_at": "2026-01-02T03:04:05.678Z",
        "deleted_at": null,
        "description": "It is",
        "due_date": null,
        "id": 1,
        "iid": 1,
        "lock_version": 0,
        "milestone_id": null,
        "moved_to_id": null,
        "position": 0,
        "project_id": 1,
        "state": "opened",
        "title": "Broken",
        "updated_at": "2026-01-02T03:04:05.678Z",
        "updated_by_id": null,
        "url": "http://holdfast.test/ada/p/issues/1"
      },
      "object_kind": "issue",
      "project": {
        "avatar_url": null,
        "default_branch": "main",
        "description": null,
        "git_http_url": "http://holdfast.test/ada/p.git",
        "git_ssh_url": "git@holdfast.test:ada/p.git",
        "homepage": "http://holdfast.test/ada/p",
        "http_url": "http://holdfast.test/ada/p.git",
        "name": "p",
        "namespace": "ada",
        "path_with_namespace": "ada/p",
        "ssh_url": "git@holdfast.test:ada/p.git",
        "url": "git@holdfast.test:ada/p.git",
        "visibility_level": 20,
        "web_url": "http://holdfast.test/ada/p"
      },
      "repository": {
        "description": null,
        "homepage": "http://holdfast.test/ada/p",
        "name": "p",
        "url": "git@holdfast.test:ada/p.git"
      },
      "user": {
        "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
        "name": "User ada",
        "username": "ada"
      }
    }
    "#);
    insta::assert_json_snapshot!(without(&note.body, &["project", "repository", "issue"]), @r#"
    {
      "object_attributes": {
        "attachment": null,
        "author_id": 2,
        "commit_id": "",
        "created_at": "2026-01-02T03:04:05.678Z",
        "discussion_id": null,
        "id": 1,
        "line_code": null,
        "note": "Indeed",
        "noteable_id": 1,
        "noteable_type": "Issue",
        "original_discussion_id": null,
        "original_position": null,
        "position": null,
        "project_id": 1,
        "resolved_at": null,
        "resolved_by_id": null,
        "st_diff": null,
        "system": false,
        "type": null,
        "updated_at": "2026-01-02T03:04:05.678Z",
        "updated_by_id": null,
        "url": "http://holdfast.test/ada/p/issues/1#note_1"
      },
      "object_kind": "note",
      "project_id": 1,
      "user": {
        "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
        "name": "User ada",
        "username": "ada"
      }
    }
    "#);
    assert_eq!(note.body["issue"]["iid"], 1);
    let attributes = &closed.body["object_attributes"];
    assert_eq!((&attributes["action"], &attributes["state"]), (&json!("close"), &json!("closed")));
}

/// A hook has no user whose permissions could be checked, so it gets no confidential issues.
#[tokio::test]
async fn confidential_issues_cause_no_deliveries() {
    let fixture = DeliveryFixture::new().await;
    let issues = format!("/projects/{}/issues", fixture.project);
    let secret = fixture.ada.post(&issues, &[("title", "Secret"), ("confidential", "true")]).await.body;
    fixture.ada.post(&format!("{issues}/{}/notes", secret["id"]), &[("body", "Psst")]).await;
    fixture.ada.put(&format!("{issues}/{}", secret["id"]), &[("title", "Still secret")]).await;
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
}

#[tokio::test]
async fn each_event_setting_selects_its_own_events() {
    let fixture = DeliveryFixture::new().await;
    let switches = ["push_events", "tag_push_events", "issues_events", "note_events"];
    fixture.ada.delete(&fixture.hook).await;
    let hooks = format!("/projects/{}/hooks", fixture.project);
    for on in switches {
        let url = fixture.receiver.url(&format!("/{on}"));
        let mut form = vec![("url", url.as_str())];
        form.extend(switches.map(|switch| (switch, if switch == on { "true" } else { "false" })));
        fixture.ada.post(&hooks, &form).await;
    }
    fixture.create_branch("a").await;
    let tags = format!("/projects/{}/repository/tags", fixture.project);
    fixture.ada.post(&tags, &[("tag_name", "v1"), ("ref", "main")]).await;
    let issues = format!("/projects/{}/issues", fixture.project);
    let issue = fixture.ada.post(&issues, &[("title", "t")]).await.body;
    fixture.ada.post(&format!("{issues}/{}/notes", issue["id"]), &[("body", "b")]).await;
    fixture.server.deliver_hooks().await;
    let mut received: Vec<(String, String)> = fixture
        .receiver
        .take_received()
        .iter()
        .map(|it| (it.path.clone(), it.body["object_kind"].as_str().unwrap().into()))
        .collect();
    received.sort();
    let expected = [
        ("/issues_events", "issue"),
        ("/note_events", "note"),
        ("/push_events", "push"),
        ("/tag_push_events", "tag_push"),
    ];
    assert_eq!(received, expected.map(|(path, kind)| (path.to_owned(), kind.to_owned())));
}

/// The project is deleted before its events are delivered, and its hooks with it. System hooks get the events.
#[tokio::test]
async fn events_of_a_deleted_project_go_only_to_system_hooks() {
    let fixture = DeliveryFixture::new().await;
    fixture.server.admin.post("/hooks", &[("url", &fixture.receiver.url("/system"))]).await;
    fixture.create_branch("a").await;
    fixture.ada.delete(&format!("/projects/{}", fixture.project)).await;
    fixture.server.run_jobs().await;
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let kinds: Vec<&str> = received.iter().map(|it| it.body["event_name"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["push", "user_remove_from_team", "project_destroy"]);
    assert!(received.iter().all(|it| it.path == "/system"));
}
