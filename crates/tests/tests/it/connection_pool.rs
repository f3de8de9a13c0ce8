//! Connections that are returned to the pool in the middle of something.

use std::time::{Duration, Instant};

use futures_util::poll;
use holdfast_store::Database;
use holdfast_store::database::Options;
use holdfast_tests::Server;

/// Returns a pool with a single connection on the database of the server.
fn single_connection(server: &Server) -> Database {
    Database::new(&Options {
        url: server.database_url().to_owned(),
        max_connections: 1,
        acquire_timeout: Duration::from_secs(60),
        statement_timeout: Duration::from_secs(60),
    })
    .unwrap()
}

/// Returns whether two statements on the connection are in one transaction.
async fn is_in_transaction(database: &Database) -> bool {
    let mut connection = database.connection().await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id: i64 = sqlx::query_scalar("select txid_current()").fetch_one(&mut *connection).await.unwrap();
        ids.push(id);
    }
    ids[0] == ids[1]
}

#[tokio::test]
async fn a_dropped_transaction_is_rolled_back_at_once() {
    let server = Server::start().await;
    let database = single_connection(&server);
    let mut transaction = database.begin().await.unwrap();
    sqlx::query("update users set name = 'changed' where id = 1").execute(&mut *transaction).await.unwrap();
    drop(transaction);
    // Nobody uses the pool, and the lock is released nevertheless.
    let mut other = server.database().await;
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let locked = sqlx::query("select 1 from users where id = 1 for update nowait").execute(&mut other).await;
        if locked.is_ok() {
            break;
        }
        assert!(Instant::now() < deadline, "the lock is still held: {locked:?}");
        tokio::task::yield_now().await;
    }
    let name: String = sqlx::query_scalar("select name from users where id = 1").fetch_one(&mut other).await.unwrap();
    assert_eq!(name, "User root");
}

/// A request may be canceled at any point. The connection that it used must not be in a transaction when the next
/// request gets it, or what that one writes would be lost.
#[tokio::test]
async fn canceled_transactions_leave_no_transaction_behind() {
    let server = Server::start().await;
    let database = single_connection(&server);
    let (mut canceled, mut completed) = (0, 0);
    for polls in 1..200 {
        let mut work = Box::pin(async {
            let mut transaction = database.begin().await.unwrap();
            sqlx::query("select 1").execute(&mut *transaction).await.unwrap();
            holdfast_store::commit(transaction).await.unwrap();
        });
        let mut is_complete = false;
        for _ in 0..polls {
            is_complete = poll!(work.as_mut()).is_ready();
            if is_complete {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(work);
        if is_complete {
            completed += 1;
        } else {
            canceled += 1;
        }
        assert!(!is_in_transaction(&database).await, "canceled after {polls} polls");
    }
    assert!(canceled > 0 && completed > 0, "{canceled} were canceled and {completed} completed");
}

#[tokio::test]
async fn the_result_of_a_canceled_statement_goes_to_nobody() {
    let server = Server::start().await;
    let database = single_connection(&server);
    for number in 0..20 {
        let canceled = async {
            let mut connection = database.connection().await.unwrap();
            sqlx::query_scalar::<_, String>("select 'canceled' from pg_sleep(0.02)").fetch_one(&mut *connection).await
        };
        assert!(tokio::time::timeout(Duration::from_millis(5), canceled).await.is_err());
        let mut connection = database.connection().await.unwrap();
        let found: i32 = sqlx::query_scalar("select $1::int").bind(number).fetch_one(&mut *connection).await.unwrap();
        assert_eq!(found, number);
    }
    let usage = database.pool_usage();
    assert_eq!(usage.busy, 0, "{usage:?}");
}
