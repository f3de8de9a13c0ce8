//! The consistency checks of `holdfast torture`: they report every kind of damage, and nothing for a consistent
//! database.

use std::collections::BTreeSet;
use std::time::Duration;

use holdfast_app::Actor;
use holdfast_app::projects::project::ProjectRef;
use holdfast_app::repository::maintenance::{self, RepackScope};
use holdfast_store::Connection;
use holdfast_store::repository::audit::{self, LogEntry};
use holdfast_tests::{Server, WorkTree};
use sqlx::{Connection as _, QueryBuilder};

const UNLIKE_LOG: &str = "unlike_the_log";
const LOG_BREAKS: &str = "breaks_in_the_log";
const EVENT_COUNT: &str = "event_count";
const STRAY_PACKS: &str = "packs_astray";
/// An object id that no object has.
const OTHER_OBJECT: &str = "decode(repeat('ab', 20), 'hex')";

/// Runs all checks, and returns each finding with the name of its check.
async fn findings(connection: &mut Connection) -> Vec<(&'static str, String)> {
    let unlike = audit::refs_inconsistent_with_log(connection).await.unwrap();
    let breaks = audit::log_chain_breaks(connection, &[]).await.unwrap();
    let published = audit::events_not_published_once(connection, &[]).await.unwrap();
    let astray = audit::inconsistent_packs(connection).await.unwrap();
    let named = |name, found: Vec<String>| found.into_iter().map(move |text| (name, text));
    named(UNLIKE_LOG, unlike)
        .chain(named(LOG_BREAKS, breaks))
        .chain(named(EVENT_COUNT, published))
        .chain(named(STRAY_PACKS, astray))
        .collect()
}

/// Creates project 1 and its fork, project 2, with refs that were created, updated, forced, deleted and inherited. Pack
/// 1 is inline and listed by both; pack 2 is in the object store.
async fn set_up() -> (Server, WorkTree) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let project = server.project(&ada, "p", 20).await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.commit("f", b"one\n", "one").await;
    tree.git(["tag", "-a", "v1", "-m", "Version 1"]).await.ok();
    tree.push(&url, &["main", "v1", "main:topic"]).await.ok();
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(100_000)
    .collect();
    tree.commit("large", &noise, "two").await;
    tree.push(&url, &["main", "main:topic"]).await.ok();
    tree.push(&url, &["-f", "main~1:topic"]).await.ok();
    tree.push(&url, &[":topic"]).await.ok();
    let fork = bob.post("/projects/fork/ada%2Fp", &[("namespace", "bob")]).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    let theirs = server.git_url(&bob, "bob/p");
    let (cloned, clone) = WorkTree::clone(&theirs, &[]).await;
    cloned.ok();
    clone.commit("f", b"theirs\n", "theirs").await;
    clone.push(&theirs, &["main"]).await.ok();
    // These packs are merged by the repack below.
    for text in ["three", "four"] {
        tree.commit("f", text.as_bytes(), text).await;
        tree.push(&url, &["main"]).await.ok();
    }
    let made = ada.post("/projects/1/repository/branches", &[("branch_name", "made"), ("ref", "main")]).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let project = ProjectRef::Id(project.into());
    maintenance::maintain(&server.app, &Actor::Operator, &project, RepackScope::Due).await.unwrap();
    (server, tree)
}

#[tokio::test]
async fn every_damage_is_found_and_an_intact_database_has_none() {
    let (server, _) = set_up().await;
    let mut database = server.database().await;
    assert_eq!(findings(&mut database).await, []);
    type Damage<'a> = (&'a str, &'a [(&'a str, &'a str)]);
    let damages: &[Damage<'_>] = &[
        (
            "update refs set target = OTHER where repository_id = 1 and name = 'refs/heads/main'",
            &[(UNLIKE_LOG, "project 1: refs/heads/main is abababab")],
        ),
        (
            "update refs set peeled = null where repository_id = 1 and peeled is not null",
            &[(UNLIKE_LOG, "refs/tags/v1 is")],
        ),
        (
            "delete from refs where repository_id = 1 and name = 'refs/heads/main'",
            &[(UNLIKE_LOG, "project 1: refs/heads/main is , peeled ,")],
        ),
        (
            "insert into refs (repository_id, name, target) select 1, 'refs/heads/topic', new from ref_log
             where name = 'refs/heads/topic' and generation = 3",
            &[(UNLIKE_LOG, "project 1: refs/heads/topic is")],
        ),
        (
            "insert into refs (repository_id, name, target) values (1, 'refs/heads/x', OTHER)",
            &[(UNLIKE_LOG, "project 1: refs/heads/x is"), (LOG_BREAKS, "project 1: refs/heads/x began as abababab")],
        ),
        (
            "update repositories set generation = 2 where id = 1",
            &[(UNLIKE_LOG, "project 1 is at generation 2, but its log is at 7")],
        ),
        (
            "update ref_log set old = OTHER where generation = 2 and name = 'refs/heads/main' and repository_id = 1",
            &[
                (LOG_BREAKS, "project 1: generation 2 moves refs/heads/main from abababab"),
                (EVENT_COUNT, "refs/heads/main from abababab"),
            ],
        ),
        (
            "update ref_log set old = new where generation = 1 and name = 'refs/heads/main' and repository_id = 1",
            &[(LOG_BREAKS, "project 1: refs/heads/main began as"), (EVENT_COUNT, "project 1: refs/heads/main from")],
        ),
        (
            "update ref_log set old = OTHER where repository_id = 2",
            &[
                (LOG_BREAKS, "project 2: refs/heads/main began as abababab"),
                (EVENT_COUNT, "refs/heads/main from abababab"),
            ],
        ),
        (
            "update refs f set target = o.target from refs o where o.repository_id = 1 and o.name = 'refs/heads/main'
               and f.repository_id = 2 and f.name = 'refs/tags/v1'",
            &[(LOG_BREAKS, "project 2: refs/tags/v1 began as")],
        ),
        (
            "delete from ref_log where generation = 2 and name = 'refs/heads/main' and repository_id = 1",
            &[
                (LOG_BREAKS, "project 1: generation 5 moves refs/heads/main"),
                (EVENT_COUNT, "is 0 times in the log, 1 in the feed, 1 in the outbox"),
            ],
        ),
        (
            "update ref_log set actor_id = null where name = 'refs/heads/made'",
            &[(EVENT_COUNT, "is 0 times in the log, 1 in the feed, 1 in the outbox")],
        ),
        (
            "delete from events where data->>'ref' = 'refs/heads/made'",
            &[(EVENT_COUNT, "is 1 times in the log, 0 in the feed, 1 in the outbox")],
        ),
        (
            "delete from outbox where payload->>'ref' = 'refs/heads/made'",
            &[(EVENT_COUNT, "is 1 times in the log, 1 in the feed, 0 in the outbox")],
        ),
        (
            "insert into events (project_id, author_id, action, data, created_at)
             select project_id, author_id, action, data, created_at from events where data->>'ref' = 'refs/heads/made'",
            &[(EVENT_COUNT, "is 1 times in the log, 2 in the feed, 1 in the outbox")],
        ),
        (
            "insert into outbox (kind, project_id, payload, created_at) select kind, project_id, payload, created_at
             from outbox where payload->>'ref' = 'refs/heads/made'",
            &[(EVENT_COUNT, "is 1 times in the log, 1 in the feed, 2 in the outbox")],
        ),
        ("update outbox set kind = 'push' where kind = 'tag_push'", &[(EVENT_COUNT, "under a wrong kind")]),
        (
            "update packs set state = 'condemned' where id = 1",
            &[(STRAY_PACKS, "pack 1 is listed by repository 1 but condemned")],
        ),
        (
            "update packs set state = 'intent' where id = 2",
            &[(STRAY_PACKS, "pack 2 is listed by repository 2 but intent")],
        ),
        (
            "delete from repository_packs where pack_id = 2",
            &[(STRAY_PACKS, "pack 2 is live but no repository lists it")],
        ),
        (
            "delete from pack_contents where pack_id = 1",
            &[(STRAY_PACKS, "pack 1 is live, has the key  and  bytes inline")],
        ),
        ("update packs set object_key = 'x' where id = 1", &[(STRAY_PACKS, "pack 1 is live, has the key x and")]),
        (
            "update packs set object_key = null where id = 2",
            &[(STRAY_PACKS, "pack 2 is live, has the key  and  bytes")],
        ),
        (
            "update packs set rev_bytes = rev_bytes - 1 where id = 1",
            &[(STRAY_PACKS, "pack 1 is live, has the key  and")],
        ),
    ];
    for (damage, expected) in damages {
        let mut transaction = database.begin().await.unwrap();
        let damaging = QueryBuilder::<sqlx::Postgres>::new(damage.replace("OTHER", OTHER_OBJECT))
            .build()
            .execute(&mut *transaction)
            .await;
        assert!(damaging.unwrap().rows_affected() > 0, "{damage}");
        let found = findings(&mut transaction).await;
        let by: BTreeSet<&str> = found.iter().map(|(name, _)| *name).collect();
        assert_eq!(by, expected.iter().map(|(name, _)| *name).collect(), "{damage}: {found:?}");
        for (name, says) in *expected {
            let is_reported = found.iter().any(|(by, text)| by == name && text.contains(says));
            assert!(is_reported, "{damage}: {found:?}");
        }
        transaction.rollback().await.unwrap();
    }
    assert_eq!(findings(&mut database).await, []);
}

#[tokio::test]
async fn audit_lists_repositories_refs_and_counts() {
    let (server, tree) = set_up().await;
    let mut database = server.database().await;
    let connection = &mut database;
    let listed = audit::list_repositories(connection).await.unwrap();
    let short: Vec<_> = listed.iter().map(|it| (it.project.get(), it.path.as_str(), it.head.as_deref())).collect();
    assert_eq!(short, [(1, "ada/p", Some("refs/heads/main")), (2, "bob/p", Some("refs/heads/main"))]);
    let (main, tag) = (tree.head().await, tree.git(["rev-parse", "v1"]).await.ok().line().to_owned());
    let refs = [("refs/heads/made", &main), ("refs/heads/main", &main), ("refs/tags/v1", &tag)];
    let refs = refs.map(|(name, id)| (name.to_owned(), id.clone()));
    assert_eq!(audit::list_refs(connection, listed[0].repository).await.unwrap(), refs);

    let log = audit::list_log(connection).await.unwrap();
    let moves: Vec<_> = log.iter().map(|it| (it.project.get(), it.generation, it.name.as_str())).collect();
    let expected = [
        (1, 1, "refs/heads/main"),
        (1, 1, "refs/heads/topic"),
        (1, 1, "refs/tags/v1"),
        (1, 2, "refs/heads/main"),
        (1, 2, "refs/heads/topic"),
        (1, 3, "refs/heads/topic"),
        (1, 4, "refs/heads/topic"),
        (1, 5, "refs/heads/main"),
        (1, 6, "refs/heads/main"),
        (1, 7, "refs/heads/made"),
        (2, 2, "refs/heads/main"),
    ];
    assert_eq!(moves, expected);
    let first = tree.git(["rev-parse", "main~3"]).await.ok().line().to_owned();
    let (project, name) = (listed[0].project, "refs/heads/topic".to_owned());
    assert_eq!(log[6], LogEntry { project, generation: 4, name, old: Some(first), new: None, at: log[6].at });
    assert_eq!(audit::count_ref_updates(connection).await.unwrap(), 11);
    assert_eq!(audit::count_repacks(connection).await.unwrap(), 1);
    assert_eq!(audit::count_pending_uploads(connection).await.unwrap(), 0);

    let mut transaction = connection.begin().await.unwrap();
    sqlx::raw_sql(
        "insert into packs (state, object_key, created_at) values ('intent', 'packs/x', '2026-01-01');
         update packs set state = 'condemned', condemned_at = '2026-01-01' where id = 2",
    )
    .execute(&mut *transaction)
    .await
    .unwrap();
    assert_eq!(audit::count_pending_uploads(&mut transaction).await.unwrap(), 1);
    assert_eq!(audit::count_repacks(&mut transaction).await.unwrap(), 2);
    transaction.rollback().await.unwrap();
    // A deleted project is not listed, even before its rows are deleted.
    assert_eq!(server.admin.delete("/projects/2").await.status, 200);
    assert_eq!(audit::list_repositories(&mut database).await.unwrap().len(), 1);
}

#[tokio::test]
async fn audit_detects_existing_projects_and_open_transactions() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let mut database = server.database().await;
    assert!(!audit::has_projects(&mut database).await.unwrap());
    server.project(&ada, "p", 0).await;
    assert!(audit::has_projects(&mut database).await.unwrap());
    let mut without_schema = database.begin().await.unwrap();
    sqlx::raw_sql("alter table projects rename to others").execute(&mut *without_schema).await.unwrap();
    assert!(!audit::has_projects(&mut without_schema).await.unwrap());
    without_schema.rollback().await.unwrap();

    let mut other = server.database().await;
    let transaction = other.begin().await.unwrap();
    assert!(audit::has_open_transactions(&mut database).await.unwrap());
    transaction.rollback().await.unwrap();
    // The transaction of the test itself does not count. Autovacuum may run for a moment, and a transaction sees the
    // same snapshot of the statistics until its end, so each check opens a new one.
    let quiet = async {
        loop {
            let mut own = database.begin().await.unwrap();
            let is_busy = audit::has_open_transactions(&mut own).await.unwrap();
            own.rollback().await.unwrap();
            if !is_busy {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(120), quiet).await.expect("nobody else has a transaction open");
}
