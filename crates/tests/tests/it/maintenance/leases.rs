use std::time::Duration;

use holdfast_app::Error;
use holdfast_tests::{Client, Server, WorkTree};

use super::{count_live_packs, list_packs, repack};

async fn set_up_packs(server: &Server) -> (i64, Client) {
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    let tree = WorkTree::new().await;
    for n in 0..3 {
        tree.commit("f", format!("{n}\n").as_bytes(), "more").await;
        tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    }
    (project, ada)
}

#[tokio::test]
async fn repacking_conflicts_until_the_lease_expires() {
    let server = Server::start().await;
    let (project, _) = set_up_packs(&server).await;
    let mut database = server.database().await;
    let held = "insert into leases (name, token, held_until) values ('repository/1', 0, now() + interval '1 minute')";
    sqlx::query(held).execute(&mut database).await.unwrap();
    assert!(matches!(repack(&server, project).await, Err(Error::Conflict(_))));
    assert_eq!(list_packs(&server, 1).await.len(), 3);
    sqlx::query("update leases set held_until = now() - interval '1 second'").execute(&mut database).await.unwrap();
    repack(&server, project).await.unwrap();
    assert_eq!(list_packs(&server, 1).await, [(true, false)]);
    let left: i64 = sqlx::query_scalar("select count(*) from leases").fetch_one(&mut database).await.unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn results_under_an_expired_lease_are_ignored() {
    let server = Server::start().await;
    let (project, ada) = set_up_packs(&server).await;
    let mut database = server.database().await;
    sqlx::query("begin").execute(&mut database).await.unwrap();
    sqlx::query("select * from repository_packs for update").execute(&mut database).await.unwrap();
    let steal = async {
        let waits = "select exists (select from pg_stat_activity where datname = current_database() and
           wait_event_type = 'Lock' and query like 'delete from repository_packs%')";
        let mut every = tokio::time::interval(Duration::from_millis(10));
        let mut looks = server.database().await;
        for _ in 0..10_000 {
            every.tick().await;
            if sqlx::query_scalar::<_, bool>(waits).fetch_one(&mut looks).await.unwrap() {
                // While the result is being committed, the lease row is locked and cannot be taken over.
                let stolen = "update leases set token = nextval('lease_tokens')";
                sqlx::query("set lock_timeout = '100ms'").execute(&mut looks).await.unwrap();
                assert!(sqlx::query(stolen).execute(&mut looks).await.is_err());
                sqlx::query("rollback").execute(&mut database).await.unwrap();
                return;
            }
        }
        panic!("nobody waited");
    };
    let (done, ()) = tokio::join!(repack(&server, project), steal);
    done.unwrap();
    assert_eq!(count_live_packs(&server).await, 1);
    // Before that the lease can be taken over, and then the result is discarded.
    let tree = WorkTree::new().await;
    tree.commit("other", b"other\n", "other").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main:other"]).await.ok();
    sqlx::query("begin").execute(&mut database).await.unwrap();
    sqlx::query("select * from repositories for update").execute(&mut database).await.unwrap();
    let steal = async {
        let taken = "update leases set token = nextval('lease_tokens')";
        let mut every = tokio::time::interval(Duration::from_millis(10));
        let mut looks = server.database().await;
        for _ in 0..10_000 {
            every.tick().await;
            if sqlx::query(taken).execute(&mut looks).await.unwrap().rows_affected() > 0 {
                sqlx::query("rollback").execute(&mut database).await.unwrap();
                return;
            }
        }
        panic!("nobody began");
    };
    let (done, ()) = tokio::join!(repack(&server, project), steal);
    assert!(matches!(done, Err(Error::Conflict(_))), "{done:?}");
    assert_eq!(count_live_packs(&server).await, 2);
}
