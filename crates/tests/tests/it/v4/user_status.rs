//! Statuses of users, and the numbers of what needs their attention.

use chrono::TimeDelta;
use holdfast_tests::Server;
use serde_json::{Value, json};

use crate::projects::add_member;

const OWN: &str = "/api/v4/user/status";

fn no_status() -> Value {
    json!({ "emoji": null, "message": null, "availability": null, "message_html": "", "clear_status_at": null })
}

#[tokio::test]
async fn a_status_is_shown_to_everybody_until_it_ends() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let shown = async || {
        let own = ada.get(OWN).await;
        for client in [&ada, &bob, &server.admin] {
            for name in [&*id.to_string(), "ada", "ADA"] {
                let answer = client.get(&format!("/api/v4/users/{name}/status")).await;
                assert_eq!(answer.status_and_body(), own.status_and_body());
            }
        }
        (own.status, own.body)
    };
    let before = server.dump_database().await;
    assert_eq!(shown().await, (200, no_status()));
    let form = [
        ("emoji", "+1"),
        ("message", "Back <soon> & \"well\""),
        ("availability", "busy"),
        ("clear_status_after", "3_hours"),
    ];
    let expected = json!({
        "emoji": "thumbsup",
        "message": "Back <soon> & \"well\"",
        "availability": "busy",
        "message_html": "Back &lt;soon&gt; &amp; &quot;well&quot;",
        "clear_status_at": "2026-01-02T06:04:05.678Z",
    });
    assert_eq!(ada.put(OWN, &form).await.status_and_body(), (200, &expected));
    assert_eq!(shown().await, (200, expected));
    let mut after = server.dump_database().await;
    assert_eq!(after["user_statuses"].as_array().map(Vec::len), Some(1));
    after["user_statuses"] = json!([]);
    assert_eq!(after, before);

    // What is absent is removed.
    let message = "é".repeat(100);
    let expected = json!({
        "emoji": "speech_balloon",
        "message": message,
        "availability": "not_set",
        "message_html": message,
        "clear_status_at": null,
    });
    assert_eq!(ada.put(OWN, &[("message", &message)]).await.status_and_body(), (200, &expected));
    assert_eq!(shown().await, (200, expected));
    let busy = ada.put(OWN, &[("availability", "busy")]).await;
    assert_eq!((&busy.body["availability"], &busy.body["message"]), (&json!("busy"), &json!(null)));
    let empty = [("emoji", ""), ("message", " "), ("availability", "not_set"), ("clear_status_after", "1_day")];
    assert_eq!(ada.put(OWN, &empty).await.status_and_body(), (200, &no_status()));
    assert_eq!(server.dump_database().await, before);

    for (after, duration) in [
        ("30_minutes", TimeDelta::minutes(30)),
        ("3_hours", TimeDelta::hours(3)),
        ("8_hours", TimeDelta::hours(8)),
        ("1_day", TimeDelta::days(1)),
        ("3_days", TimeDelta::days(3)),
        ("7_days", TimeDelta::days(7)),
        ("30_days", TimeDelta::days(30)),
    ] {
        assert_eq!(ada.put(OWN, &[("emoji", "rocket"), ("clear_status_after", after)]).await.status, 200, "{after}");
        server.advance(duration - TimeDelta::milliseconds(1));
        assert_eq!(shown().await.1["emoji"], "rocket", "{after}");
        server.advance(TimeDelta::milliseconds(1));
        assert_eq!(shown().await, (200, no_status()), "{after}");
    }
}

#[tokio::test]
async fn an_invalid_status_changes_nothing() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    assert_eq!(ada.put(OWN, &[("message", "before")]).await.status, 200);
    let before = server.dump_database().await;
    let long = "x".repeat(101);
    for (field, value, message) in [
        ("emoji", "no_such_emoji", "is invalid"),
        ("emoji", ":rocket:", "is invalid"),
        ("message", &long, "is too long (maximum is 100 characters)"),
        ("message", "two\nlines", "is invalid"),
        ("message", "turned \u{202e}around", "is invalid"),
    ] {
        let refused = ada.put(OWN, &[(field, value)]).await;
        assert_eq!(refused.status_and_body(), (400, &json!({ "message": { (field): [message] } })), "{value}");
    }
    for (field, value) in [("availability", "away"), ("clear_status_after", "1_week")] {
        let error = json!({ "error": format!("{field} does not have a valid value") });
        assert_eq!(ada.put(OWN, &[(field, value)]).await.status_and_body(), (400, &error));
    }
    let missing = json!({ "message": "404 User Not Found" });
    for name in ["999", "-1", "nobody"] {
        assert_eq!(ada.get(&format!("/api/v4/users/{name}/status")).await.status_and_body(), (404, &missing), "{name}");
    }
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn the_status_of_a_user_is_deleted_with_the_user() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    assert_eq!(ada.put(OWN, &[("message", "gone")]).await.status, 200);
    assert_eq!(server.admin.delete(&format!("/api/v4/users/{id}")).await.status, 204);
    assert_eq!(server.dump_database().await["user_statuses"], json!([]));
}

/// Information disclosure: counts are those of the lists, which show only what the user can read.
#[tokio::test]
async fn counts_are_those_of_the_lists() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 0).await;
    let api = format!("/api/v4/projects/{project}");
    add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    server.push_first(&ada, "ada/p").await;
    let assignee = bob_id.to_string();
    for title in ["one", "two", "three"] {
        let issue = ada.post(&format!("{api}/issues"), &[("title", title), ("assignee_id", &assignee)]).await;
        assert_eq!(issue.status, 201, "{}", issue.text);
    }
    assert_eq!(ada.put(&format!("{api}/issues/3"), &[("state_event", "close")]).await.status, 200);
    for branch in ["a", "b"] {
        let commit = [
            ("branch", branch),
            ("start_branch", "main"),
            ("commit_message", "m"),
            ("actions[][action]", "create"),
            ("actions[][file_path]", branch),
            ("actions[][content]", "c"),
        ];
        assert_eq!(ada.post(&format!("{api}/repository/commits"), &commit).await.status, 201);
        let form =
            [("title", "t"), ("source_branch", branch), ("target_branch", "main"), ("assignee_id", assignee.as_str())];
        let request = ada.post(&format!("{api}/merge_requests"), &form).await;
        assert_eq!(request.status, 201, "{}", request.text);
    }
    assert_eq!(ada.put(&format!("{api}/merge_requests/2"), &[("state_event", "close")]).await.status, 200);
    let counts = |merge_requests: i64, issues: i64, todos: i64| {
        json!({
            "merge_requests": merge_requests,
            "assigned_issues": issues,
            "review_requested_merge_requests": 0,
            "todos": todos,
        })
    };
    assert_eq!(bob.get("/api/v4/user_counts").await.status_and_body(), (200, &counts(1, 2, 5)));
    assert_eq!(ada.get("/api/v4/user_counts").await.status_and_body(), (200, &counts(0, 0, 0)));
    let todo = bob.get("/api/v4/todos").await.ids()[0];
    bob.post(&format!("/api/v4/todos/{todo}/mark_as_done"), &[]).await;
    assert_eq!(bob.get("/api/v4/user_counts").await.body, counts(1, 2, 4));
    assert_eq!(ada.delete(&format!("{api}/members/{bob_id}")).await.status, 204);
    assert_eq!(bob.get("/api/v4/user_counts").await.body, counts(0, 0, 0));
    assert_eq!(server.anonymous().get("/api/v4/user_counts").await.status, 401);
}
