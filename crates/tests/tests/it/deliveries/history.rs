//! Listing deliveries, replaying them, and their retention.

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{DeliveryFixture, TOKEN};
use crate::jobs::sweep;

#[tokio::test]
async fn deliveries_show_request_and_response_without_secrets() {
    let fixture = DeliveryFixture::new().await;
    let url = fixture.receiver.url("/x").replace("http://", "http://bot:hush-hush@");
    fixture.ada.put(&fixture.hook, &[("url", &*url), ("token", TOKEN)]).await;
    fixture.create_branch("a").await;
    let echo = format!("you sent {TOKEN} and hush-hush and Ym90Omh1c2gtaHVzaA==");
    fixture.receiver.respond_with((StatusCode::CREATED, [("set-cookie", "s=1"), ("x-echo", TOKEN)], echo));
    fixture.server.deliver_hooks().await;
    let received = &fixture.receiver.take_received()[0];
    assert_eq!(received.header("authorization"), "Basic Ym90Omh1c2gtaHVzaA==");
    assert_eq!(received.header("x-gitlab-token"), TOKEN);
    let shown = fixture.ada.get(&format!("{}/deliveries/1", fixture.hook)).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for secret in [TOKEN, "hush-hush", "Ym90Omh1c2gtaHVzaA==", "s=1"] {
        assert!(!shown.text.contains(secret), "{secret}: {}", shown.text);
    }
    let body = &shown.body;
    assert_eq!(body["request"]["body"], received.body);
    assert_eq!(body["request"]["headers"]["webhook-id"], received.header("webhook-id"));
    assert_eq!(body["request"]["headers"]["x-gitlab-token"], "[hidden]");
    assert_eq!(body["response"]["status"], 201);
    assert_eq!(body["response"]["body"], "you sent [hidden] and [hidden] and [hidden]");
    assert_eq!((&body["state"], &body["attempts"], &body["event"]), (&json!("delivered"), &json!(1), &json!("push")));
    assert_eq!(body["delivered_at"], "2026-01-02T03:04:05.678Z");
    let kept = fixture.server.dump_database().await;
    assert!(!kept["deliveries"].to_string().contains(TOKEN));
    assert!(!holdfast_tests::log::captured().contains(TOKEN));
}

#[tokio::test]
async fn replaying_one_delivery_keeps_its_id() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b"]).await;
    fixture.server.deliver_hooks().await;
    let before = fixture.receiver.take_received();
    let again = fixture.ada.post(&format!("{}/deliveries/1/replay", fixture.hook), &[]).await;
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!((&again.body["id"], &again.body["replay_of"]), (&json!(3), &json!(1)));
    assert_eq!(again.body["delivery_id"], before[0].header("webhook-id"));
    fixture.create_branch("c").await;
    fixture.server.deliver_hooks().await;
    let after = fixture.receiver.take_received();
    assert_eq!(after.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(after[0].header("webhook-id"), before[0].header("webhook-id"));
    assert_eq!(after[0].raw, before[0].raw);
    // A replay of a replay refers to the original delivery.
    let third = fixture.ada.post(&format!("{}/deliveries/3/replay", fixture.hook), &[]).await.body;
    assert_eq!((&third["id"], &third["replay_of"]), (&json!(5), &json!(1)));
    for (path, status) in [("deliveries/77/replay", 404), ("deliveries/0/replay", 404), ("deliveries/x/replay", 404)] {
        assert_eq!(fixture.ada.post(&format!("{}/{path}", fixture.hook), &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn replay_resends_everything_from_a_sequence_number() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b", "c"]).await;
    fixture.server.deliver_hooks().await;
    let before = fixture.receiver.take_received();
    let replayed = fixture.ada.post(&format!("{}/replay", fixture.hook), &[("from", "2")]).await;
    assert_eq!(replayed.status_and_body(), (201, &json!({"from": 2, "deliveries": 2})));
    assert_eq!(fixture.states().await, ["pending", "pending", "delivered"]);
    fixture.create_branch("d").await;
    fixture.server.deliver_hooks().await;
    let after = fixture.receiver.take_received();
    assert_eq!(after.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(after[0].header("webhook-id"), before[1].header("webhook-id"));
    assert_eq!(fixture.states().await, ["delivered"; 4]);
    for (from, text) in [
        ("0", "There is no delivery 0: the last delivery is 4"),
        ("6", "There is no delivery 6: the last delivery is 4"),
    ] {
        let refused = fixture.ada.post(&format!("{}/replay", fixture.hook), &[("from", from)]).await;
        assert_eq!(refused.status_and_body(), (400, &json!({"message": text})));
    }
    let missing = fixture.ada.post(&format!("{}/replay", fixture.hook), &[]).await;
    assert_eq!(missing.status_and_body(), (400, &json!({"error": "from is missing"})));
}

/// Replaying from a later delivery skips one that the receiver does not accept.
#[tokio::test]
async fn replay_can_skip_a_blocking_delivery() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b", "c"]).await;
    fixture.receiver.fail(1);
    fixture.server.deliver_hooks().await;
    fixture.receiver.take_received();
    assert_eq!(fixture.ada.post(&format!("{}/replay?from=3", fixture.hook), &[]).await.status, 201);
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [3], "at once");
    assert_eq!(fixture.states().await, ["delivered", "parked", "parked"]);
    assert_eq!(fixture.hook().await["failing_since"], Value::Null);
}

/// Replaying from behind the last delivery skips all of them.
#[tokio::test]
async fn replay_can_skip_all_pending_deliveries() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branch("a").await;
    fixture.receiver.fail(1);
    fixture.server.deliver_hooks().await;
    fixture.receiver.take_received();
    let led = fixture.ada.post(&format!("{}/replay?from=2", fixture.hook), &[]).await;
    assert_eq!(led.status_and_body(), (201, &json!({"from": 2, "deliveries": 0})));
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    assert_eq!(fixture.states().await, ["parked"]);
    fixture.create_branch("b").await;
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [2]);
}

/// A replay does not interrupt the node that holds the lease; it starts when the lease has expired.
#[tokio::test]
async fn replay_waits_for_the_current_lease() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branches(&["a", "b"]).await;
    fixture.server.deliver_hooks().await;
    fixture.receiver.take_received();
    sqlx::query("update hook_queues set lease = 7, due_at = '2026-01-02T03:05:00Z'")
        .execute(&mut fixture.server.database().await)
        .await
        .unwrap();
    assert_eq!(fixture.ada.post(&format!("{}/replay?from=1", fixture.hook), &[]).await.status, 201);
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    fixture.server.advance(TimeDelta::minutes(2));
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [1, 2]);
}

#[tokio::test]
async fn deliveries_belong_to_their_hook() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branch("a").await;
    fixture.server.deliver_hooks().await;
    let (_, eve) = fixture.server.user("eve").await;
    let own = fixture.server.project(&eve, "own", 20).await;
    let made = eve.post(&format!("/projects/{own}/hooks"), &[("url", "http://h.example")]).await.body;
    let id = fixture.hook.rsplit('/').next().unwrap();
    let before = fixture.server.dump_database().await;
    for hook in [format!("/projects/{own}/hooks/{id}"), format!("/projects/{own}/hooks/{}", made["id"])] {
        assert_eq!(eve.get(&format!("{hook}/deliveries/1")).await.status, 404);
        assert_eq!(eve.post(&format!("{hook}/deliveries/1/replay"), &[]).await.status, 404);
    }
    assert_eq!(eve.get(&format!("/projects/{own}/hooks/{id}/deliveries")).await.status, 404);
    assert_eq!(eve.post(&format!("/projects/{own}/hooks/{id}/replay"), &[("from", "1")]).await.status, 404);
    // A project hook is not found as a system hook, not even by an administrator.
    let admin = &fixture.server.admin;
    assert_eq!(admin.get(&format!("/hooks/{id}")).await.status, 404);
    assert_eq!(admin.get(&format!("/hooks/{id}/deliveries")).await.status, 404);
    assert_eq!(admin.delete(&format!("/hooks/{id}")).await.status, 404);
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn old_deliveries_are_dropped_with_their_partition() {
    let fixture = DeliveryFixture::new().await;
    let mut database = fixture.server.database().await;
    sqlx::raw_sql("select make_partitions('2026-02-11')").execute(&mut database).await.unwrap();
    fixture.create_branch("a").await;
    fixture.server.advance(TimeDelta::days(40));
    fixture.create_branch("b").await;
    fixture.server.deliver_hooks().await;
    fixture.receiver.fail(1);
    fixture.create_branch("c").await;
    fixture.server.deliver_hooks().await;
    sweep(&fixture.server).await;
    assert_eq!(fixture.deliveries().await.len(), 2, "the first is older than a month");
    fixture.server.advance(TimeDelta::days(35));
    sweep(&fixture.server).await;
    assert!(fixture.deliveries().await.is_empty());
    let left: i64 = sqlx::query_scalar("select count(*) from outbox where created_at < '2026-02-12'")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert!(left > 0, "events are kept a week longer than their deliveries");
    fixture.server.advance(TimeDelta::days(8));
    sweep(&fixture.server).await;
    let left: i64 = sqlx::query_scalar("select count(*) from outbox").fetch_one(&mut database).await.unwrap();
    assert_eq!(left, 0);
    // An event after the dropped ones is still delivered.
    fixture.receiver.take_received();
    fixture.create_branch("d").await;
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.sequences(), [4]);
}
