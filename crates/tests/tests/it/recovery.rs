//! Recovery of pushes that are in the object store and not in the database.

use chrono::TimeDelta;
use holdfast_app::accounts::authentication::{self, Credentials};
use holdfast_app::repository::recovery::{self, LostPush, LostPushState, PushFilter, SearchResult};
use holdfast_app::{Actor, Error};
use holdfast_domain::accounts::Scope;
use holdfast_store::repository::audit;
use holdfast_tests::{Client, Server, Setup, WorkTree};

struct RecoveryFixture {
    server: Server,
    ada: Client,
    url: String,
    tree: WorkTree,
    /// The last generation and the last pack that [`Self::roll_back`] keeps.
    snapshot: (i64, i64),
}

impl RecoveryFixture {
    /// Creates a project with one commit on `main`, which is part of the snapshot. All packs are in the object store.
    async fn new() -> Self {
        Self::start_with(Setup::default()).await
    }

    async fn start_with(mut setup: Setup) -> Self {
        setup.settings.git.inline_pack_bytes = 0;
        let server = Server::start_with(setup).await;
        let (_, ada) = server.user("ada").await;
        server.project(&ada, "p", 0).await;
        let url = server.git_url(&ada, "ada/p");
        let tree = WorkTree::new().await;
        tree.commit("f", b"0\n", "zero").await;
        tree.push(&url, &["main"]).await.ok();
        let find = "select r.generation, (select max(id) from packs) from repositories r";
        let snapshot = sqlx::query_as(find).fetch_one(&mut server.database().await).await.unwrap();
        Self { server, ada, url, tree, snapshot }
    }

    /// Pushes another commit to a branch, and returns its id.
    async fn push(&self, branch: &str) -> String {
        self.server.advance(TimeDelta::seconds(1));
        let id = self.tree.commit("f", format!("{branch} {:?}", self.tree.head().await).as_bytes(), "next").await;
        self.tree.push(&self.url, &[&format!("main:{branch}")]).await.ok();
        id
    }

    async fn execute(&self, statement: &str) {
        let statement = sqlx::QueryBuilder::<sqlx::Postgres>::new(statement);
        use sqlx::Executor;
        self.server.database().await.execute(statement.into_sql()).await.unwrap();
        self.server.app.git_runtime.invalidate_caches().await;
    }

    /// Rolls the database back to the snapshot, as a failover to a lagging replica does.
    async fn roll_back(&self) {
        let (generation, pack) = self.snapshot;
        self.execute(&format!(
            "delete from repository_packs where pack_id > {pack};
             delete from packs where id > {pack};
             delete from refs;
             delete from ref_log where generation > {generation};
             insert into refs (repository_id, name, target, peeled) select repository_id, name, new, peeled from ref_log;
             update repositories set generation = {generation};
             delete from events where action = 5 and data->>'before' <> repeat('0', 40) or data->>'ref' <> 'refs/heads/main';
             delete from outbox where kind = 'push' and payload->>'before' <> repeat('0', 40)
               or payload->>'ref' <> 'refs/heads/main';
             delete from outbox_queue;"
        ))
        .await;
    }

    async fn search_with(&self, scope: &PushFilter) -> SearchResult {
        recovery::search(&self.server.app, &Actor::Operator, scope).await.unwrap()
    }

    async fn search(&self) -> Vec<LostPush> {
        self.search_with(&PushFilter::default()).await.lost
    }

    async fn apply(&self) -> usize {
        self.apply_with(&PushFilter::default()).await
    }

    async fn apply_with(&self, scope: &PushFilter) -> usize {
        let mut count = 0;
        for lost in self.search_with(scope).await.lost.iter().filter(|lost| is_applicable(lost)) {
            assert!(recovery::apply(&self.server.app, &Actor::Operator, lost).await.unwrap() > 0);
            count += 1;
        }
        count
    }

    async fn branch_tip(&self, branch: &str) -> String {
        let path = format!("/projects/ada%2Fp/repository/branches/{branch}");
        self.ada.get(&path).await.body["commit"]["id"].as_str().unwrap_or_default().to_owned()
    }
}

fn is_applicable(lost: &LostPush) -> bool {
    matches!(lost.state, LostPushState::Applicable { .. })
}

#[tokio::test]
async fn committed_pushes_are_not_reported_as_lost() {
    let place = RecoveryFixture::new().await;
    place.push("main").await;
    let found = place.search_with(&PushFilter::default()).await;
    assert!(found.lost.is_empty() && found.untrusted.is_empty() && found.without_receipt.count == 0);
    assert!(recovery::search(&place.server.app, &Actor::Anonymous(None), &PushFilter::default()).await.is_err());
}

#[tokio::test]
async fn lost_pushes_are_recovered_in_order() {
    let place = RecoveryFixture::new().await;
    let first = place.branch_tip("main").await;
    for _ in 0..3 {
        place.push("main").await;
    }
    let topic = place.push("topic").await;
    let main = place.branch_tip("main").await;
    place.roll_back().await;
    assert_eq!((place.branch_tip("main").await, place.branch_tip("topic").await), (first, String::new()));
    let found = place.search().await;
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|lost| is_applicable(lost) && lost.upload_intent.is_none()), "{found:?}");
    assert_eq!(place.apply().await, 4);
    assert_eq!((place.branch_tip("main").await, place.branch_tip("topic").await), (main, topic.clone()));
    // A node with an empty cache gets a complete clone.
    let other = place.server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&place.url.replace(&place.server.address(), &other), &["-b", "topic"]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    assert_eq!(clone.head().await, topic);
    // Each push is recovered once, with its original event.
    assert!(place.search().await.is_empty());
    let mut connection = place.server.database().await;
    for findings in [
        audit::refs_inconsistent_with_log(&mut connection).await.unwrap(),
        audit::log_chain_breaks(&mut connection, &[]).await.unwrap(),
        audit::events_not_published_once(&mut connection, &[]).await.unwrap(),
        audit::inconsistent_packs(&mut connection).await.unwrap(),
    ] {
        assert!(findings.is_empty(), "{findings:?}");
    }
    let feed = place.ada.get("/projects/ada%2Fp/events").await.body;
    assert_eq!((&feed[0]["author_username"], &feed[0]["data"]["after"]), (&"ada".into(), &topic.into()));
}

/// Recovery updates refs in the name of other users.
#[tokio::test]
async fn only_administrators_recover_lost_pushes() {
    let place = RecoveryFixture::new().await;
    let first = place.branch_tip("main").await;
    let second = place.push("main").await;
    place.roll_back().await;
    let found = place.search().await;
    assert!(found.len() == 1 && is_applicable(&found[0]), "{found:?}");
    let app = &place.server.app;
    // The owner of the project, who made the push.
    let credentials = Credentials { token: Some(place.ada.token()), ..Credentials::default() };
    let ada = authentication::authenticate(app, credentials, Scope::Api).await.unwrap();
    let refused = recovery::apply(app, &ada, &found[0]).await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    let refused = recovery::apply(app, &Actor::Anonymous(None), &found[0]).await;
    assert!(matches!(refused, Err(Error::Unauthenticated)), "{refused:?}");
    assert_eq!(place.branch_tip("main").await, first);
    assert_eq!(recovery::apply(app, &Actor::Operator, &found[0]).await.unwrap(), 1);
    assert_eq!(place.branch_tip("main").await, second);
}

/// An acknowledged push is recovered even if the repository has reached the maximum number of refs meanwhile.
#[tokio::test]
async fn the_ref_limit_does_not_prevent_recovery() {
    let mut setup = Setup::default();
    setup.settings.git.max_refs = 2;
    let place = RecoveryFixture::start_with(setup).await;
    let main = place.branch_tip("main").await;
    let topic = place.push("topic").await;
    place.roll_back().await;
    place.tree.push(&place.url, &[&format!("{main}:refs/heads/other")]).await.ok();
    assert_eq!(place.apply().await, 1);
    let branches = (place.branch_tip("main").await, place.branch_tip("other").await, place.branch_tip("topic").await);
    assert_eq!(branches, (main.clone(), main.clone(), topic));
    assert!(place.search().await.is_empty());
    // The limit still applies to pushes.
    let pushed = place.tree.push(&place.url, &[&format!("{main}:refs/heads/more")]).await.expect_failure();
    assert!(pushed.stderr.contains("the maximum number of refs (git.max_refs)"), "{}", pushed.stderr);
    assert_eq!(place.branch_tip("more").await, "");
}

#[tokio::test]
async fn conflicting_pushes_are_not_applied() {
    let place = RecoveryFixture::new().await;
    place.push("main").await;
    place.roll_back().await;
    // A user continues from the state of the database.
    place.tree.git(["reset", "-q", "--hard", "HEAD~1"]).await.ok();
    let other = place.tree.commit("f", b"another way\n", "another").await;
    place.tree.push(&place.url, &["main"]).await.ok();
    let found = place.search().await;
    let moved = LostPushState::RefChanged { name: "refs/heads/main".into(), current: Some(other.clone()) };
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&moved]);
    assert!(recovery::apply(&place.server.app, &Actor::Operator, &found[0]).await.is_err());
    assert_eq!(place.branch_tip("main").await, other);
}

/// A project id can be assigned again after a rollback.
#[tokio::test]
async fn pushes_are_not_recovered_into_another_project() {
    let place = RecoveryFixture::new().await;
    place.push("main").await;
    place.roll_back().await;
    place.execute("update projects set created_at = created_at + interval '1 second'").await;
    let found = place.search().await;
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&LostPushState::NoProject]);
    assert!(recovery::apply(&place.server.app, &Actor::Operator, &found[0]).await.is_err());
}

#[tokio::test]
async fn damaged_packs_are_not_recovered() {
    let place = RecoveryFixture::new().await;
    place.push("main").await;
    place.roll_back().await;
    let before = place.server.dump_database().await;
    let found = place.search().await;
    let path = place.server.directory.path().join(&found[0].key);
    let whole = std::fs::read(&path).unwrap();
    for (damage, is_seen) in [(20, false), (whole.len() - 10, true), (whole.len() - 60, true)] {
        let mut bytes = whole.clone();
        bytes[damage] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        if is_seen {
            let found = place.search_with(&PushFilter::default()).await;
            assert!(
                found.lost.is_empty() && found.untrusted.len() as u64 + found.without_receipt.count == 1,
                "{found:?}"
            );
        }
        assert!(recovery::apply(&place.server.app, &Actor::Operator, &found[0]).await.is_err() || is_seen);
        if is_seen {
            place.roll_back().await;
        }
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(place.server.dump_database().await["packs"], before["packs"], "nothing is announced");
    assert_eq!(place.apply().await, 1);
}

/// The database may have been cut off between the upload intent of the pack and the ref update.
#[tokio::test]
async fn announced_but_uncommitted_pushes_can_be_recovered() {
    let place = RecoveryFixture::new().await;
    let second = place.push("main").await;
    let (_, pack) = place.snapshot;
    let key: String = sqlx::query_scalar("select object_key from packs where id > $1")
        .bind(pack)
        .fetch_one(&mut place.server.database().await)
        .await
        .unwrap();
    place.roll_back().await;
    place
        .execute(&format!("insert into packs (state, object_key, created_at) values ('intent', '{key}', now())"))
        .await;
    let all = PushFilter { includes_unfinished: true, ..PushFilter::default() };
    let found = place.search_with(&PushFilter::default()).await;
    assert_eq!((found.lost.len(), found.filtered_out), (0, 1));
    let found = place.search_with(&all).await.lost;
    assert!(found[0].upload_intent.is_some() && is_applicable(&found[0]));
    assert_eq!(place.apply_with(&all).await, 1);
    assert_eq!(place.branch_tip("main").await, second);
    assert!(place.search().await.is_empty());
}

/// Objects may be restored from a backup of the storage long after they became unreachable.
#[tokio::test]
async fn pushes_in_the_ref_log_are_not_lost() {
    let place = RecoveryFixture::new().await;
    place.push("topic").await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let (_, pack) = place.snapshot;
    place
        .execute(&format!("delete from repository_packs where pack_id > {pack}; delete from packs where id > {pack}"))
        .await;
    let found = place.search().await;
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&LostPushState::Logged]);
    assert_eq!((place.apply().await, place.branch_tip("topic").await), (0, String::new()));
}

/// A push of which the database has only the upload intent may have been rejected: it must not replace one that was
/// acknowledged.
#[tokio::test]
async fn contradicting_lost_pushes_need_a_choice() {
    let place = RecoveryFixture::new().await;
    let first = place.branch_tip("main").await;
    let refused = place.push("main").await;
    place.roll_back().await;
    place.tree.git(["reset", "-q", "--hard", &first]).await.ok();
    let acknowledged = place.tree.commit("f", b"another way\n", "another").await;
    place.tree.push(&place.url, &["main"]).await.ok();
    place.roll_back().await;
    let found = place.search().await;
    let contested = LostPushState::Contested { name: "refs/heads/main".into() };
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&contested, &contested]);
    assert_eq!((place.apply().await, place.branch_tip("main").await), (0, first));
    let new = |lost: &&LostPush| lost.receipt.ref_updates[0].new.clone();
    let of = |id: &str| found.iter().find(|lost| new(lost).as_deref() == Some(id)).unwrap();
    // A push with an upload intent has lower priority than one without.
    let key = &of(&refused).key;
    place
        .execute(&format!("insert into packs (state, object_key, created_at) values ('intent', '{key}', now())"))
        .await;
    let states = |found: SearchResult| found.lost.into_iter().map(|lost| lost.state).collect::<Vec<_>>();
    let applicable = LostPushState::Applicable { refs: 1 };
    assert_eq!(states(place.search_with(&PushFilter::default()).await), std::slice::from_ref(&applicable));
    let all = place.search_with(&PushFilter { includes_unfinished: true, ..PushFilter::default() }).await;
    let moved = LostPushState::RefChanged { name: "refs/heads/main".into(), current: Some(acknowledged.clone()) };
    assert_eq!(states(all), [applicable, moved]);
    let chosen = PushFilter { only_keys: vec![of(&acknowledged).key.clone()], ..PushFilter::default() };
    assert_eq!((place.apply_with(&chosen).await, place.branch_tip("main").await), (1, acknowledged));
}

/// The ref log contains an earlier push with the same ref update.
#[tokio::test]
async fn a_lost_repetition_of_a_logged_push_is_recovered() {
    let place = RecoveryFixture::new().await;
    let topic = place.push("topic").await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    place.server.advance(TimeDelta::seconds(1));
    let find = "select generation, (select max(id) from packs) from repositories";
    let (generation, pack): (i64, i64) =
        sqlx::query_as(find).fetch_one(&mut place.server.database().await).await.unwrap();
    place.tree.push(&place.url, &["main:topic"]).await.ok();
    place
        .execute(&format!(
            "delete from repository_packs where pack_id > {pack};
             delete from packs where id > {pack};
             delete from refs where name = 'refs/heads/topic';
             delete from ref_log where generation > {generation};
             update repositories set generation = {generation}"
        ))
        .await;
    assert_eq!((place.apply().await, place.branch_tip("topic").await), (1, topic));
}

/// A push that was recovered partially would not be found again.
#[tokio::test]
async fn dependent_pushes_are_recovered_completely_or_not_at_all() {
    let place = RecoveryFixture::new().await;
    place.push("main").await;
    place.server.advance(TimeDelta::seconds(1));
    let last = place.tree.commit("f", b"both\n", "both").await;
    place.tree.push(&place.url, &["main", "main:other"]).await.ok();
    place.roll_back().await;
    let found = place.search().await;
    let expected = [&LostPushState::Applicable { refs: 1 }, &LostPushState::Applicable { refs: 2 }];
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), expected);
    // The first push was not recovered.
    assert!(recovery::apply(&place.server.app, &Actor::Operator, &found[1]).await.is_err());
    assert_eq!(place.branch_tip("other").await, "");
    assert_eq!(place.apply().await, 2);
    assert_eq!((place.branch_tip("main").await, place.branch_tip("other").await), (last.clone(), last));
}
