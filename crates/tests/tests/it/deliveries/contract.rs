//! The delivery guarantees: at least once, in order, with retries for days.

use std::time::Duration;

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::DeliveryFixture;

fn refs(received: &[holdfast_tests::ReceivedRequest]) -> Vec<&str> {
    received.iter().map(|it| it.body["ref"].as_str().unwrap().trim_start_matches("refs/heads/")).collect()
}

#[tokio::test]
async fn failed_deliveries_are_retried_before_later_ones() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b", "c"]).await;
    fixture.receiver.fail(2);
    fixture.server.deliver_hooks().await;
    let first = fixture.receiver.take_received();
    assert_eq!(refs(&first), ["a"]);
    assert_eq!(fixture.states().await, ["pending", "pending", "pending"]);
    fixture.server.advance(TimeDelta::milliseconds(100));
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty(), "not so soon");
    fixture.server.advance(TimeDelta::milliseconds(500));
    fixture.server.deliver_hooks().await;
    let second = fixture.receiver.take_received();
    assert_eq!(refs(&second), ["a"], "it failed a second time");
    assert!(fixture.hook().await["failing_since"].is_string());
    fixture.server.advance(TimeDelta::seconds(1));
    fixture.server.deliver_hooks().await;
    let third = fixture.receiver.take_received();
    assert_eq!(refs(&third), ["a", "b", "c"]);
    assert_eq!(third.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [1, 2, 3]);
    for again in [&second[0], &third[0]] {
        assert_eq!(again.header("webhook-id"), first[0].header("webhook-id"));
        assert_eq!(again.raw, first[0].raw);
    }
    assert_eq!(fixture.states().await, ["delivered", "delivered", "delivered"]);
    assert_eq!(fixture.hook().await["failing_since"], Value::Null);
    assert_eq!(fixture.deliveries().await[2]["attempts"], 3);
}

#[tokio::test]
async fn one_hook_never_waits_for_another() {
    let fixture = DeliveryFixture::new().await;
    let hooks = format!("/projects/{}/hooks", fixture.project);
    fixture.ada.post(&hooks, &[("url", &fixture.receiver.url("/other"))]).await;
    fixture.receiver.fail(1);
    fixture.create_branches(&["a", "b"]).await;
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    let failed = &received[0].path;
    let to_other = received.iter().filter(|it| it.path != *failed).collect::<Vec<_>>();
    assert_eq!(to_other.len(), 2, "{received:?}");
    assert_eq!(received.len(), 3);
}

#[tokio::test]
async fn a_hook_that_fails_for_days_is_paused_and_resumes_without_loss() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b", "c"]).await;
    fixture.receiver.fail(1000);
    fixture.server.deliver_hooks().await;
    // One attempt every 15 minutes, for three days.
    let mut attempts = 0;
    for _ in 0..(3 * 24 * 4 - 1) {
        fixture.server.advance(TimeDelta::minutes(15));
        fixture.server.deliver_hooks().await;
        let received = fixture.receiver.take_received();
        assert!(received.iter().all(|it| it.sequence() == 1));
        attempts += received.len();
    }
    assert!((200..400).contains(&attempts), "{attempts} attempts in three days");
    assert_eq!(fixture.hook().await["paused_at"], Value::Null);
    fixture.server.advance(TimeDelta::minutes(15));
    fixture.server.deliver_hooks().await;
    let hook = fixture.hook().await;
    assert!(hook["paused_at"].is_string(), "{hook}");
    assert_eq!(fixture.receiver.sequences(), [1, 2, 3], "those behind it are tried, too");
    assert_eq!(fixture.states().await, ["parked", "parked", "parked"]);
    fixture.create_branch("d").await;
    fixture.server.advance(TimeDelta::minutes(15));
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty(), "once an hour");
    // The queued failures are used up, and the receiver succeeds again.
    while !fixture.hook().await["paused_at"].is_null() {
        fixture.server.advance(TimeDelta::hours(1));
        fixture.receiver.take_received();
        fixture.server.deliver_hooks().await;
    }
    let received = fixture.receiver.take_received();
    let first_success = received.iter().map(|it| it.sequence()).collect::<Vec<_>>();
    assert!(first_success.ends_with(&[4]), "{first_success:?}");
    assert_eq!(fixture.hook().await["failing_since"], Value::Null);
    assert_eq!(fixture.states().await[0], "delivered");
}

#[tokio::test]
async fn a_recovered_receiver_gets_all_deliveries_in_order() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b"]).await;
    fixture.receiver.fail(3);
    fixture.server.deliver_hooks().await;
    fixture.server.advance(TimeDelta::days(4));
    fixture.server.deliver_hooks().await;
    assert!(fixture.hook().await["paused_at"].is_string());
    assert_eq!(fixture.receiver.sequences(), [1, 1, 2]);
    fixture.create_branch("c").await;
    fixture.server.advance(TimeDelta::hours(2));
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [1, 2, 3]);
    assert_eq!(fixture.states().await, ["delivered", "delivered", "delivered"]);
    let hook = fixture.hook().await;
    assert_eq!((&hook["paused_at"], &hook["failing_since"]), (&Value::Null, &Value::Null));
}

/// A slow receiver makes no difference.
#[tokio::test]
async fn an_undeliverable_delivery_is_parked_and_skipped() {
    let fixture = DeliveryFixture::new().await;
    fixture.receiver.set_delay(Duration::from_millis(150));
    fixture.create_branches(&["a", "b", "c"]).await;
    fixture.receiver.fail(2);
    fixture.server.deliver_hooks().await;
    fixture.server.advance(TimeDelta::days(4));
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [1, 1, 2, 3]);
    assert_eq!(fixture.states().await, ["delivered", "delivered", "parked"]);
    assert_eq!(fixture.hook().await["paused_at"], Value::Null);
}

#[tokio::test]
async fn updating_a_paused_hook_resumes_it_at_once() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b"]).await;
    fixture.receiver.fail(3);
    fixture.server.deliver_hooks().await;
    fixture.server.advance(TimeDelta::days(4));
    fixture.server.deliver_hooks().await;
    fixture.receiver.take_received();
    let changed = fixture.ada.put(&fixture.hook, &[("url", &fixture.receiver.url("/mended"))]).await;
    assert_eq!((changed.status, &changed.body["paused_at"]), (200, &Value::Null), "{}", changed.text);
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    assert_eq!(
        received.iter().map(|it| (it.path.as_str(), it.sequence())).collect::<Vec<_>>(),
        [("/mended", 1), ("/mended", 2)]
    );
}

#[tokio::test]
async fn deliveries_rejected_as_invalid_are_parked_after_ten_attempts() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b"]).await;
    for _ in 0..10 {
        fixture.receiver.respond_with(StatusCode::UNPROCESSABLE_ENTITY);
    }
    for _ in 0..10 {
        fixture.server.deliver_hooks().await;
        fixture.server.advance(TimeDelta::minutes(15));
    }
    let received = fixture.receiver.sequences();
    assert_eq!(received, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert_eq!(fixture.states().await, ["delivered", "parked"]);
    assert_eq!(fixture.deliveries().await[1]["error"], "The receiver responded with 422");
}

/// Any status other than a success is a failed attempt.
#[tokio::test]
async fn only_success_statuses_count_as_delivered() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branch("a").await;
    for status in [301, 302, 304, 401, 403, 404, 429, 500, 503] {
        fixture.receiver.respond_with(StatusCode::from_u16(status).unwrap());
        fixture.server.deliver_hooks().await;
        assert_eq!(fixture.deliveries().await[0]["status"], status);
        assert_eq!(fixture.states().await, ["pending"], "{status}");
        fixture.server.advance(TimeDelta::hours(1));
    }
    fixture.receiver.respond_with(StatusCode::ACCEPTED);
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.states().await, ["delivered"]);
}

/// When a node dies while it holds the lease of a hook, another node takes over after the lease has expired.
#[tokio::test]
async fn another_node_takes_over_after_the_lease_expires() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b"]).await;
    fixture.server.deliver_hooks().await;
    fixture.receiver.take_received();
    fixture.create_branch("c").await;
    sqlx::query("update hook_queues set lease = 7, due_at = $1")
        .bind(chrono::DateTime::parse_from_rfc3339("2026-01-02T03:05:00Z").unwrap())
        .execute(&mut fixture.server.database().await)
        .await
        .unwrap();
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty(), "somebody is at it");
    fixture.server.advance(TimeDelta::minutes(1));
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [3]);
}

/// Several nodes deliver concurrently: each delivery is sent once, in order.
#[tokio::test]
async fn concurrent_nodes_deliver_once_and_in_order() {
    let fixture = DeliveryFixture::new().await;
    let hooks = format!("/projects/{}/hooks", fixture.project);
    for n in 0..5 {
        fixture.ada.post(&hooks, &[("url", &fixture.receiver.url(&format!("/{n}")))]).await;
    }
    let names: Vec<String> = (0..30).map(|n| format!("b{n}")).collect();
    let push = async {
        for name in &names {
            fixture.create_branch(name).await;
        }
    };
    let nodes: Vec<_> = (0..3).map(|_| fixture.server.another_app()).collect();
    let deliver = |app| async move {
        for _ in 0..40 {
            holdfast_app::hooks::dispatch::run_once(app).await.unwrap();
        }
    };
    tokio::join!(push, deliver(&nodes[0]), deliver(&nodes[1]), deliver(&nodes[2]));
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    for path in ["/hook", "/0", "/1", "/2", "/3", "/4"] {
        let sequences: Vec<i64> = received.iter().filter(|it| it.path == path).map(|it| it.sequence()).collect();
        assert_eq!(sequences, (1..=30).collect::<Vec<_>>(), "{path}");
    }
}

/// Deliveries of a deleted hook can no longer be read, and no further ones are sent.
#[tokio::test]
async fn deleted_hooks_receive_nothing() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branch("a").await;
    fixture.receiver.fail(1);
    fixture.server.deliver_hooks().await;
    fixture.receiver.take_received();
    assert_eq!(fixture.ada.delete(&fixture.hook).await.status, 200);
    fixture.create_branch("b").await;
    fixture.server.advance(TimeDelta::hours(1));
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    assert_eq!(
        fixture.ada.get(&format!("{}/deliveries", fixture.hook)).await.status_and_body(),
        (404, &json!({"message": "404 Not found"}))
    );
}
