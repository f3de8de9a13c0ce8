//! No node caches rights: after rights were removed through one node, every request that begins later is refused by all
//! of them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use holdfast_tests::{Client, Server};

/// A request that was sent to a node, by the time at which it began.
struct Sent {
    node: usize,
    request: usize,
    began: Instant,
    ended: Instant,
    status: u16,
}

/// The paths of requests about a project by its id, its path and a part of it, and about its group.
fn reads(project: i64, group: i64) -> [String; 4] {
    [
        format!("/projects/{project}"),
        "/projects/team%2Fapp".into(),
        format!("/projects/{project}/issues"),
        format!("/groups/{group}"),
    ]
}

const NODES: usize = 3;
/// Every worker sends at least this many requests before and after the change.
const REQUESTS: usize = 5;

/// Sends requests to all nodes while `change` runs. Checks that requests before it succeed, and that every request that
/// begins after it gets the status in `refused`, one for each request.
async fn revoke_during_requests(
    nodes: &[Client],
    requests: &[String],
    refused: &[u16],
    change: impl Future<Output = ()>,
) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let finished = Arc::new(AtomicBool::new(false));
    let warm = Arc::new(AtomicUsize::new(0));
    let mut workers = Vec::new();
    for (node, client) in nodes.iter().enumerate() {
        for (request, path) in requests.iter().enumerate() {
            let (client, path) = (client.clone(), path.clone());
            let (sent, finished, warm) = (sent.clone(), finished.clone(), warm.clone());
            workers.push(tokio::spawn(async move {
                let mut after = 0;
                for count in 1.. {
                    let is_after = finished.load(Ordering::SeqCst);
                    let began = Instant::now();
                    let status = client.get(&path).await.status;
                    let ended = Instant::now();
                    sent.lock().unwrap().push(Sent { node, request, began, ended, status });
                    if count == REQUESTS {
                        warm.fetch_add(1, Ordering::SeqCst);
                    }
                    after += usize::from(is_after);
                    if after == REQUESTS {
                        break;
                    }
                }
            }));
        }
    }
    let all_are_warm = async {
        while warm.load(Ordering::SeqCst) < workers.len() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all_are_warm).await.expect("every worker is served");
    let begin = Instant::now();
    change.await;
    let committed = Instant::now();
    finished.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    for Sent { node, request, began, ended, status } in &*sent.lock().unwrap() {
        let path = &requests[*request];
        if *began > committed {
            assert_eq!(*status, refused[*request], "{path} on node {node} began after the change");
        } else if *ended < begin {
            assert_eq!(*status, 200, "{path} on node {node} ended before the change");
        } else {
            let is_expected = *status == 200 || *status == refused[*request];
            assert!(is_expected, "{path} on node {node} during the change: {status}");
        }
    }
}

#[tokio::test]
async fn rights_end_on_every_node_with_the_commit() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 0).await;
    let project = server.project_in(&ada, "app", 0, Some(group)).await;
    let requests = reads(project, group);
    let addresses = [server.address(), server.another_node().await, server.another_node().await];
    assert_eq!(addresses.len(), NODES);
    let on_nodes = |client: &Client| addresses.iter().map(|node| client.for_node(node)).collect::<Vec<_>>();
    let member_of = async |name: &str| {
        let (id, client) = server.user(name).await;
        let form = [("user_id", id.to_string()), ("access_level", "30".into())];
        let form: Vec<(&str, &str)> = form.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(ada.post(&format!("/groups/{group}/members"), &form).await.status, 201);
        (id, client)
    };

    let (blocked, client) = member_of("bob").await;
    revoke_during_requests(&on_nodes(&client), &requests, &[401; 4], async {
        assert_eq!(server.admin.put(&format!("/users/{blocked}/block"), &[]).await.status, 200);
    })
    .await;

    let (removed, client) = member_of("cy").await;
    revoke_during_requests(&on_nodes(&client), &requests, &[404; 4], async {
        assert_eq!(ada.delete(&format!("/groups/{group}/members/{removed}")).await.status, 200);
    })
    .await;

    let (owner, client) = member_of("dee").await;
    let second = server.with_token(&server.token(owner, &["api"]).await);
    revoke_during_requests(&on_nodes(&client), &requests, &[401; 4], async {
        let tokens = second.get("/user/personal_access_tokens").await;
        let first = tokens.ids().into_iter().min().unwrap();
        assert_eq!(second.delete(&format!("/user/personal_access_tokens/{first}")).await.status, 200);
    })
    .await;
    assert_eq!(second.get(&requests[0]).await.status, 200, "the other token of the user is still valid");

    let open = server.group(&ada, "open", 20).await;
    let public = server.project_in(&ada, "site", 20, Some(open)).await;
    let (_, stranger) = server.user("eve").await;
    let paths = [format!("/projects/{public}"), "/projects/open%2Fsite".into(), format!("/projects/{public}/issues")];
    revoke_during_requests(&on_nodes(&stranger), &paths, &[404; 3], async {
        assert_eq!(ada.put(&format!("/projects/{public}"), &[("visibility_level", "0")]).await.status, 200);
    })
    .await;
}

/// The project that was read together with the token is not used for a second check in the same request, nor under a
/// lock: a response after a write shows what was written.
#[tokio::test]
async fn responses_show_what_the_request_wrote() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "app", 0).await;
    for path in [format!("/projects/{project}"), "/projects/ada%2Fapp".into()] {
        for name in ["one", "two"] {
            let updated = ada.put(&path, &[("description", name)]).await;
            assert_eq!((updated.status, &updated.body["description"]), (200, &name.into()));
        }
        assert_eq!(ada.post(&format!("{path}/archive"), &[]).await.body["archived"], true);
        assert_eq!(ada.post(&format!("{path}/unarchive"), &[]).await.body["archived"], false);
        assert_eq!(ada.post(&format!("{path}/star"), &[]).await.body["star_count"], 1);
        assert_eq!(ada.delete(&format!("{path}/star")).await.body["star_count"], 0);
    }
}
