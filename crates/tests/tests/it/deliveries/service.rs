//! The service that every node runs, with its own loops and in real time.

use std::sync::Arc;
use std::time::Duration;

use holdfast_app::App;
use holdfast_app::hooks::sending;
use holdfast_tests::{Received, WorkTree};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::World;

struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

fn start(app: Arc<App>) -> Running {
    let (stop, stopped) = oneshot::channel::<()>();
    let service = async move { sending::run(app, async { drop(stopped.await) }).await.unwrap() };
    Running { stop, ended: tokio::spawn(service) }
}

impl Running {
    async fn stop(self) {
        drop(self.stop);
        tokio::time::timeout(Duration::from_secs(120), self.ended).await.expect("it ends").unwrap();
    }
}

/// Waits for so many.
async fn receive(world: &World, count: usize) -> Vec<Received> {
    let mut received = Vec::new();
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    let waiting = async {
        while received.len() < count {
            looks.tick().await;
            received.extend(world.receiver.take());
        }
    };
    tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("they come");
    received
}

#[tokio::test]
async fn tells_what_happens_soon_after() {
    let world = World::new().await;
    let running = start(world.server.app.clone());
    world.branch("a").await;
    receive(&world, 1).await;
    world.branches(&["b", "c"]).await;
    let later = receive(&world, 2).await;
    assert_eq!(later.iter().map(Received::sequence).collect::<Vec<_>>(), [2, 3]);
    running.stop().await;
    assert_eq!(world.states().await, ["delivered"; 3]);
}

/// A node that is stopped finishes what it has begun, and writes it down: nothing is sent twice.
#[tokio::test]
async fn stops_in_good_order() {
    let world = World::new().await;
    world.receiver.take_long(Duration::from_millis(300));
    world.branches(&["a", "b", "c"]).await;
    let running = start(world.server.app.clone());
    let first = receive(&world, 1).await;
    running.stop().await;
    let sent = first.len() + world.receiver.take().len();
    assert!(sent < 3, "it was stopped in between");
    let delivered = world.states().await.iter().filter(|state| *state == "delivered").count();
    assert_eq!(delivered, sent);
    world.receiver.take_long(Duration::ZERO);
    world.server.deliver().await;
    assert_eq!(world.receiver.take().len(), 3 - sent);
}

/// What is changed holds for the next call, not for the next visit.
#[tokio::test]
async fn a_change_holds_at_once() {
    let world = World::new().await;
    world.receiver.take_long(Duration::from_millis(300));
    world.branches(&["a", "b", "c", "d", "e"]).await;
    let running = start(world.server.app.clone());
    receive(&world, 1).await;
    world.ada.put(&world.hook, &[("url", &world.receiver.url("/new"))]).await;
    let later = receive(&world, 2).await;
    let old = later.iter().filter(|it| it.path != "/new").count();
    assert!(old <= 1, "{later:?}");
    assert_eq!(world.ada.delete(&world.hook).await.status, 200);
    running.stop().await;
    assert!(world.receiver.take().len() <= 1);
}

/// What is in a repository is told by a node that has never seen it.
#[tokio::test]
async fn a_node_with_an_empty_cache_tells_of_a_push() {
    let world = World::new().await;
    let url = world.server.git_url(&world.ada, "ada/p");
    let (cloned, tree) = WorkTree::clone(&url, &[]).await;
    cloned.ok();
    let id = tree.commit("new", b"1\n", "add").await;
    tree.push(&url, &["main"]).await.ok();
    let running = start(world.server.another_app());
    let received = receive(&world, 1).await;
    running.stop().await;
    let commit = &received[0].body["commits"][0];
    assert_eq!((&commit["id"], &commit["added"]), (&json!(id), &json!(["new"])));
}
