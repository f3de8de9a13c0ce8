//! The delivery service of a node, with its own loops and in real time.

use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_app::hooks::dispatch;
use holdfast_tests::{ReceivedRequest, WorkTree};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::DeliveryFixture;

struct RunningService {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

fn start(app: Arc<App>) -> RunningService {
    let (stop, stopped) = oneshot::channel::<()>();
    let service = async move { dispatch::run(app, Box::pin(async { drop(stopped.await) })).await.unwrap() };
    RunningService { stop, ended: tokio::spawn(service) }
}

impl RunningService {
    async fn stop(self) {
        drop(self.stop);
        tokio::time::timeout(Duration::from_secs(120), self.ended).await.expect("it ends").unwrap();
    }
}

/// Waits until `count` requests were received.
async fn receive(fixture: &DeliveryFixture, count: usize) -> Vec<ReceivedRequest> {
    let mut received = Vec::new();
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    let waiting = async {
        while received.len() < count {
            looks.tick().await;
            received.extend(fixture.receiver.take_received());
        }
    };
    tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("they come");
    received
}

#[tokio::test]
async fn events_are_delivered_promptly() {
    let fixture = DeliveryFixture::new().await;
    let running = start(fixture.server.app.clone());
    fixture.create_branch("a").await;
    receive(&fixture, 1).await;
    fixture.create_branches(&["b", "c"]).await;
    let later = receive(&fixture, 2).await;
    assert_eq!(later.iter().map(ReceivedRequest::sequence).collect::<Vec<_>>(), [2, 3]);
    running.stop().await;
    assert_eq!(fixture.states().await, ["delivered"; 3]);
}

/// Graceful shutdown: a node finishes and records the attempts that it has started, so nothing is sent twice.
#[tokio::test]
async fn shutdown_finishes_and_records_started_deliveries() {
    let fixture = DeliveryFixture::new().await;
    fixture.receiver.set_delay(Duration::from_millis(300));
    fixture.create_branches(&["a", "b", "c"]).await;
    let running = start(fixture.server.app.clone());
    let first = receive(&fixture, 1).await;
    running.stop().await;
    let sent = first.len() + fixture.receiver.take_received().len();
    assert!(sent < 3, "it was stopped in between");
    let delivered = fixture.states().await.iter().filter(|state| *state == "delivered").count();
    assert_eq!(delivered, sent);
    fixture.receiver.set_delay(Duration::ZERO);
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.take_received().len(), 3 - sent);
}

/// An update of a hook applies to the next attempt, also within the current lease.
#[tokio::test]
async fn hook_updates_apply_to_the_next_attempt() {
    let fixture = DeliveryFixture::new().await;
    fixture.receiver.set_delay(Duration::from_millis(300));
    fixture.create_branches(&["a", "b", "c", "d", "e"]).await;
    let running = start(fixture.server.app.clone());
    receive(&fixture, 1).await;
    fixture.ada.put(&fixture.hook, &[("url", &fixture.receiver.url("/new"))]).await;
    let later = receive(&fixture, 2).await;
    let old = later.iter().filter(|it| it.path != "/new").count();
    assert!(old <= 1, "{later:?}");
    assert_eq!(fixture.ada.delete(&fixture.hook).await.status, 200);
    running.stop().await;
    assert!(fixture.receiver.take_received().len() <= 1);
}

/// A node without the repository in its cache downloads it for the payload.
#[tokio::test]
async fn a_node_with_an_empty_cache_delivers_push_events() {
    let fixture = DeliveryFixture::new().await;
    let url = fixture.server.git_url(&fixture.ada, "ada/p");
    let (cloned, tree) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    let id = tree.commit("new", b"1\n", "add").await;
    tree.push(&url, &["main"]).await.ok();
    let running = start(fixture.server.another_app());
    let received = receive(&fixture, 1).await;
    running.stop().await;
    let commit = &received[0].body["commits"][0];
    assert_eq!((&commit["id"], &commit["added"]), (&json!(id), &json!(["new"])));
}
