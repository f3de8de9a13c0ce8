//! Activity feeds, filtered for the viewer.

use holdfast_tests::Server;
use serde_json::json;

use crate::projects::add_member;

#[tokio::test]
async fn project_and_user_feeds_show_only_visible_events() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (_, eve) = server.user("eve").await;
    let open = server.project(&ada, "open", 20).await;
    let hidden = server.project(&ada, "hidden", 0).await;
    for project in [open, hidden] {
        add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    }
    let feed = ada.get(&format!("/projects/{open}/events")).await;
    insta::assert_json_snapshot!(feed.body, @r#"
    [
      {
        "action_name": "joined",
        "author": {
          "avatar_url": "http://www.gravatar.com/avatar/4b9bb80620f03eb3719e0a061c14283d?s=80&d=identicon",
          "id": 3,
          "name": "User bob",
          "state": "active",
          "username": "bob",
          "web_url": "http://holdfast.test/bob"
        },
        "author_id": 3,
        "author_username": "bob",
        "created_at": "2026-01-02T03:04:05.678Z",
        "data": null,
        "project_id": 1,
        "target_id": null,
        "target_title": null,
        "target_type": null,
        "title": null
      },
      {
        "action_name": "created",
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
        "data": null,
        "project_id": 1,
        "target_id": null,
        "target_title": null,
        "target_type": null,
        "title": null
      }
    ]
    "#);
    let projects = |answer: &holdfast_tests::TestResponse| {
        let events = answer.body.as_array().unwrap().iter();
        events.map(|event| event["project_id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let of_bob = format!("/users/{bob_id}/events");
    assert_eq!(projects(&bob.get(&of_bob).await), [hidden, open]);
    assert_eq!(projects(&server.admin.get(&of_bob).await), [hidden, open]);
    let seen = eve.get(&of_bob).await;
    assert_eq!((projects(&seen), seen.header("x-total")), (vec![open], Some("1")));
    assert_eq!(projects(&eve.get(&format!("/users/{ada_id}/events")).await), [open]);
    let page = ada.get(&format!("/projects/{open}/events?per_page=1&page=2")).await;
    assert_eq!((&page.body[0]["action_name"], page.header("x-total")), (&json!("created"), Some("2")));

    // When access ends or the project is deleted, its events disappear from the feed.
    bob.delete(&format!("/projects/{hidden}/members/{bob_id}")).await;
    assert_eq!(projects(&bob.get(&of_bob).await), [open]);
    ada.delete(&format!("/projects/{open}")).await;
    assert_eq!(bob.get(&of_bob).await.body, json!([]));
    assert_eq!(ada.get("/users/99/events").await.status_and_body(), (404, &json!({"message": "404 User Not Found"})));
}

/// Page sizes and totals are the same before and after the deletion job.
#[tokio::test]
async fn deleting_an_author_keeps_page_sizes_and_totals() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, _) = server.user("bob").await;
    let project = server.project(&ada, "engine", 20).await;
    add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    server.admin.delete(&format!("/users/{bob_id}")).await;
    for _ in 0..2 {
        let feed = ada.get(&format!("/projects/{project}/events?per_page=1")).await;
        assert_eq!((&feed.body[0]["action_name"], feed.header("x-total")), (&json!("joined"), Some("2")));
        assert_eq!(feed.body[0]["author_username"], "ghost");
        server.run_jobs().await;
    }
    assert_eq!(server.dump_database().await["events"].as_array().unwrap().len(), 2);
}

/// Rows that were inserted before their partition existed stay in the default partition, and later days get partitions.
#[tokio::test]
async fn partitions_are_created_around_existing_rows() {
    let server = Server::start().await;
    let mut database = server.database().await;
    sqlx::raw_sql(
        "insert into outbox (kind, payload, created_at) values ('x', '{}', '2030-05-05 12:00Z');
         insert into events (project_id, author_id, action, created_at) values (1, 1, 1, '2030-05-05 12:00Z');
         select make_partitions('2030-05-05'); select make_partitions('2030-05-05');",
    )
    .execute(&mut database)
    .await
    .unwrap();
    let exists = async |database: &mut sqlx::PgConnection, name: &str| -> bool {
        sqlx::query_scalar("select to_regclass($1) is not null").bind(name).fetch_one(database).await.unwrap()
    };
    assert!(!exists(&mut database, "outbox_2030_05_05").await);
    assert!(exists(&mut database, "outbox_2030_05_06").await);
    assert!(exists(&mut database, "events_2030_06").await);
    let kept: i64 =
        sqlx::query_scalar("select count(*) from outbox where kind = 'x'").fetch_one(&mut database).await.unwrap();
    assert_eq!(kept, 1);
}

/// The event and its outbox row are written in the transaction of the change, or not at all.
#[tokio::test]
async fn events_and_outbox_are_written_in_one_transaction() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, _) = server.user("bob").await;
    let project = server.project(&ada, "engine", 0).await;
    let path = format!("/projects/{project}");
    add_member(&ada, &path, bob_id.get(), 30).await;
    ada.put(&path, &[("path", "motor")]).await;
    ada.delete(&format!("{path}/members/{bob_id}")).await;
    ada.delete(&path).await;
    let mut events: Vec<(i64, String, serde_json::Value)> =
        sqlx::query_as("select id, kind, payload from outbox where kind <> 'user_create'")
            .fetch_all(&mut server.database().await)
            .await
            .unwrap();
    events.sort_by_key(|row| row.0);
    let kinds: Vec<_> = events.iter().map(|row| row.1.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "project_create",
            "user_add_to_team",
            "user_add_to_team",
            "project_rename",
            "user_remove_from_team",
            "project_destroy"
        ]
    );
    assert_eq!(events[3].2["old_path_with_namespace"], "ada/engine");
    assert_eq!(events[5].2["path_with_namespace"], "ada/motor");
    assert_eq!(events[2].2["user_username"], "bob");
}
