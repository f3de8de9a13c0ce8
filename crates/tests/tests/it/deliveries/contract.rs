//! At least once, in order, for days.

use std::time::Duration;

use axum::http::StatusCode;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::World;

fn refs(received: &[holdfast_tests::Received]) -> Vec<&str> {
    received.iter().map(|it| it.body["ref"].as_str().unwrap().trim_start_matches("refs/heads/")).collect()
}

#[tokio::test]
async fn what_fails_is_sent_again_before_anything_behind_it() {
    let world = World::new().await;
    world.branches(&["a", "b", "c"]).await;
    world.receiver.fail(2);
    world.server.deliver().await;
    let first = world.receiver.take();
    assert_eq!(refs(&first), ["a"]);
    assert_eq!(world.states().await, ["pending", "pending", "pending"]);
    world.server.advance(TimeDelta::milliseconds(100));
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty(), "not so soon");
    world.server.advance(TimeDelta::milliseconds(500));
    world.server.deliver().await;
    let second = world.receiver.take();
    assert_eq!(refs(&second), ["a"], "it failed a second time");
    assert!(world.hook().await["failing_since"].is_string());
    world.server.advance(TimeDelta::seconds(1));
    world.server.deliver().await;
    let third = world.receiver.take();
    assert_eq!(refs(&third), ["a", "b", "c"]);
    assert_eq!(third.iter().map(|it| it.sequence()).collect::<Vec<_>>(), [1, 2, 3]);
    for again in [&second[0], &third[0]] {
        assert_eq!(again.header("webhook-id"), first[0].header("webhook-id"));
        assert_eq!(again.raw, first[0].raw);
    }
    assert_eq!(world.states().await, ["delivered", "delivered", "delivered"]);
    assert_eq!(world.hook().await["failing_since"], Value::Null);
    assert_eq!(world.deliveries().await[2]["attempts"], 3);
}

#[tokio::test]
async fn one_hook_never_waits_for_another() {
    let world = World::new().await;
    let hooks = format!("/projects/{}/hooks", world.project);
    world.ada.post(&hooks, &[("url", &world.receiver.url("/other"))]).await;
    world.receiver.fail(1);
    world.branches(&["a", "b"]).await;
    world.server.deliver().await;
    let received = world.receiver.take();
    let failed = &received[0].path;
    let to_other = received.iter().filter(|it| it.path != *failed).collect::<Vec<_>>();
    assert_eq!(to_other.len(), 2, "{received:?}");
    assert_eq!(received.len(), 3);
}

#[tokio::test]
async fn a_hook_that_fails_for_days_is_paused_and_comes_back_with_what_it_missed() {
    let world = World::new().await;
    world.branches(&["a", "b", "c"]).await;
    world.receiver.fail(1000);
    world.server.deliver().await;
    // Every quarter of an hour, for three days.
    let mut attempts = 0;
    for _ in 0..(3 * 24 * 4 - 1) {
        world.server.advance(TimeDelta::minutes(15));
        world.server.deliver().await;
        let received = world.receiver.take();
        assert!(received.iter().all(|it| it.sequence() == 1));
        attempts += received.len();
    }
    assert!((200..400).contains(&attempts), "{attempts} attempts in three days");
    assert_eq!(world.hook().await["paused_at"], Value::Null);
    world.server.advance(TimeDelta::minutes(15));
    world.server.deliver().await;
    let hook = world.hook().await;
    assert!(hook["paused_at"].is_string(), "{hook}");
    assert_eq!(world.receiver.sequences(), [1, 2, 3], "those behind it are tried, too");
    assert_eq!(world.states().await, ["parked", "parked", "parked"]);
    world.branch("d").await;
    world.server.advance(TimeDelta::minutes(15));
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty(), "once an hour");
    // Whatever was to fail has failed; now it is back.
    while !world.hook().await["paused_at"].is_null() {
        world.server.advance(TimeDelta::hours(1));
        world.receiver.take();
        world.server.deliver().await;
    }
    let received = world.receiver.take();
    let first_success = received.iter().map(|it| it.sequence()).collect::<Vec<_>>();
    assert!(first_success.ends_with(&[4]), "{first_success:?}");
    assert_eq!(world.hook().await["failing_since"], Value::Null);
    assert_eq!(world.states().await[0], "delivered");
}

#[tokio::test]
async fn a_receiver_that_returns_gets_everything_in_order() {
    let world = World::new().await;
    world.branches(&["a", "b"]).await;
    world.receiver.fail(3);
    world.server.deliver().await;
    world.server.advance(TimeDelta::days(4));
    world.server.deliver().await;
    assert!(world.hook().await["paused_at"].is_string());
    assert_eq!(world.receiver.sequences(), [1, 1, 2]);
    world.branch("c").await;
    world.server.advance(TimeDelta::hours(2));
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [1, 2, 3]);
    assert_eq!(world.states().await, ["delivered", "delivered", "delivered"]);
    let hook = world.hook().await;
    assert_eq!((&hook["paused_at"], &hook["failing_since"]), (&Value::Null, &Value::Null));
}

/// Also if the receiver takes its time.
#[tokio::test]
async fn one_that_cannot_be_taken_is_passed_over_in_the_end() {
    let world = World::new().await;
    world.receiver.take_long(Duration::from_millis(150));
    world.branches(&["a", "b", "c"]).await;
    world.receiver.fail(2);
    world.server.deliver().await;
    world.server.advance(TimeDelta::days(4));
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [1, 1, 2, 3]);
    assert_eq!(world.states().await, ["delivered", "delivered", "parked"]);
    assert_eq!(world.hook().await["paused_at"], Value::Null);
}

#[tokio::test]
async fn whoever_mends_a_hook_need_not_wait() {
    let world = World::new().await;
    world.branches(&["a", "b"]).await;
    world.receiver.fail(3);
    world.server.deliver().await;
    world.server.advance(TimeDelta::days(4));
    world.server.deliver().await;
    world.receiver.take();
    let changed = world.ada.put(&world.hook, &[("url", &world.receiver.url("/mended"))]).await;
    assert_eq!((changed.status, &changed.body["paused_at"]), (200, &Value::Null), "{}", changed.text);
    world.server.deliver().await;
    let received = world.receiver.take();
    assert_eq!(
        received.iter().map(|it| (it.path.as_str(), it.sequence())).collect::<Vec<_>>(),
        [("/mended", 1), ("/mended", 2)]
    );
}

#[tokio::test]
async fn what_a_receiver_does_not_understand_holds_up_nothing_for_long() {
    let world = World::new().await;
    world.branches(&["a", "b"]).await;
    for _ in 0..10 {
        world.receiver.answer(StatusCode::UNPROCESSABLE_ENTITY);
    }
    for _ in 0..10 {
        world.server.deliver().await;
        world.server.advance(TimeDelta::minutes(15));
    }
    let received = world.receiver.sequences();
    assert_eq!(received, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert_eq!(world.states().await, ["delivered", "parked"]);
    assert_eq!(world.deliveries().await[1]["error"], "The receiver answered 422");
}

/// Nothing but a success is one.
#[tokio::test]
async fn only_a_success_counts() {
    let world = World::new().await;
    world.branch("a").await;
    for status in [301, 302, 304, 401, 403, 404, 429, 500, 503] {
        world.receiver.answer(StatusCode::from_u16(status).unwrap());
        world.server.deliver().await;
        assert_eq!(world.deliveries().await[0]["status"], status);
        assert_eq!(world.states().await, ["pending"], "{status}");
        world.server.advance(TimeDelta::hours(1));
    }
    world.receiver.answer(StatusCode::ACCEPTED);
    world.server.deliver().await;
    assert_eq!(world.states().await, ["delivered"]);
}

/// A node that dies while it is at a hook is waited for, and then replaced.
#[tokio::test]
async fn another_node_goes_on_where_one_died() {
    let world = World::new().await;
    world.branches(&["a", "b"]).await;
    world.server.deliver().await;
    world.receiver.take();
    world.branch("c").await;
    sqlx::query("update hook_queues set lease = 7, due_at = $1")
        .bind(chrono::DateTime::parse_from_rfc3339("2026-01-02T03:05:00Z").unwrap())
        .execute(&mut world.server.database().await)
        .await
        .unwrap();
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty(), "somebody is at it");
    world.server.advance(TimeDelta::minutes(1));
    world.server.deliver().await;
    assert_eq!(world.receiver.sequences(), [3]);
}

/// Many nodes at once: each delivery once, in order.
#[tokio::test]
async fn nodes_do_not_get_in_each_others_way() {
    let world = World::new().await;
    let hooks = format!("/projects/{}/hooks", world.project);
    for n in 0..5 {
        world.ada.post(&hooks, &[("url", &world.receiver.url(&format!("/{n}")))]).await;
    }
    let names: Vec<String> = (0..30).map(|n| format!("b{n}")).collect();
    let push = async {
        for name in &names {
            world.branch(name).await;
        }
    };
    let nodes: Vec<_> = (0..3).map(|_| world.server.another_app()).collect();
    let tell = |app| async move {
        for _ in 0..40 {
            holdfast_app::hooks::sending::settle(app).await.unwrap();
        }
    };
    tokio::join!(push, tell(&nodes[0]), tell(&nodes[1]), tell(&nodes[2]));
    world.server.deliver().await;
    let received = world.receiver.take();
    for path in ["/hook", "/0", "/1", "/2", "/3", "/4"] {
        let sequences: Vec<i64> = received.iter().filter(|it| it.path == path).map(|it| it.sequence()).collect();
        assert_eq!(sequences, (1..=30).collect::<Vec<_>>(), "{path}");
    }
}

/// What is told of one hook is nobody else's business, and a hook that is gone is told nothing.
#[tokio::test]
async fn a_hook_that_is_gone_is_told_nothing() {
    let world = World::new().await;
    world.branch("a").await;
    world.receiver.fail(1);
    world.server.deliver().await;
    world.receiver.take();
    assert_eq!(world.ada.delete(&world.hook).await.status, 200);
    world.branch("b").await;
    world.server.advance(TimeDelta::hours(1));
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty());
    assert_eq!(
        world.ada.get(&format!("{}/deliveries", world.hook)).await.both(),
        (404, &json!({"message": "404 Not found"}))
    );
}
