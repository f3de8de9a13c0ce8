//! Listing deliveries, replaying them, and their retention.

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{DeliveryFixture, TOKEN};
use crate::jobs::sweep;

#[tokio::test]
async fn deliveries_show_request_and_response_without_secrets() {
    let world = DeliveryFixture::new().await;
    let url = world.receiver.url("/x").replace("http://", "http://bot:hush-hush@");
    world.ada.put(&world.hook, &[("url", &*url), ("token", TOKEN)]).await;
    world.create_branch("a").await;
    let echo = format!("you sent {TOKEN} and hush-hush and Ym90Omh1c2gtaHVzaA==");
    world.receiver.respond_with((StatusCode::CREATED, [("set-cookie", "s=1"), ("x-echo", TOKEN)], echo));
    world.server.deliver_hooks().await;
    let received = &world.receiver.take_received()[0];
    assert_eq!(received.header("authorization"), "Basic Ym90Omh1c2gtaHVzaA==");
    assert_eq!(received.header("x-gitlab-token"), TOKEN);
    let shown = world.ada.get(&format!("{}/deliveries/1", world.hook)).await;
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
    let kept = world.server.dump_database().await;
    assert!(!kept["deliveries"].to_string().contains(TOKEN));
    assert!(!holdfast_tests::log::captured().contains(TOKEN));
}

#[tokio::test]
async fn replaying_one_delivery_keeps_its_id() {
    let world = DeliveryFixture::new().await;
    world.create_branches(&["a", "b"]).await;
    world.server.deliver_hooks().await;
    let before = world.receiver.take_received();
    let again = world.ada.post(&format!("{}/deliveries/1/replay", world.hook), &[]).await;
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!((&again.body["id"], &again.body["replay_of"]), (&json!(3), &json!(1)));
    assert_eq!(again.body["delivery_id"], before[0].header("webhook-id"));
    world.create_branch("c").await;
    world.server.deliver_hooks().await;
    let after = world.receiver.take_received();
    assert_eq!(after.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(after[0].header("webhook-id"), before[0].header("webhook-id"));
    assert_eq!(after[0].raw, before[0].raw);
    // A replay of a replay refers to the original delivery.
    let third = world.ada.post(&format!("{}/deliveries/3/replay", world.hook), &[]).await.body;
    assert_eq!((&third["id"], &third["replay_of"]), (&json!(5), &json!(1)));
    for (path, status) in [("deliveries/77/replay", 404), ("deliveries/0/replay", 404), ("deliveries/x/replay", 404)] {
        assert_eq!(world.ada.post(&format!("{}/{path}", world.hook), &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn replay_resends_everything_from_a_sequence_number() {
    let world = DeliveryFixture::new().await;
    world.create_branches(&["a", "b", "c"]).await;
    world.server.deliver_hooks().await;
    let before = world.receiver.take_received();
    let replayed = world.ada.post(&format!("{}/replay", world.hook), &[("from", "2")]).await;
    assert_eq!(replayed.status_and_body(), (201, &json!({"from": 2, "deliveries": 2})));
    assert_eq!(world.states().await, ["pending", "pending", "delivered"]);
    world.create_branch("d").await;
    world.server.deliver_hooks().await;
    let after = world.receiver.take_received();
    assert_eq!(after.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(after[0].header("webhook-id"), before[1].header("webhook-id"));
    assert_eq!(world.states().await, ["delivered"; 4]);
    for (from, text) in [
        ("0", "There is no delivery 0: the last delivery is 4"),
        ("6", "There is no delivery 6: the last delivery is 4"),
    ] {
        let refused = world.ada.post(&format!("{}/replay", world.hook), &[("from", from)]).await;
        assert_eq!(refused.status_and_body(), (400, &json!({"message": text})));
    }
    let missing = world.ada.post(&format!("{}/replay", world.hook), &[]).await;
    assert_eq!(missing.status_and_body(), (400, &json!({"error": "from is missing"})));
}

/// Replaying from a later delivery skips one that the receiver does not accept.
#[tokio::test]
async fn replay_can_skip_a_blocking_delivery() {
    let world = DeliveryFixture::new().await;
    world.create_branches(&["a", "b", "c"]).await;
    world.receiver.fail(1);
    world.server.deliver_hooks().await;
    world.receiver.take_received();
    assert_eq!(world.ada.post(&format!("{}/replay?from=3", world.hook), &[]).await.status, 201);
    world.server.deliver_hooks().await;
    assert_eq!(world.receiver.sequences(), [3], "at once");
    assert_eq!(world.states().await, ["delivered", "parked", "parked"]);
    assert_eq!(world.hook().await["failing_since"], Value::Null);
}

/// Replaying from behind the last delivery skips all of them.
#[tokio::test]
async fn replay_can_skip_all_pending_deliveries() {
    let world = DeliveryFixture::new().await;
    world.create_branch("a").await;
    world.receiver.fail(1);
    world.server.deliver_hooks().await;
    world.receiver.take_received();
    let led = world.ada.post(&format!("{}/replay?from=2", world.hook), &[]).await;
    assert_eq!(led.status_and_body(), (201, &json!({"from": 2, "deliveries": 0})));
    world.server.deliver_hooks().await;
    assert!(world.receiver.take_received().is_empty());
    assert_eq!(world.states().await, ["parked"]);
    world.create_branch("b").await;
    world.server.deliver_hooks().await;
    assert_eq!(world.receiver.sequences(), [2]);
}

/// A replay does not interrupt the node that holds the lease; it starts when the lease has expired.
#[tokio::test]
async fn replay_waits_for_the_current_lease() {
    let world = DeliveryFixture::new().await;
    world.create_branches(&["a", "b"]).await;
    world.server.deliver_hooks().await;
    world.receiver.take_received();
    sqlx::query("update hook_queues set lease = 7, due_at = '2026-01-02T03:05:00Z'")
        .execute(&mut world.server.database().await)
        .await
        .unwrap();
    assert_eq!(world.ada.post(&format!("{}/replay?from=1", world.hook), &[]).await.status, 201);
    world.server.deliver_hooks().await;
    assert!(world.receiver.take_received().is_empty());
    world.server.advance(TimeDelta::minutes(2));
    world.server.deliver_hooks().await;
    assert_eq!(world.receiver.sequences(), [1, 2]);
}

#[tokio::test]
async fn deliveries_belong_to_their_hook() {
    let world = DeliveryFixture::new().await;
    world.create_branch("a").await;
    world.server.deliver_hooks().await;
    let (_, eve) = world.server.user("eve").await;
    let own = world.server.project(&eve, "own", 20).await;
    let made = eve.post(&format!("/projects/{own}/hooks"), &[("url", "http://h.example")]).await.body;
    let id = world.hook.rsplit('/').next().unwrap();
    let before = world.server.dump_database().await;
    for hook in [format!("/projects/{own}/hooks/{id}"), format!("/projects/{own}/hooks/{}", made["id"])] {
        assert_eq!(eve.get(&format!("{hook}/deliveries/1")).await.status, 404);
        assert_eq!(eve.post(&format!("{hook}/deliveries/1/replay"), &[]).await.status, 404);
    }
    assert_eq!(eve.get(&format!("/projects/{own}/hooks/{id}/deliveries")).await.status, 404);
    assert_eq!(eve.post(&format!("/projects/{own}/hooks/{id}/replay"), &[("from", "1")]).await.status, 404);
    // A project hook is not found as a system hook, not even by an administrator.
    let admin = &world.server.admin;
    assert_eq!(admin.get(&format!("/hooks/{id}")).await.status, 404);
    assert_eq!(admin.get(&format!("/hooks/{id}/deliveries")).await.status, 404);
    assert_eq!(admin.delete(&format!("/hooks/{id}")).await.status, 404);
    assert_eq!(world.server.dump_database().await, before);
}

#[tokio::test]
async fn old_deliveries_are_dropped_with_their_partition() {
    let world = DeliveryFixture::new().await;
    let mut database = world.server.database().await;
    sqlx::raw_sql("select make_partitions('2026-02-11')").execute(&mut database).await.unwrap();
    world.create_branch("a").await;
    world.server.advance(TimeDelta::days(40));
    world.create_branch("b").await;
    world.server.deliver_hooks().await;
    world.receiver.fail(1);
    world.create_branch("c").await;
    world.server.deliver_hooks().await;
    sweep(&world.server).await;
    assert_eq!(world.deliveries().await.len(), 2, "the first is older than a month");
    world.server.advance(TimeDelta::days(35));
    sweep(&world.server).await;
    assert!(world.deliveries().await.is_empty());
    let left: i64 = sqlx::query_scalar("select count(*) from outbox where created_at < '2026-02-12'")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert!(left > 0, "events are kept a week longer than their deliveries");
    world.server.advance(TimeDelta::days(8));
    sweep(&world.server).await;
    let left: i64 = sqlx::query_scalar("select count(*) from outbox").fetch_one(&mut database).await.unwrap();
    assert_eq!(left, 0);
    // An event after the dropped ones is still delivered.
    world.receiver.take_received();
    world.create_branch("d").await;
    world.server.deliver_hooks().await;
    assert_eq!(world.receiver.sequences(), [4]);
}
