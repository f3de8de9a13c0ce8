use chrono::TimeDelta;
use holdfast_tests::{Client, Receiver, Server, Setup, WorkTree};
use serde_json::json;

use super::{cache_has_object, clone_fresh, count_live_packs, list_packs, repack};
use crate::shared_fetches::random_bytes;

/// Creates a project with a deleted branch, and returns the project, the work tree, and the commit of that branch.
async fn set_up_unreachable(server: &Server, ada: &Client) -> (i64, WorkTree, String) {
    let project = server.project(ada, "p", 20).await;
    let url = server.git_url(ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "gone"]).await.ok();
    let gone = tree.commit("g", b"gone\n", "gone").await;
    tree.push(&url, &["gone"]).await.ok();
    tree.push(&url, &[":gone"]).await.ok();
    tree.git(["checkout", "-q", "main"]).await.ok();
    (project, tree, gone)
}

async fn sweep_and_work(server: &Server) {
    crate::jobs::sweep(server).await;
    server.run_jobs().await;
}

#[tokio::test]
async fn unreachable_objects_become_cruft_and_are_pruned_after_the_grace_period() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (project, tree, gone) = set_up_unreachable(&server, &ada).await;
    repack(&server, project).await.unwrap();
    assert_eq!(list_packs(&server, 1).await, [(true, false), (false, true)]);
    let graph = server.cache.path().join("0/repositories/1.git/objects/info/commit-graph");
    clone_fresh(&server, &ada, "ada/p").await;
    ada.get("/projects/1/repository/tree").await;
    assert!(graph.exists() && cache_has_object(&server, 1, &gone));
    // Repacking again changes nothing.
    repack(&server, project).await.unwrap();
    assert_eq!(list_packs(&server, 1).await, [(true, false), (false, true)]);
    // The grace period of the cruft pack is over, but the ref can be restored for a month.
    server.advance(TimeDelta::days(15));
    sweep_and_work(&server).await;
    assert_eq!(list_packs(&server, 1).await, [(true, false), (false, true)]);
    ada.get("/projects/1/repository/tree").await;
    assert!(cache_has_object(&server, 1, &gone));
    // A month, and a day for clock skew.
    server.advance(TimeDelta::days(17));
    sweep_and_work(&server).await;
    assert_eq!(list_packs(&server, 1).await, [(true, false)]);
    ada.get("/projects/1/repository/tree").await;
    assert!(!cache_has_object(&server, 1, &gone));
    clone_fresh(&server, &ada, "ada/p").await;
    // A client that still has the commit can push it again.
    tree.push(&server.git_url(&ada, "ada/p"), &[&format!("{gone}:refs/heads/back")]).await.ok();
    clone_fresh(&server, &ada, "ada/p").await.git(["cat-file", "-e", &gone]).await.ok();
    // The pack is kept for as long as backups may need it.
    let query = "select count(*) from packs where state = 'condemned'";
    let count_unreferenced =
        async || sqlx::query_scalar::<_, i64>(query).fetch_one(&mut server.database().await).await.unwrap();
    assert!(count_unreferenced().await > 0);
    server.advance(TimeDelta::days(15));
    sweep_and_work(&server).await;
    assert_eq!(count_unreferenced().await, 0);
}

#[tokio::test]
async fn pruning_keeps_objects_that_were_pushed_again() {
    let mut setup = Setup::default();
    setup.settings.maintenance.ref_restore_period = TimeDelta::zero();
    setup.settings.maintenance.repack_threshold_packs = 3;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let (project, tree, gone) = set_up_unreachable(&server, &ada).await;
    let url = server.git_url(&ada, "ada/p");
    repack(&server, project).await.unwrap();
    tree.push(&url, &[&format!("{gone}:refs/heads/back")]).await.ok();
    for n in 0..4 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
    }
    server.run_jobs().await;
    assert!(list_packs(&server, 1).await.len() < 7);
    server.advance(TimeDelta::days(15));
    sweep_and_work(&server).await;
    assert!(list_packs(&server, 1).await.iter().all(|(_, is_cruft)| !is_cruft));
    clone_fresh(&server, &ada, "ada/p").await.git(["cat-file", "-e", &gone]).await.ok();
}

#[tokio::test]
async fn repositories_with_cruft_packs_keep_bitmaps() {
    let mut setup = Setup::default();
    setup.settings.maintenance.repack_threshold_packs = 3;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let (project, tree, _) = set_up_unreachable(&server, &ada).await;
    repack(&server, project).await.unwrap();
    for n in 0..4 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    }
    server.run_jobs().await;
    let packs = list_packs(&server, 1).await;
    assert!(packs.len() < 6 && packs.iter().any(|(has_bitmap, _)| *has_bitmap), "{packs:?}");
}

/// Packs since the last full repack have no bitmap, so every clone walks their objects.
#[tokio::test]
async fn many_pushes_trigger_a_full_repack() {
    let mut setup = Setup::default();
    setup.settings.maintenance.repack_threshold_packs = 3;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("large", &random_bytes(1 << 20, 1), "large").await;
    tree.push(&url, &["main"]).await.ok();
    repack(&server, project).await.unwrap();
    for (pushes, expected) in [(0, &[(true, false), (false, false)][..]), (100, &[(true, false)])] {
        let mut database = server.database().await;
        let statement = "update repositories set repacked_generation = repacked_generation - $1";
        sqlx::query(statement).bind(pushes).execute(&mut database).await.unwrap();
        for n in 0..3 {
            tree.commit("f", format!("{pushes} {n}\n").as_bytes(), "more").await;
            tree.push(&url, &["main"]).await.ok();
        }
        server.run_jobs().await;
        assert_eq!(list_packs(&server, 1).await, expected, "{pushes}");
    }
}

#[tokio::test]
async fn a_push_checked_before_a_prune_is_checked_again() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, tree, _) = set_up_unreachable(&server, &ada).await;
    let url = server.git_url(&ada, "ada/p");
    let next = tree.commit("f", b"next\n", "next").await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    sqlx::query("update repositories set prune_epoch = prune_epoch + 1").execute(&mut database).await.unwrap();
    let prune = async {
        // The push waits for the row lock of the repository, after all its checks.
        let waits = "select exists (select from pg_stat_activity where datname = current_database() and
           wait_event_type = 'Lock')";
        let mut every = tokio::time::interval(std::time::Duration::from_millis(10));
        let mut looks = server.database().await;
        for _ in 0..10_000 {
            every.tick().await;
            if sqlx::query_scalar::<_, bool>(waits).fetch_one(&mut looks).await.unwrap() {
                sqlx::query("commit").execute(&mut database).await.unwrap();
                return;
            }
        }
        panic!("the push never waited");
    };
    let (pushed, ()) = tokio::join!(tree.push(&url, &["main"]), prune);
    pushed.ok();
    assert_eq!(ada.get("/projects/1/repository/branches/main").await.body["commit"]["id"], next);
}

#[tokio::test]
async fn objects_restored_during_a_repack_do_not_become_cruft() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (project, _, gone) = set_up_unreachable(&server, &ada).await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    sqlx::query("lock table leases in share mode").execute(&mut database).await.unwrap();
    // The repack waits for the table lock before it starts; the restore does not.
    let restore = async {
        let log = ada.get("/projects/1/repository/ref_log").await;
        let deleted = log.body.as_array().unwrap().iter().find(|entry| entry["new"].is_null()).unwrap().clone();
        let path = format!("/projects/1/repository/ref_log/{}/restore", deleted["generation"]);
        sqlx::query("commit").execute(&mut database).await.unwrap();
        ada.post(&path, &[("ref_name", "gone")]).await
    };
    let (_, restored) = tokio::join!(repack(&server, project), restore);
    assert_eq!(restored.status, 201, "{}", restored.text);
    // In either order, a fork gets all reachable objects.
    let group = server.group(&ada, "team", 20).await;
    assert_eq!(ada.post("/projects/fork/ada%2Fp", &[("namespace", &group.to_string())]).await.status, 201);
    clone_fresh(&server, &ada, "team/p").await.git(["cat-file", "-e", &gone]).await.ok();
}

#[tokio::test]
async fn excess_packs_delay_pushes_without_rejecting_them() {
    let mut setup = Setup::default();
    setup.settings.maintenance.repack_threshold_packs = 2;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    // No worker runs: the number of packs may reach five times the threshold.
    for n in 0..15 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
        assert!(count_live_packs(&server).await <= 10);
    }
    clone_fresh(&server, &ada, "ada/p").await;
}

/// A receiver recognizes a delivery by its id and trusts that nothing else has changed. Paths and tag messages come from
/// the repository, where the objects may have been pruned between two attempts.
#[tokio::test]
async fn a_delivery_has_the_same_bytes_after_its_objects_are_pruned() {
    let mut setup = Setup::default();
    (setup.settings.maintenance.ref_restore_period, setup.settings.maintenance.prune_after) =
        (TimeDelta::zero(), TimeDelta::zero());
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    server.deliver_hooks().await;
    let receiver = Receiver::start().await;
    let form = [("url", &*receiver.url("/hook")), ("tag_push_events", "true")];
    let hook = ada.post(&format!("/projects/{project}/hooks"), &form).await;
    assert_eq!(hook.status, 201, "{}", hook.text);
    let hook = format!("/projects/{project}/hooks/{}", hook.body["id"]);
    tree.git(["checkout", "-q", "-b", "gone"]).await.ok();
    tree.commit("g", b"gone\n", "gone").await;
    tree.git(["tag", "-a", "v1", "-m", "One"]).await.ok();
    tree.push(&url, &["gone"]).await.ok();
    tree.push(&url, &["v1"]).await.ok();
    // The first attempt of the push event fails.
    receiver.fail(1);
    server.deliver_hooks().await;
    let failed = receiver.take_received();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].body["commits"][0]["added"], json!(["g"]));
    // The payload of the tag event is read before it is delivered.
    let shown = ada.get(&format!("{hook}/deliveries/2")).await;
    assert_eq!(shown.body["request"]["body"]["message"], "One", "{}", shown.text);
    tree.push(&url, &[":gone"]).await.ok();
    tree.push(&url, &[":v1"]).await.ok();
    repack(&server, project).await.unwrap();
    server.advance(TimeDelta::minutes(1));
    sweep_and_work(&server).await;
    assert_eq!(list_packs(&server, 1).await, [(true, false)], "the commit is pruned");
    server.deliver_hooks().await;
    let received = receiver.take_received();
    let [pushed, tagged, _, _] = &received[..] else { panic!("{received:?}") };
    assert_eq!(pushed.header("webhook-id"), failed[0].header("webhook-id"));
    assert_eq!(pushed.raw, failed[0].raw);
    assert_eq!(tagged.body, shown.body["request"]["body"]);
    // A replay has the same bytes as well.
    assert_eq!(ada.post(&format!("{hook}/replay?from=1"), &[]).await.status, 201);
    server.deliver_hooks().await;
    let replayed = receiver.take_received();
    assert_eq!(
        replayed.iter().map(|it| &it.raw).collect::<Vec<_>>(),
        received.iter().map(|it| &it.raw).collect::<Vec<_>>()
    );
}

/// A hook may be further behind than unreachable objects are kept. Its deliveries must not wait for pruned objects.
#[tokio::test]
async fn push_events_of_pruned_objects_are_delivered_without_details() {
    let mut setup = Setup::default();
    (setup.settings.maintenance.ref_restore_period, setup.settings.maintenance.prune_after) =
        (TimeDelta::zero(), TimeDelta::zero());
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let receiver = Receiver::start().await;
    let form = [("url", &*receiver.url("/hook")), ("tag_push_events", "true")];
    assert_eq!(ada.post(&format!("/projects/{project}/hooks"), &form).await.status, 201);
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    tree.git(["checkout", "-q", "-b", "gone"]).await.ok();
    let gone = tree.commit("g", b"gone\n", "gone").await;
    tree.git(["tag", "-a", "v1", "-m", "One"]).await.ok();
    let tag = tree.git(["rev-parse", "v1"]).await.ok().line().to_owned();
    tree.push(&url, &["gone"]).await.ok();
    tree.push(&url, &["v1"]).await.ok();
    tree.push(&url, &[":gone"]).await.ok();
    tree.push(&url, &[":v1"]).await.ok();
    repack(&server, project).await.unwrap();
    server.advance(TimeDelta::minutes(1));
    sweep_and_work(&server).await;
    assert_eq!(list_packs(&server, 1).await, [(true, false)]);
    // Packs that were deleted from the cache by mistake are downloaded again, and do not shorten the payload.
    WorkTree::clone(&url, &[]).await.0.ok();
    let listed = std::fs::read_dir(server.cache.path().join("0/repositories/1.git/objects/pack")).unwrap();
    for file in listed {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    server.deliver_hooks().await;
    let received = receiver.take_received();
    let [first, pushed, tagged, _, _] = &received[..] else { panic!("{received:?}") };
    assert_eq!(first.body["commits"][0]["added"], json!(["f"]));
    assert_eq!((&pushed.body["after"], &pushed.body["total_commits_count"]), (&json!(gone), &json!(1)));
    let commit = &pushed.body["commits"][0];
    assert_eq!((&commit["id"], &commit["message"], &commit["added"]), (&json!(gone), &json!("gone\n"), &json!([])));
    assert_eq!((&tagged.body["after"], &tagged.body["checkout_sha"]), (&json!(tag), &json!(gone)));
    assert_eq!((&tagged.body["message"], &tagged.body["commits"]), (&json!(null), &json!([])));
}
