//! One database per test, copied from a template that holds the schema.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use sqlx::{Connection, PgConnection, QueryBuilder};
use tokio::sync::OnceCell;
use url::Url;

const TEMPLATE: &str = "holdfast_template";
/// The key of the advisory lock around creating the template. Arbitrary, but the same in all test processes.
const TEMPLATE_LOCK: i64 = 71_051_101;

fn cluster_url() -> Url {
    let url = std::env::var("HOLDFAST_TEST_DATABASE_URL").expect(
        "HOLDFAST_TEST_DATABASE_URL is not set: run the tests with dev/test, which starts a PostgreSQL for them",
    );
    url.parse().expect("HOLDFAST_TEST_DATABASE_URL is a url")
}

fn database_url(name: &str) -> String {
    let mut url = cluster_url();
    url.set_path(name);
    url.into()
}

/// The names of databases whose tests have passed.
static UNUSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A database of one test. The database of a failed test is kept.
pub struct TestDatabase {
    name: String,
    pub url: String,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            UNUSED.lock().expect("no thread panics while holding it").push(std::mem::take(&mut self.name));
        }
    }
}

/// Waits until at least `count` statements of other connections to the same database wait for locks.
pub async fn wait_for_blocked(connection: &mut PgConnection, count: i64) {
    let query = "select count(*) from pg_stat_activity \
         where datname = current_database() and wait_event_type = 'Lock'";
    let mut interval = tokio::time::interval(Duration::from_millis(5));
    let wait = async {
        while sqlx::query_scalar::<_, i64>(query).fetch_one(&mut *connection).await.expect("the activity") < count {
            interval.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the statements wait for locks");
}

/// Creates a database from the template, and deletes those that are no longer used: all together are larger than the
/// disks of many machines.
pub async fn create() -> TestDatabase {
    static TEMPLATE_READY: OnceCell<()> = OnceCell::const_new();
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    TEMPLATE_READY.get_or_init(create_template).await;
    let name = format!("test_{}_{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    let mut connection = PgConnection::connect(cluster_url().as_str()).await.expect("the test cluster");
    let unused = std::mem::take(&mut *UNUSED.lock().expect("no thread panics while holding it"));
    for unused in unused {
        execute(&mut connection, &format!("drop database {unused} with (force)")).await;
    }
    execute(&mut connection, &format!("create database {name} template {TEMPLATE}")).await;
    TestDatabase { url: database_url(&name), name }
}

async fn create_template() {
    let mut connection = PgConnection::connect(cluster_url().as_str()).await.expect("the test cluster");
    sqlx::query("select pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut connection).await.expect("a lock");
    let exists: bool = sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
        .bind(TEMPLATE)
        .fetch_one(&mut connection)
        .await
        .expect("a catalogue");
    let today = crate::START_TIME[..10].parse().expect("a day");
    if !exists {
        execute(&mut connection, &format!("create database {TEMPLATE}")).await;
    }
    holdfast_store::migrate::run(&database_url(TEMPLATE), today).await.expect("the schema");
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    QueryBuilder::<sqlx::Postgres>::new(statement).build().execute(connection).await.expect(statement);
}

/// Returns every row of every table, without the `last_used_at` columns. Rows are in the order of their primary key, so
/// that an encrypted value, which differs each time, does not change the order.
pub async fn dump(connection: &mut PgConnection) -> Value {
    let tables: Vec<(String, Option<String>)> = sqlx::query_as(
        "select c.relname::text, \
           (select string_agg('t.' || quote_ident(a.attname) || ', ', '' order by k.place) \
            from pg_index i cross join unnest(i.indkey::int2[]) with ordinality k (attnum, place) \
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum \
            where i.indrelid = c.oid and i.indisprimary) \
         from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') \
         and not c.relispartition order by 1",
    )
    .fetch_all(&mut *connection)
    .await
    .expect("a catalogue");
    let mut dump = serde_json::Map::new();
    for (table, key) in tables {
        let query = format!(
            "select coalesce(jsonb_agg(to_jsonb(t) - 'last_used_at' order by {} to_jsonb(t)::text), '[]') from {table} t",
            key.unwrap_or_default()
        );
        let rows: Value = QueryBuilder::<sqlx::Postgres>::new(query)
            .build_query_scalar()
            .fetch_one(&mut *connection)
            .await
            .expect("rows");
        dump.insert(table, rows);
    }
    dump.into()
}

/// Returns the names of the tables that contain a text in the clear, as text or as bytes.
pub fn tables_containing(dump: &Value, text: &str) -> Vec<String> {
    let as_bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let tables = dump.as_object().expect("contents are an object of tables").iter();
    let has_text = |rows: &Value| {
        let rows = rows.to_string();
        rows.contains(text) || rows.contains(&as_bytes)
    };
    tables.filter(|(_, rows)| has_text(rows)).map(|(name, _)| name.clone()).collect()
}
