//! Steps of the schema, made while others work.

use std::time::Duration;

use chrono::NaiveDate;
use holdfast_store::migrate;
use holdfast_tests::database;
use sqlx::{Connection, Executor, PgConnection};

/// A step that has to wait for a table makes nobody wait behind it for long, and is made as soon as it can be.
#[tokio::test]
async fn a_step_lets_others_through_until_its_table_is_free() {
    let url = database::create().await;
    let connect = async || PgConnection::connect(&url).await.unwrap();
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
        // A push, which the step stands before: it would wait for ever, as nothing else ends meanwhile.
        other.execute("set statement_timeout = '20s'").await.unwrap();
        other.execute("begin; lock table ref_log in row exclusive mode; commit").await.unwrap();
        assert_ne!(migrate::state(&url).await.unwrap(), migrate::State::Current);
        busy.execute("commit").await.unwrap();
    };
    let (migrated, ()) = tokio::join!(migrate::run(&url, today), others);
    migrated.unwrap();
    assert_eq!(migrate::state(&url).await.unwrap(), migrate::State::Current);
}
