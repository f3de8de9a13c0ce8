//! Pushes that the database has forgotten are found in the object store, and brought back.

use chrono::TimeDelta;
use holdfast_app::Actor;
use holdfast_app::repository::recovery::{self, Lost, Search, State, Wanted};
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
        Self::with(Setup::default()).await
    }

    async fn with(mut setup: Setup) -> Self {
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

    async fn look(&self, wanted: &Wanted) -> Search {
        recovery::search(&self.server.app, &Actor::Operator, wanted).await.unwrap()
    }

    async fn search(&self) -> Vec<Lost> {
        self.look(&Wanted::default()).await.lost
    }

    async fn apply(&self) -> usize {
        self.apply_those(&Wanted::default()).await
    }

    async fn apply_those(&self, wanted: &Wanted) -> usize {
        let mut count = 0;
        for lost in self.look(wanted).await.lost.iter().filter(|lost| is_applicable(lost)) {
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

fn is_applicable(lost: &Lost) -> bool {
    matches!(lost.state, State::Applicable { .. })
}

#[tokio::test]
async fn nothing_is_lost_where_all_is_known() {
    let place = Place::new().await;
    place.push("main").await;
    let found = place.look(&Wanted::default()).await;
    assert!(found.lost.is_empty() && found.doubtful.is_empty() && found.others.0 == 0);
    assert!(recovery::search(&place.server.app, &Actor::Anonymous(None), &Wanted::default()).await.is_err());
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
    assert!(found.iter().all(|lost| is_applicable(lost) && lost.announced.is_none()), "{found:?}");
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

/// A push that was acknowledged comes back although the repository has as many refs as it may have by now.
#[tokio::test]
async fn the_limit_of_refs_does_not_lose_a_push() {
    let mut setup = Setup::default();
    setup.settings.git.max_refs = 2;
    let place = Place::with(setup).await;
    let main = place.at("main").await;
    let topic = place.push("topic").await;
    place.forget().await;
    place.tree.push(&place.url, &[&format!("{main}:refs/heads/other")]).await.ok();
    assert_eq!(place.apply().await, 1);
    let branches = (place.at("main").await, place.at("other").await, place.at("topic").await);
    assert_eq!(branches, (main.clone(), main.clone(), topic));
    assert!(place.search().await.is_empty());
    // The limit still counts for pushes.
    let pushed = place.tree.push(&place.url, &[&format!("{main}:refs/heads/more")]).await.refused();
    assert!(pushed.stderr.contains("as many refs as this server accepts (git.max_refs)"), "{}", pushed.stderr);
    assert_eq!(place.at("more").await, "");
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
            let found = place.look(&Wanted::default()).await;
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
    let all = Wanted { unfinished: true, ..Wanted::default() };
    let found = place.look(&Wanted::default()).await;
    assert_eq!((found.lost.len(), found.left_out), (0, 1));
    let found = place.look(&all).await.lost;
    assert!(found[0].announced.is_some() && is_applicable(&found[0]));
    assert_eq!(place.apply_those(&all).await, 1);
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

/// A push of which only its begin is known may have been refused: it must not take the place of one that was acknowledged.
#[tokio::test]
async fn where_two_are_at_odds_somebody_chooses() {
    let place = Place::new().await;
    let first = place.at("main").await;
    let refused = place.push("main").await;
    place.forget().await;
    place.tree.git(["reset", "-q", "--hard", &first]).await.ok();
    let acknowledged = place.tree.commit("f", b"another way\n", "another").await;
    place.tree.push(&place.url, &["main"]).await.ok();
    place.forget().await;
    let found = place.search().await;
    let contested = State::Contested { name: "refs/heads/main".into() };
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), [&contested, &contested]);
    assert_eq!((place.apply().await, place.at("main").await), (0, first));
    let new = |lost: &&Lost| lost.receipt.moves[0].new.clone();
    let of = |id: &str| found.iter().find(|lost| new(lost).as_deref() == Some(id)).unwrap();
    // What is known to be begun comes behind what is not.
    let key = &of(&refused).key;
    place.run(&format!("insert into packs (state, object_key, created_at) values ('intent', '{key}', now())")).await;
    let states = |found: Search| found.lost.into_iter().map(|lost| lost.state).collect::<Vec<_>>();
    let applicable = State::Applicable { refs: 1 };
    assert_eq!(states(place.look(&Wanted::default()).await), std::slice::from_ref(&applicable));
    let all = place.look(&Wanted { unfinished: true, ..Wanted::default() }).await;
    let moved = State::Moved { name: "refs/heads/main".into(), is: Some(acknowledged.clone()) };
    assert_eq!(states(all), [applicable, moved]);
    let chosen = Wanted { only: vec![of(&acknowledged).key.clone()], ..Wanted::default() };
    assert_eq!((place.apply_those(&chosen).await, place.at("main").await), (1, acknowledged));
}

/// The log has a move like it, but not that one.
#[tokio::test]
async fn what_was_done_again_is_lost_again() {
    let place = Place::new().await;
    let topic = place.push("topic").await;
    place.tree.push(&place.url, &[":topic"]).await.ok();
    place.server.advance(TimeDelta::seconds(1));
    let find = "select generation, (select max(id) from packs) from repositories";
    let (generation, pack): (i64, i64) =
        sqlx::query_as(find).fetch_one(&mut place.server.database().await).await.unwrap();
    place.tree.push(&place.url, &["main:topic"]).await.ok();
    place
        .run(&format!(
            "delete from repository_packs where pack_id > {pack};
             delete from packs where id > {pack};
             delete from refs where name = 'refs/heads/topic';
             delete from ref_log where generation > {generation};
             update repositories set generation = {generation}"
        ))
        .await;
    assert_eq!((place.apply().await, place.at("topic").await), (1, topic));
}

/// Once a part of it is back, the rest is not looked for any more.
#[tokio::test]
async fn what_builds_on_a_lost_push_comes_back_whole_or_not_at_all() {
    let place = Place::new().await;
    place.push("main").await;
    place.server.advance(TimeDelta::seconds(1));
    let last = place.tree.commit("f", b"both\n", "both").await;
    place.tree.push(&place.url, &["main", "main:other"]).await.ok();
    place.forget().await;
    let found = place.search().await;
    let expected = [&State::Applicable { refs: 1 }, &State::Applicable { refs: 2 }];
    assert_eq!(found.iter().map(|lost| &lost.state).collect::<Vec<_>>(), expected);
    // The first one could not be brought back.
    assert!(recovery::apply(&place.server.app, &found[1]).await.is_err());
    assert_eq!(place.at("other").await, "");
    assert_eq!(place.apply().await, 2);
    assert_eq!((place.at("main").await, place.at("other").await), (last.clone(), last));
}
