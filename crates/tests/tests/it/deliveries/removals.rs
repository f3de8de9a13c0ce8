//! Events of what is deleted together with its project, group or user.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_tests::{Client, Server};
use serde_json::{Value, json};

use crate::pagination::add_users;
use crate::ssh_keys::OTHER_ED25519;

/// Creates a system hook, without which the events of members and keys are not written.
async fn create_system_hook(server: &Server) {
    assert_eq!(server.admin.post("/hooks", &[("url", "https://h.example/x")]).await.status, 201);
}

/// Returns the payloads of all events of one kind, in order.
async fn payloads(server: &Server, kind: &str) -> Vec<Value> {
    sqlx::query_scalar("select payload from outbox where kind = $1 order by id")
        .bind(kind)
        .fetch_all(&mut server.database().await)
        .await
        .unwrap()
}

async fn add(owner: &Client, path: &str, user: i64) {
    crate::projects::add_member(owner, path, user, 30).await;
}

/// Adds a member, removes it, and adds it again, so that the event of its removal can be compared with the event of
/// whatever removes it the second time.
async fn add_remove_add(owner: &Client, path: &str, user: i64) {
    add(owner, path, user).await;
    let removed = owner.delete(&format!("{path}/members/{user}")).await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    add(owner, path, user).await;
}

/// Commits the transaction of a connection as soon as another one waits for a lock.
async fn commit_when_awaited(server: &Server, mut database: sqlx::PgConnection) {
    let waits = "select exists (select from pg_stat_activity where datname = current_database() and
       wait_event_type = 'Lock')";
    let mut interval = tokio::time::interval(Duration::from_millis(10));
    let mut observer = server.database().await;
    for _ in 0..10_000 {
        interval.tick().await;
        if sqlx::query_scalar::<_, bool>(waits).fetch_one(&mut observer).await.unwrap() {
            sqlx::query("commit").execute(&mut database).await.unwrap();
            return;
        }
    }
    panic!("no transaction waited");
}

fn without(mut payload: Value, field: &str) -> Value {
    assert!(payload.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    payload
}

#[tokio::test]
async fn a_membership_that_is_deleted_with_its_project_group_or_user_has_the_event_of_a_single_removal() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let admin = &server.admin;
    let (bob, _) = server.user("bob").await;
    let bob = bob.get();
    let deleted_group = server.group(admin, "team", 10).await;
    let kept_group = server.group(admin, "kept", 20).await;
    let deleted_project = server.project(admin, "alone", 0).await;
    let project_in_group = server.project_in(admin, "p", 10, Some(deleted_group)).await;
    let kept_project = server.project_in(admin, "q", 20, Some(kept_group)).await;
    for group in [deleted_group, kept_group] {
        add_remove_add(admin, &format!("/groups/{group}"), bob).await;
    }
    for project in [deleted_project, project_in_group, kept_project] {
        add_remove_add(admin, &format!("/projects/{project}"), bob).await;
    }
    assert_eq!(admin.delete(&format!("/projects/{deleted_project}")).await.status, 200);
    assert_eq!(admin.delete(&format!("/groups/{deleted_group}")).await.status, 200);
    assert_eq!(admin.delete(&format!("/users/{bob}")).await.status, 200);

    let cases = [
        ("user_remove_from_group", "group_id", vec![deleted_group, kept_group]),
        ("user_remove_from_team", "project_id", vec![deleted_project, project_in_group, kept_project]),
    ];
    for (kind, field, ids) in cases {
        let payloads = payloads(&server, kind).await;
        for id in ids {
            let of_bob: Vec<&Value> = payloads.iter().filter(|it| it[field] == id && it["user_id"] == bob).collect();
            assert_eq!(of_bob.len(), 2, "{kind} {id}");
            assert_eq!(of_bob[0], of_bob[1], "{kind} {id}");
            assert_eq!(of_bob[0]["user_username"], "bob");
        }
    }
}

#[tokio::test]
async fn the_event_of_a_removed_member_has_the_time_at_which_the_membership_was_created() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let admin = &server.admin;
    let (bob, _) = server.user("bob").await;
    let bob = bob.get();
    let (removed_from, deleted) = (server.group(admin, "kept", 0).await, server.group(admin, "deleted", 0).await);
    let project_removed_from = server.project(admin, "p", 0).await;
    let project_with_expiry = server.project(admin, "q", 0).await;
    let deleted_project = server.project(admin, "r", 0).await;
    server.advance(TimeDelta::hours(1));
    for group in [removed_from, deleted] {
        add(admin, &format!("/groups/{group}"), bob).await;
    }
    for project in [project_removed_from, deleted_project] {
        add(admin, &format!("/projects/{project}"), bob).await;
    }
    let form = [("user_id", &*bob.to_string()), ("access_level", "30"), ("expires_at", "2026-01-04")];
    assert_eq!(admin.post(&format!("/projects/{project_with_expiry}/members"), &form).await.status, 201);
    server.advance(TimeDelta::days(3));
    crate::jobs::sweep(&server).await;
    for path in [
        format!("/groups/{removed_from}/members/{bob}"),
        format!("/projects/{project_removed_from}/members/{bob}"),
        format!("/projects/{deleted_project}"),
        format!("/groups/{deleted}"),
    ] {
        assert_eq!(admin.delete(&path).await.status, 200, "{path}");
    }

    let times = |payloads: Vec<Value>| -> Vec<Value> {
        let of_bob = payloads.into_iter().filter(|it| it["user_id"] == bob);
        of_bob.map(|it| json!([it["created_at"], it["updated_at"]])).collect()
    };
    let expected = json!(["2026-01-02T04:04:05.678Z", "2026-01-05T04:04:05.678Z"]);
    assert_eq!(times(payloads(&server, "user_remove_from_group").await), vec![expected.clone(); 2]);
    assert_eq!(times(payloads(&server, "user_remove_from_team").await), vec![expected; 3]);
}

#[tokio::test]
async fn a_project_that_is_deleted_with_its_namespace_has_the_event_of_a_single_deletion() {
    let server = Server::start().await;
    let admin = &server.admin;
    let (bob_id, bob) = server.user("bob").await;
    let group = server.group(admin, "team", 20).await;
    for (owner, namespace) in [(admin, Some(group)), (&bob, None)] {
        let project = server.project_in(owner, "p", 10, namespace).await;
        assert_eq!(owner.delete(&format!("/projects/{project}")).await.status, 200);
        server.project_in(owner, "p", 10, namespace).await;
    }
    assert_eq!(admin.delete(&format!("/groups/{group}")).await.status, 200);
    assert_eq!(admin.delete(&format!("/users/{bob_id}")).await.status, 200);
    let payloads: Vec<Value> =
        payloads(&server, "project_destroy").await.into_iter().map(|it| without(it, "project_id")).collect();
    assert_eq!(payloads.len(), 4);
    assert_eq!(payloads[0], payloads[2]);
    assert_eq!(payloads[1], payloads[3]);
    assert_eq!((&payloads[0]["owner_name"], &payloads[0]["path_with_namespace"]), (&json!("team"), &json!("team/p")));
    assert_eq!(payloads[1]["path_with_namespace"], "bob/p");
}

#[tokio::test]
async fn a_key_that_is_deleted_with_its_user_has_the_event_of_a_single_deletion() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let (bob, _) = server.user("bob").await;
    let keys = format!("/users/{bob}/keys");
    let form = [("title", "k"), ("key", OTHER_ED25519)];
    let key = server.admin.post(&keys, &form).await.body["id"].clone();
    assert_eq!(server.admin.delete(&format!("{keys}/{key}")).await.status, 200);
    assert_eq!(server.admin.post(&keys, &form).await.status, 201);
    assert_eq!(server.admin.delete(&format!("/users/{bob}")).await.status, 200);
    let payloads: Vec<Value> = payloads(&server, "key_destroy").await.into_iter().map(|it| without(it, "id")).collect();
    assert_eq!(payloads.len(), 2);
    assert_eq!(payloads[0], payloads[1]);
    assert_eq!(payloads[0]["username"], "bob");
}

/// More members than are read at once: each gets one event, in the order of projects and users.
#[tokio::test]
async fn each_of_many_members_of_a_deleted_group_has_one_event() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let admin = &server.admin;
    let group = server.group(admin, "team", 0).await;
    let mut projects = Vec::new();
    for path in ["a", "b", "c"] {
        projects.push(server.project_in(admin, path, 0, Some(group)).await);
    }
    add_users(&server, 700).await;
    sqlx::raw_sql(
        "insert into project_members (project_id, user_id, access_level, created_at)
         select p.id, u.id, 30, now() from projects p, users u where u.username ~ '^u[0-9]+$';
         insert into group_members (group_id, user_id, access_level, created_at)
         select n.id, u.id, 30, now() from namespaces n, users u where n.path = 'team' and u.username ~ '^u[0-9]+$'",
    )
    .execute(&mut server.database().await)
    .await
    .unwrap();
    assert_eq!(admin.delete(&format!("/groups/{group}")).await.status, 200);

    let users = |payloads: &[Value]| payloads.iter().map(|it| it["user_id"].as_i64().unwrap()).collect::<Vec<_>>();
    let of_group = users(&payloads(&server, "user_remove_from_group").await);
    // The owner is a member as well.
    assert_eq!(of_group.len(), 701);
    assert!(of_group.is_sorted_by(|a, b| a < b));
    let of_projects = payloads(&server, "user_remove_from_team").await;
    assert_eq!(of_projects.len(), 2100);
    for (project, payloads) in projects.iter().zip(of_projects.chunks(700)) {
        assert!(payloads.iter().all(|it| it["project_id"] == *project));
        assert!(users(payloads).is_sorted_by(|a, b| a < b));
    }
}

/// A request that adds a member holds the lock of the project while its group is deleted.
#[tokio::test]
async fn a_member_that_is_added_while_the_group_of_its_project_is_deleted_has_an_event() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let (bob, _) = server.user("bob").await;
    let group = server.group(&server.admin, "team", 0).await;
    let project = server.project_in(&server.admin, "p", 0, Some(group)).await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    let lock = "select from projects where id = $1 for no key update";
    sqlx::query(lock).bind(project).execute(&mut database).await.unwrap();
    let insert =
        "insert into project_members (project_id, user_id, access_level, created_at) values ($1, $2, 30, now())";
    sqlx::query(insert).bind(project).bind(bob.get()).execute(&mut database).await.unwrap();
    let path = format!("/groups/{group}");
    let (deleted, ()) = tokio::join!(server.admin.delete(&path), commit_when_awaited(&server, database));
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    let payloads = payloads(&server, "user_remove_from_team").await;
    assert_eq!(payloads.iter().filter(|it| it["user_id"] == bob.get()).count(), 1, "{payloads:?}");
}

#[tokio::test]
async fn a_membership_that_is_added_while_its_user_is_deleted_has_an_event() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let (bob, _) = server.user("bob").await;
    let project = server.project(&server.admin, "p", 0).await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    let insert =
        "insert into project_members (project_id, user_id, access_level, created_at) values ($1, $2, 30, now())";
    sqlx::query(insert).bind(project).bind(bob.get()).execute(&mut database).await.unwrap();
    let path = format!("/users/{bob}");
    let (deleted, ()) = tokio::join!(server.admin.delete(&path), commit_when_awaited(&server, database));
    assert_eq!(deleted.status, 200, "{}", deleted.text);
    let payloads = payloads(&server, "user_remove_from_team").await;
    assert_eq!(payloads.iter().filter(|it| it["user_id"] == bob.get()).count(), 1, "{payloads:?}");
}

/// The time of a membership is in the event of its removal.
#[tokio::test]
async fn a_membership_that_replaces_an_expired_one_has_the_time_of_its_own_creation() {
    let server = Server::start().await;
    create_system_hook(&server).await;
    let admin = &server.admin;
    let (bob, _) = server.user("bob").await;
    let bob = bob.get();
    let (group, project) = (server.group(admin, "team", 0).await, server.project(admin, "p", 0).await);
    let paths = [format!("/groups/{group}"), format!("/projects/{project}")];
    let form = [("user_id", &*bob.to_string()), ("access_level", "30"), ("expires_at", "2026-01-04")];
    for path in &paths {
        assert_eq!(admin.post(&format!("{path}/members"), &form).await.status, 201, "{path}");
    }
    server.advance(TimeDelta::days(3));
    for path in &paths {
        add(admin, path, bob).await;
    }
    // An update of a membership keeps its time.
    server.advance(TimeDelta::hours(1));
    for path in &paths {
        let member = format!("{path}/members/{bob}");
        assert_eq!(admin.put(&member, &[("access_level", "40")]).await.status, 200, "{path}");
        assert_eq!(admin.delete(&member).await.status, 200, "{path}");
    }
    for kind in ["user_remove_from_group", "user_remove_from_team"] {
        let payloads = payloads(&server, kind).await;
        let times: Vec<&Value> = payloads.iter().map(|it| &it["created_at"]).collect();
        assert_eq!(times, ["2026-01-05T03:04:05.678Z"], "{kind}");
    }
}
