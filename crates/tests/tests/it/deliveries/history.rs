//! Looking at deliveries, having them made again, and how long they are kept.

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{TOKEN, World};
use crate::jobs::sweep;

#[tokio::test]
async fn a_delivery_is_shown_with_both_sides_and_without_secrets() {
    let world = World::new().await;
    let url = world.receiver.url("/x").replace("http://", "http://bot:hush-hush@");
    world.ada.put(&world.hook, &[("url", &*url), ("token", TOKEN)]).await;
    world.branch("a").await;
    let echo = format!("you sent {TOKEN} and hush-hush and Ym90Omh1c2gtaHVzaA==");
    world.receiver.answer((StatusCode::CREATED, [("set-cookie", "s=1"), ("x-echo", TOKEN)], echo));
    world.server.deliver().await;
    let received = &world.receiver.take()[0];
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
    let kept = world.server.contents().await;
    assert!(!kept["deliveries"].to_string().contains(TOKEN));
    assert!(!holdfast_tests::log::captured().contains(TOKEN));
}

#[tokio::test]
async fn one_is_sent_again_under_its_old_id() {
    let world = World::new().await;
    world.branches(&["a", "b"]).await;
    world.server.deliver().await;
    let before = world.receiver.take();
    let again = world.ada.post(&format!("{}/deliveries/1/replay", world.hook), &[]).await;
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!((&again.body["id"], &again.body["replay_of"]), (&json!(3), &json!(1)));
    assert_eq!(again.body["delivery_id"], before[0].header("webhook-id"));
    world.branch("c").await;
    world.server.deliver().await;
    let after = world.receiver.take();
    assert_eq!(after.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(after[0].header("webhook-id"), before[0].header("webhook-id"));
    assert_eq!(after[0].raw, before[0].raw);
    // Of a replay, it is the same again.
    let third = world.ada.post(&format!("{}/deliveries/3/replay", world.hook), &[]).await.body;
    assert_eq!((&third["id"], &third["replay_of"]), (&json!(5), &json!(1)));
    for (path, status) in [("deliveries/77/replay", 404), ("deliveries/0/replay", 404), ("deliveries/x/replay", 404)] {
        assert_eq!(world.ada.post(&format!("{}/{path}", world.hook), &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn everything_from_a_number_on_is_sent_again() {
    let world = World::new().await;
    world.branches(&["a", "b", "c"]).await;
    world.server.deliver().await;
    let before = world.receiver.take();
    let replayed = world.ada.post(&format!("{}/replay", world.hook), &[("from", "2")]).await;
    assert_eq!(replayed.both(), (201, &json!({"from": 2, "deliveries": 2})));
    assert_eq!(world.states().await, ["pending", "pending", "delivered"]);
    world.branch("d").await;
    world.server.deliver().await;
    let after = world.receiver.take();
    assert_eq!(after.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(after[0].header("webhook-id"), before[1].header("webhook-id"));
    assert_eq!(world.states().await, ["delivered"; 4]);
    for (from, text) in
        [("0", "There is no delivery 0: the last one is 4"), ("6", "There is no delivery 6: the last one is 4")]
    {
        let refused = world.ada.post(&format!("{}/replay", world.hook), &[("from", from)]).await;
        assert_eq!(refused.both(), (400, &json!({"message": text})));
    }
    let missing = world.ada.post(&format!("{}/replay", world.hook), &[]).await;
    assert_eq!(missing.both(), (400, &json!({"error": "from is missing"})));
}

/// The way past something that a receiver cannot take.
#[tokio::test]
async fn a_hook_can_be_led_past_what_holds_it_up() {
    let world = World::new().await;
    world.branches(&["a", "b", "c"]).await;
    world.receiver.fail(1);
    world.server.deliver().await;
    world.receiver.take();
    assert_eq!(world.ada.post(&format!("{}/replay?from=3", world.hook), &[]).await.status, 201);
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [3], "at once");
    assert_eq!(world.states().await, ["delivered", "parked", "parked"]);
    assert_eq!(world.hook().await["failing_since"], Value::Null);
}

/// Also past the last one.
#[tokio::test]
async fn a_hook_can_be_led_past_everything() {
    let world = World::new().await;
    world.branch("a").await;
    world.receiver.fail(1);
    world.server.deliver().await;
    world.receiver.take();
    let led = world.ada.post(&format!("{}/replay?from=2", world.hook), &[]).await;
    assert_eq!(led.both(), (201, &json!({"from": 2, "deliveries": 0})));
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty());
    assert_eq!(world.states().await, ["parked"]);
    world.branch("b").await;
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [2]);
}

/// While somebody is at the hook it is left alone, and then goes on where it was told to.
#[tokio::test]
async fn a_replay_waits_for_who_is_at_the_hook() {
    let world = World::new().await;
    world.branches(&["a", "b"]).await;
    world.server.deliver().await;
    world.receiver.take();
    sqlx::query("update hook_queues set lease = 7, due_at = '2026-01-02T03:05:00Z'")
        .execute(&mut world.server.database().await)
        .await
        .unwrap();
    assert_eq!(world.ada.post(&format!("{}/replay?from=1", world.hook), &[]).await.status, 201);
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty());
    world.server.advance(TimeDelta::minutes(2));
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [1, 2]);
}

#[tokio::test]
async fn deliveries_belong_to_their_hook() {
    let world = World::new().await;
    world.branch("a").await;
    world.server.deliver().await;
    let (_, eve) = world.server.user("eve").await;
    let own = world.server.project(&eve, "own", 20).await;
    let made = eve.post(&format!("/projects/{own}/hooks"), &[("url", "http://h.example")]).await.body;
    let id = world.hook.rsplit('/').next().unwrap();
    let before = world.server.contents().await;
    for hook in [format!("/projects/{own}/hooks/{id}"), format!("/projects/{own}/hooks/{}", made["id"])] {
        assert_eq!(eve.get(&format!("{hook}/deliveries/1")).await.status, 404);
        assert_eq!(eve.post(&format!("{hook}/deliveries/1/replay"), &[]).await.status, 404);
    }
    assert_eq!(eve.get(&format!("/projects/{own}/hooks/{id}/deliveries")).await.status, 404);
    assert_eq!(eve.post(&format!("/projects/{own}/hooks/{id}/replay"), &[("from", "1")]).await.status, 404);
    // A project's hook is none of the instance's, not even for an administrator.
    let admin = &world.server.admin;
    assert_eq!(admin.get(&format!("/hooks/{id}")).await.status, 404);
    assert_eq!(admin.get(&format!("/hooks/{id}/deliveries")).await.status, 404);
    assert_eq!(admin.delete(&format!("/hooks/{id}")).await.status, 404);
    assert_eq!(world.server.contents().await, before);
}

#[tokio::test]
async fn what_is_old_is_forgotten_with_its_partition() {
    let world = World::new().await;
    let mut database = world.server.database().await;
    sqlx::raw_sql("select make_partitions('2026-02-11')").execute(&mut database).await.unwrap();
    world.branch("a").await;
    world.server.advance(TimeDelta::days(40));
    world.branch("b").await;
    world.server.deliver().await;
    world.receiver.fail(1);
    world.branch("c").await;
    world.server.deliver().await;
    sweep(&world.server).await;
    assert_eq!(world.deliveries().await.len(), 2, "the first is older than a month");
    world.server.advance(TimeDelta::days(35));
    sweep(&world.server).await;
    assert!(world.deliveries().await.is_empty());
    let left: i64 = sqlx::query_scalar("select count(*) from outbox where created_at < '2026-02-12'")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert!(left > 0, "what deliveries tell of is kept a week longer");
    world.server.advance(TimeDelta::days(8));
    sweep(&world.server).await;
    let left: i64 = sqlx::query_scalar("select count(*) from outbox").fetch_one(&mut database).await.unwrap();
    assert_eq!(left, 0);
    // What waits behind what is gone is still told.
    world.receiver.take();
    world.branch("d").await;
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [4]);
}
