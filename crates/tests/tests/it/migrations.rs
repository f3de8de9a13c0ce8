//! Schema migrations under load.

use std::time::Duration;

use chrono::NaiveDate;
use holdfast_store::migrate;
use holdfast_tests::database;
use sqlx::{Connection, Executor, PgConnection};

/// A migration that waits for a table lock blocks other transactions only briefly, and is applied as soon as the table
/// is free.
#[tokio::test]
async fn a_migration_waiting_for_a_lock_does_not_block_others() {
    let database = database::create().await;
    let url = &database.url;
    let connect = async || PgConnection::connect(url).await.unwrap();
    let (mut busy, mut other) = (connect().await, connect().await);
    let undo = "drop index ref_log_names; delete from _sqlx_migrations where version = 9";
    busy.execute(undo).await.unwrap();
    busy.execute("begin; lock table ref_log in row exclusive mode").await.unwrap();
    let today = NaiveDate::from_ymd_opt(2026, 1, 2).unwrap();
    let others = async {
        let is_waiting = "select exists (select from pg_locks where relation = 'ref_log'::regclass and not granted)";
        let mut every = tokio::time::interval(Duration::from_millis(5));
        let waits = async {
            while !sqlx::query_scalar::<_, bool>(is_waiting).fetch_one(&mut other).await.unwrap() {
                every.tick().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(120), waits).await.expect("the step waits for its table");
        // The lock of a push queues behind that of the migration. It would wait forever, because the blocking
        // transaction does not end.
        other.execute("set statement_timeout = '20s'").await.unwrap();
        other.execute("begin; lock table ref_log in row exclusive mode; commit").await.unwrap();
        assert_ne!(migrate::state(url).await.unwrap(), migrate::SchemaState::Current);
        busy.execute("commit").await.unwrap();
    };
    let (migrated, ()) = tokio::join!(migrate::run(url, today), others);
    migrated.unwrap();
    assert_eq!(migrate::state(url).await.unwrap(), migrate::SchemaState::Current);
}
