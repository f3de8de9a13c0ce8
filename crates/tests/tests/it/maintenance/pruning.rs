use chrono::TimeDelta;
use holdfast_tests::{Client, Receiver, Server, Setup, WorkTree};
use serde_json::json;

use super::{clone, has, live, packs, repack};
use crate::equal_fetches::noise;

/// A project with a branch that was deleted: its commit, and the work tree.
async fn with_something_deleted(server: &Server, ada: &Client) -> (i64, WorkTree, String) {
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

async fn tomorrow(server: &Server) {
    crate::jobs::sweep(server).await;
    server.work().await;
}

#[tokio::test]
async fn what_no_ref_leads_to_is_set_apart_and_removed_when_nobody_can_want_it_back() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (project, tree, gone) = with_something_deleted(&server, &ada).await;
    repack(&server, project).await.unwrap();
    assert_eq!(packs(&server, 1).await, [(true, false), (false, true)]);
    let graph = server.cache.path().join("0/repositories/1.git/objects/info/commit-graph");
    clone(&server, &ada, "ada/p").await;
    ada.get("/projects/1/repository/tree").await;
    assert!(graph.exists() && has(&server, 1, &gone));
    // Again: nothing is new.
    repack(&server, project).await.unwrap();
    assert_eq!(packs(&server, 1).await, [(true, false), (false, true)]);
    // It was set apart long enough ago, but can be brought back for a month.
    server.advance(TimeDelta::days(15));
    tomorrow(&server).await;
    assert_eq!(packs(&server, 1).await, [(true, false), (false, true)]);
    ada.get("/projects/1/repository/tree").await;
    assert!(has(&server, 1, &gone));
    // A month, and a day for clocks that differ.
    server.advance(TimeDelta::days(17));
    tomorrow(&server).await;
    assert_eq!(packs(&server, 1).await, [(true, false)]);
    ada.get("/projects/1/repository/tree").await;
    assert!(!has(&server, 1, &gone));
    clone(&server, &ada, "ada/p").await;
    // Who has it can push it again.
    tree.push(&server.git_url(&ada, "ada/p"), &[&format!("{gone}:refs/heads/back")]).await.ok();
    clone(&server, &ada, "ada/p").await.git(["cat-file", "-e", &gone]).await.ok();
    // The bytes outlive it by the time for which backups are kept.
    let condemned = "select count(*) from packs where state = 'condemned'";
    let condemned =
        async || sqlx::query_scalar::<_, i64>(condemned).fetch_one(&mut server.database().await).await.unwrap();
    assert!(condemned().await > 0);
    server.advance(TimeDelta::days(15));
    tomorrow(&server).await;
    assert_eq!(condemned().await, 0);
}

#[tokio::test]
async fn what_is_pushed_again_is_not_lost_with_what_was_set_apart() {
    let mut setup = Setup::default();
    setup.settings.maintenance.undo = TimeDelta::zero();
    setup.settings.git.compact_at = 3;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    let (project, tree, gone) = with_something_deleted(&server, &ada).await;
    let url = server.git_url(&ada, "ada/p");
    repack(&server, project).await.unwrap();
    tree.push(&url, &[&format!("{gone}:refs/heads/back")]).await.ok();
    for n in 0..4 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
    }
    server.work().await;
    assert!(packs(&server, 1).await.len() < 7);
    server.advance(TimeDelta::days(15));
    tomorrow(&server).await;
    assert!(packs(&server, 1).await.iter().all(|(_, is_cruft)| !is_cruft));
    clone(&server, &ada, "ada/p").await.git(["cat-file", "-e", &gone]).await.ok();
}

#[tokio::test]
async fn clones_stay_quick_where_something_is_set_apart() {
    let mut setup = Setup::default();
    setup.settings.git.compact_at = 3;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    let (project, tree, _) = with_something_deleted(&server, &ada).await;
    repack(&server, project).await.unwrap();
    for n in 0..4 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    }
    server.work().await;
    let packs = packs(&server, 1).await;
    assert!(packs.len() < 6 && packs.iter().any(|(has_bitmap, _)| *has_bitmap), "{packs:?}");
}

/// What came since the last time has no bitmap, and every clone walks through it.
#[tokio::test]
async fn after_many_pushes_all_is_packed_anew() {
    let mut setup = Setup::default();
    setup.settings.git.compact_at = 3;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("large", &noise(1 << 20, 1), "large").await;
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
        server.work().await;
        assert_eq!(packs(&server, 1).await, expected, "{pushes}");
    }
}

#[tokio::test]
async fn a_push_that_was_checked_before_objects_were_removed_is_checked_again() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, tree, _) = with_something_deleted(&server, &ada).await;
    let url = server.git_url(&ada, "ada/p");
    let next = tree.commit("f", b"next\n", "next").await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    sqlx::query("update repositories set prune_epoch = prune_epoch + 1").execute(&mut database).await.unwrap();
    let prune = async {
        // The push waits for the repository, with all its checks done.
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
async fn what_is_wanted_again_meanwhile_is_not_set_apart() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (project, _, gone) = with_something_deleted(&server, &ada).await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    sqlx::query("lock table leases in share mode").execute(&mut database).await.unwrap();
    // The repack waits before it begins; so does nobody who restores.
    let restore = async {
        let log = ada.get("/projects/1/repository/ref_log").await;
        let deleted = log.body.as_array().unwrap().iter().find(|entry| entry["new"].is_null()).unwrap().clone();
        let path = format!("/projects/1/repository/ref_log/{}/restore", deleted["generation"]);
        sqlx::query("commit").execute(&mut database).await.unwrap();
        ada.post(&path, &[("ref_name", "gone")]).await
    };
    let (_, restored) = tokio::join!(repack(&server, project), restore);
    assert_eq!(restored.status, 201, "{}", restored.text);
    // Whoever was first: a fork has all that refs lead to.
    let group = server.group(&ada, "team", 20).await;
    assert_eq!(ada.post("/projects/fork/ada%2Fp", &[("namespace", &group.to_string())]).await.status, 201);
    clone(&server, &ada, "team/p").await.git(["cat-file", "-e", &gone]).await.ok();
}

#[tokio::test]
async fn packs_that_pile_up_slow_pushes_down_and_refuse_none() {
    let mut setup = Setup::default();
    setup.settings.git.compact_at = 2;
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    // Nobody works: there are at most five times as many as there should be.
    for n in 0..15 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&url, &["main"]).await.ok();
        assert!(live(&server).await <= 10);
    }
    clone(&server, &ada, "ada/p").await;
}

/// A receiver recognizes a delivery by its id and trusts that nothing else has changed. Paths and tag messages come from
/// the repository, where the objects may have been pruned between two attempts.
#[tokio::test]
async fn a_delivery_has_the_same_bytes_after_its_objects_were_pruned() {
    let mut setup = Setup::default();
    (setup.settings.maintenance.undo, setup.settings.maintenance.prune_after) = (TimeDelta::zero(), TimeDelta::zero());
    let server = Server::with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.push(&url, &["main"]).await.ok();
    server.deliver().await;
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
    // The first attempt of the push fails.
    receiver.fail(1);
    server.deliver().await;
    let failed = receiver.take();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].body["commits"][0]["added"], json!(["g"]));
    // The tag is shown before it is sent.
    let shown = ada.get(&format!("{hook}/deliveries/2")).await;
    assert_eq!(shown.body["request"]["body"]["message"], "One", "{}", shown.text);
    tree.push(&url, &[":gone"]).await.ok();
    tree.push(&url, &[":v1"]).await.ok();
    repack(&server, project).await.unwrap();
    server.advance(TimeDelta::minutes(1));
    tomorrow(&server).await;
    assert_eq!(packs(&server, 1).await, [(true, false)], "the commit is pruned");
    server.deliver().await;
    let received = receiver.take();
    let [pushed, tagged, _, _] = &received[..] else { panic!("{received:?}") };
    assert_eq!(pushed.header("webhook-id"), failed[0].header("webhook-id"));
    assert_eq!(pushed.raw, failed[0].raw);
    assert_eq!(tagged.body, shown.body["request"]["body"]);
    // A replay, too.
    assert_eq!(ada.post(&format!("{hook}/replay?from=1"), &[]).await.status, 201);
    server.deliver().await;
    let replayed = receiver.take();
    assert_eq!(
        replayed.iter().map(|it| &it.raw).collect::<Vec<_>>(),
        received.iter().map(|it| &it.raw).collect::<Vec<_>>()
    );
}

/// A hook may be behind by more than what was pushed is kept. It must not wait for what never comes back.
#[tokio::test]
async fn what_was_removed_is_told_of_without_what_was_in_it() {
    let mut setup = Setup::default();
    (setup.settings.maintenance.undo, setup.settings.maintenance.prune_after) = (TimeDelta::zero(), TimeDelta::zero());
    let server = Server::with(setup).await;
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
    tomorrow(&server).await;
    assert_eq!(packs(&server, 1).await, [(true, false)]);
    // What is removed from a node's copy by mistake is no reason to tell less.
    WorkTree::clone(&url, &[]).await.0.ok();
    let listed = std::fs::read_dir(server.cache.path().join("0/repositories/1.git/objects/pack")).unwrap();
    for file in listed {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    server.deliver().await;
    let received = receiver.take();
    let [first, pushed, tagged, _, _] = &received[..] else { panic!("{received:?}") };
    assert_eq!(first.body["commits"][0]["added"], json!(["f"]));
    assert_eq!((&pushed.body["after"], &pushed.body["total_commits_count"]), (&json!(gone), &json!(1)));
    let commit = &pushed.body["commits"][0];
    assert_eq!((&commit["id"], &commit["message"], &commit["added"]), (&json!(gone), &json!("gone\n"), &json!([])));
    assert_eq!((&tagged.body["after"], &tagged.body["checkout_sha"]), (&json!(tag), &json!(gone)));
    assert_eq!((&tagged.body["message"], &tagged.body["commits"]), (&json!(null), &json!([])));
}
