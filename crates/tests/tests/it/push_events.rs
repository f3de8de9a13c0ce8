//! Push events in the feed and in the outbox.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::json;

use crate::projects::add_member;

#[tokio::test]
async fn push_events_contain_their_commits() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    tree.commit("f", b"two\n", "two\n\nMore of it.").await;
    tree.commit("f", b"three\n", "three").await;
    tree.push(&url, &["main"]).await.ok();
    let feed = ada.get(&format!("/projects/{project}/events")).await;
    insta::assert_json_snapshot!(feed.body[0], @r#"
    {
      "action_name": "pushed to",
      "author": {
        "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
        "id": 2,
        "name": "User ada",
        "state": "active",
        "username": "ada",
        "web_url": "http://holdfast.test/ada"
      },
      "author_id": 2,
      "author_username": "ada",
      "created_at": "2026-01-02T03:04:05.678Z",
      "data": {
        "after": "8c79503aa04cbac85e54e018fac31ebcfa03cf0d",
        "before": "a848bec291e7b042ef25955cbeccebb3fa338574",
        "commits": [
          {
            "author": {
              "email": "ada@example.com",
              "name": "Ada"
            },
            "id": "f4a58ff831908756d029affade09258686d9270a",
            "message": "two\n\nMore of it.\n",
            "timestamp": "2026-01-02T03:04:06+01:00",
            "url": "http://holdfast.test/ada/p/commit/f4a58ff831908756d029affade09258686d9270a"
          },
          {
            "author": {
              "email": "ada@example.com",
              "name": "Ada"
            },
            "id": "8c79503aa04cbac85e54e018fac31ebcfa03cf0d",
            "message": "three\n",
            "timestamp": "2026-01-02T03:04:06+01:00",
            "url": "http://holdfast.test/ada/p/commit/8c79503aa04cbac85e54e018fac31ebcfa03cf0d"
          }
        ],
        "ref": "refs/heads/main",
        "repository": {
          "description": null,
          "homepage": "http://holdfast.test/ada/p",
          "name": "p",
          "url": "git@holdfast.test:ada/p.git"
        },
        "total_commits_count": 2,
        "user_id": 2,
        "user_name": "User ada"
      },
      "project_id": 1,
      "target_id": null,
      "target_title": null,
      "target_type": null,
      "title": null
    }
    "#);
    assert_eq!(feed.body[1]["action_name"], "pushed new");
    assert_eq!(feed.body[1]["data"]["total_commits_count"], 1);
    assert_eq!(feed.body[1]["data"]["before"], "0".repeat(40));
}

/// Each ref update creates exactly one event and one outbox row, and an unchanged ref creates none. The commits of an
/// event are those that are new to the branch.
#[tokio::test]
async fn each_updated_ref_creates_one_event() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    for n in 0..25 {
        tree.git(["commit", "-q", "--allow-empty", "-m", &n.to_string()]).await.ok();
    }
    tree.git(["tag", "-a", "v1", "-m", "v1"]).await.ok();
    tree.push(&url, &["topic", "v1", "main:bad/../name", "main:same"]).await;
    tree.push(&url, &["topic", "v1", "main:same", "topic:topic/conflict"]).await.expect_failure();
    tree.push(&url, &[":same"]).await.ok();
    ada.post(&format!("/projects/{project}/repository/branches"), &[("branch_name", "made"), ("ref", "main")]).await;
    let feed = ada.get(&format!("/projects/{project}/events?per_page=50")).await.body;
    let events: Vec<_> = feed.as_array().unwrap().iter().filter(|event| !event["data"].is_null()).collect();
    let short = |event: &&&serde_json::Value| {
        let (data, name) = (&event["data"], event["action_name"].clone());
        (name, data["ref"].clone(), data["total_commits_count"].clone(), data["commits"].as_array().unwrap().len())
    };
    let summary: Vec<_> = events.iter().map(|event| short(&event)).collect();
    let expected = [
        ("pushed new", "refs/heads/made", 0, 0),
        ("deleted", "refs/heads/same", 0, 0),
        ("pushed new", "refs/heads/same", 0, 0),
        ("pushed new", "refs/tags/v1", 0, 0),
        ("pushed new", "refs/heads/topic", 25, 20),
        ("pushed new", "refs/heads/main", 1, 1),
    ];
    let expected: Vec<_> =
        expected.map(|(name, full, total, shown)| (json!(name), json!(full), json!(total), shown)).into();
    assert_eq!(summary, expected);
    let commits = events[4]["data"]["commits"].as_array().unwrap();
    assert_eq!(
        (&commits[0]["message"], &commits[19]["message"]),
        (&json!("5\n"), &json!("24\n")),
        "the newest, oldest first"
    );
    let notices: Vec<(String, String)> =
        sqlx::query_as("select kind, payload ->> 'ref' from outbox where kind like '%push' order by id")
            .fetch_all(&mut server.database().await)
            .await
            .unwrap();
    let kinds: Vec<(&str, &str)> = notices.iter().map(|(kind, name)| (kind.as_str(), name.as_str())).collect();
    assert_eq!(
        kinds,
        [
            ("push", "refs/heads/main"),
            ("push", "refs/heads/topic"),
            ("tag_push", "refs/tags/v1"),
            ("push", "refs/heads/same"),
            ("push", "refs/heads/same"),
            ("push", "refs/heads/made"),
        ]
    );
}

/// More refs than are written with one statement: each has its outbox row, in the order of the push, and all name the
/// default branch that the push itself sets.
#[tokio::test]
async fn a_push_of_many_refs_creates_one_event_per_ref() {
    const REFS: usize = 2100;
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    let commit = tree.commit("f", b"one\n", "one").await;
    let names: Vec<String> = (0..REFS).map(|n| format!("refs/heads/many/{n:04}")).collect();
    let stream: String = names.iter().map(|name| format!("reset {name}\nfrom {commit}\n\n")).collect();
    tree.fast_import(stream.into_bytes()).await;
    tree.push(&server.git_url(&ada, "ada/p"), &["refs/heads/*:refs/heads/*"]).await.ok();
    let events: Vec<(String, String)> = sqlx::query_as(
        "select payload ->> 'ref', payload -> 'project' ->> 'default_branch' from outbox where kind = 'push' order by id",
    )
    .fetch_all(&mut server.database().await)
    .await
    .unwrap();
    let refs: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let expected: Vec<&str> = ["refs/heads/main"].into_iter().chain(names.iter().map(String::as_str)).collect();
    assert_eq!(refs, expected);
    assert!(events.iter().all(|(_, branch)| branch == "main"));
    let events = "select count(*) from events where data ->> 'ref' like 'refs/heads/many/%'";
    let events: i64 = sqlx::query_scalar(events).fetch_one(&mut server.database().await).await.unwrap();
    assert_eq!(events, REFS as i64);
}

/// Users who cannot read the code do not see push events either.
#[tokio::test]
async fn guests_of_a_private_project_do_not_see_push_events() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (gus_id, gus) = server.user("gus").await;
    let (rob_id, rob) = server.user("rob").await;
    let project = server.project(&ada, "p", 0).await;
    add_member(&ada, &format!("/projects/{project}"), gus_id.get(), 10).await;
    add_member(&ada, &format!("/projects/{project}"), rob_id.get(), 20).await;
    server.push_first(&ada, "ada/p").await;
    let actions = async |client: &Client, path: String| {
        let feed = client.get(&path).await;
        feed.body
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["action_name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for path in [format!("/projects/{project}/events"), format!("/users/{ada_id}/events")] {
        assert!(actions(&rob, path.clone()).await.contains(&"pushed new".to_owned()), "{path}");
        let events = actions(&gus, path.clone()).await;
        assert!(
            events.contains(&"created".to_owned()) && !events.contains(&"pushed new".to_owned()),
            "{path}: {events:?}"
        );
    }
    assert_eq!(ada.put(&format!("/projects/{project}"), &[("visibility_level", "10")]).await.status, 200);
    assert!(actions(&gus, format!("/projects/{project}/events")).await.contains(&"pushed new".to_owned()));
    assert!(actions(&gus, format!("/users/{ada_id}/events")).await.contains(&"pushed new".to_owned()));
}
