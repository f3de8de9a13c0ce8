//! Pushes that the database has forgotten are found in the object store, and brought back.

use chrono::TimeDelta;
use holdfast_app::Actor;
use holdfast_app::repository::recovery::{self, Lost, State};
use holdfast_store::repository::audit;
use holdfast_tests::{Client, Server, Setup, WorkTree};

struct Place {
    server: Server,
    ada: Client,
    url: String,
    tree: WorkTree,
    /// The last generation and the last pack that are remembered.
    kept: (i64, i64),
}

impl Place {
    /// A project with one commit on `main` that is remembered, all of it in the object store.
    async fn new() -> Self {
        let mut setup = Setup::default();
        setup.settings.git.inline_pack_bytes = 0;
        let server = Server::with(setup).await;
        let (_, ada) = server.user("ada").await;
        server.project(&ada, "p", 0).await;
        let url = server.git_url(&ada, "ada/p");
        let tree = WorkTree::new().await;
        tree.commit("f", b"0\n", "zero").await;
        tree.push(&url, &["main"]).await.ok();
        let find = "select r.generation, (select max(id) from packs) from repositories r";
        let kept = sqlx::query_as(find).fetch_one(&mut server.database().await).await.unwrap();
        Self { server, ada, url, tree, kept }
    }

    /// Another commit on a branch; its id.
    async fn push(&self, branch: &str) -> String {
        self.server.advance(TimeDelta::seconds(1));
        let id = self.tree.commit("f", format!("{branch} {:?}", self.tree.head().await).as_bytes(), "next").await;
        self.tree.push(&self.url, &[&format!("main:{branch}")]).await.ok();
        id
    }

    async fn run(&self, statement: &str) {
        let statement = sqlx::QueryBuilder::<sqlx::Postgres>::new(statement);
        use sqlx::Executor;
        self.server.database().await.execute(statement.into_sql()).await.unwrap();
        self.server.app.engine.forget().await;
    }

    /// As a replica would know it that was behind.
    async fn forget(&self) {
        let (generation, pack) = self.kept;
        self.run(&format!(
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

    async fn search(&self) -> Vec<Lost> {
        recovery::search(&self.server.app, &Actor::Operator).await.unwrap().lost
    }

    async fn apply(&self) -> usize {
        let mut count = 0;
        for lost in self.search().await.iter().filter(|lost| lost.state == State::Applicable) {
            assert!(recovery::apply(&self.server.app, lost).await.unwrap() > 0);
            count += 1;
        }
        count
    }

    async fn at(&self, branch: &str) -> String {
        let path = format!("/projects/ada%2Fp/repository/branches/{branch}");
        self.ada.get(&path).await.body["commit"]["id"].as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn nothing_is_lost_where_all_is_known() {
    let place = Place::new().await;
    place.push("main").await;
    let found = recovery::search(&place.server.app, &Actor::Operator).await.unwrap();
    assert!(found.lost.is_empty() && found.doubtful.is_empty() && found.others.0 == 0);
    assert!(recovery::search(&place.server.app, &Actor::Anonymous).await.is_err());
}

#[tokio::test]
async fn a_lost_tail_comes_back_in_order() {
    let place = Place::new().await;
    let first = place.at("main").await;
    for _ in 0..3 {
        place.push("main").await;
    }
    let topic = place.push("topic").await;
    let main = place.at("main").await;
    place.forget().await;
    assert_eq!((place.at("main").await, place.at("topic").await), (first, String::new()));
    let found = place.search().await;
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|lost| lost.state == State::Applicable && lost.announced.is_none()), "{found:?}");
    assert_eq!(place.apply().await, 4);
    assert_eq!((place.at("main").await, place.at("topic").await), (main, topic.clone()));
    // Whole, also for a node that has nothing of it.
    let other = place.server.another_node().await;
    let (cloned, clone) = WorkTree::clone(&place.url.replace(&place.server.address(), &other), &["-b", "topic"]).await;
    cloned.ok();
    clone.git(["fsck", "--full", "--strict"]).await.ok();
    assert_eq!(clone.head().await, topic);
    // Once, and told as it was then.
    assert!(place.search().await.is_empty());
    let mut connection = place.server.database().await;
    for findings in [
        audit::unlike_the_log(&mut connection).await.unwrap(),
        audit::breaks_in_the_log(&mut connection, &[]).await.unwrap(),
        audit::not_told_once(&mut connection, &[]).await.unwrap(),
        audit::packs_astray(&mut connection).await.unwrap(),
    ] {
        assert!(findings.is_empty(), "{findings:?}");
    }
    let feed = place.ada.get("/projects/ada%2Fp/events").await.body;
    assert_eq!((&feed[0]["author_username"], &feed[0]["data"]["after"]), (&"ada".into(), &topic.into()));
}

#[tokio::test]
async fn what_no_longer_fits_stays_where_it_is() {
    let place = Place::new().await;
    place.push("main").await;
    place.forget().await;
    // Somebody goes on from where the database is.
    place.tree.git(["reset", "-q", "--hard", "HEAD~1"]).await.ok();
    let other = place.tree.commit("f", b"another way\n", "another").await;
    place.tree.push(&place.url, &["main"]).await.ok();
    let found = place.search().await;
    let moved = State::Moved { name: "refs/heads/main".into(), is: Some(other.clone()) };
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&moved]);
    assert!(recovery::apply(&place.server.app, &found[0]).await.is_err());
    assert_eq!(place.at("main").await, other);
}

/// A number that comes a second time is another project.
#[tokio::test]
async fn nothing_comes_back_into_another_project() {
    let place = Place::new().await;
    place.push("main").await;
    place.forget().await;
    place.run("update projects set created_at = created_at + interval '1 second'").await;
    let found = place.search().await;
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&State::NoProject]);
    assert!(recovery::apply(&place.server.app, &found[0]).await.is_err());
}

#[tokio::test]
async fn what_is_damaged_is_not_brought_back() {
    let place = Place::new().await;
    place.push("main").await;
    place.forget().await;
    let before = place.server.contents().await;
    let found = place.search().await;
    let path = place.server.directory.path().join(&found[0].key);
    let whole = std::fs::read(&path).unwrap();
    for (damage, is_seen) in [(20, false), (whole.len() - 10, true), (whole.len() - 60, true)] {
        let mut bytes = whole.clone();
        bytes[damage] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        if is_seen {
            let found = recovery::search(&place.server.app, &Actor::Operator).await.unwrap();
            assert!(found.lost.is_empty() && found.doubtful.len() as u64 + found.others.0 == 1, "{found:?}");
        }
        assert!(recovery::apply(&place.server.app, &found[0]).await.is_err() || is_seen);
        if is_seen {
            place.forget().await;
        }
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(place.server.contents().await["packs"], before["packs"], "nothing is announced");
    assert_eq!(place.apply().await, 1);
}

/// The tail may have been cut between the announcement and the move.
#[tokio::test]
async fn what_was_announced_can_be_finished() {
    let place = Place::new().await;
    let second = place.push("main").await;
    let (_, pack) = place.kept;
    let key: String = sqlx::query_scalar("select object_key from packs where id > $1")
        .bind(pack)
        .fetch_one(&mut place.server.database().await)
        .await
        .unwrap();
    place.forget().await;
    place.run(&format!("insert into packs (state, object_key, created_at) values ('intent', '{key}', now())")).await;
    let found = place.search().await;
    assert!(found[0].announced.is_some() && found[0].state == State::Applicable);
    assert_eq!(place.apply().await, 1);
    assert_eq!(place.at("main").await, second);
    assert!(place.search().await.is_empty());
}

/// Objects may come back from a copy of the storage long after nobody needed them any more.
#[tokio::test]
async fn what_the_log_knows_was_never_lost() {
    let place = Place::new().await;
    place.push("topic").await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    let (_, pack) = place.kept;
    place
        .run(&format!("delete from repository_packs where pack_id > {pack}; delete from packs where id > {pack}"))
        .await;
    let found = place.search().await;
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&State::Known]);
    assert_eq!((place.apply().await, place.at("topic").await), (0, String::new()));
}
