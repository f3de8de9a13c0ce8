//! Counts the statements that a page executes in the database.

use holdfast_tests::{Browser, Server};
use holdfast_web::pages;

use super::fixtures::PageFixture;

/// The session, and at most two rounds of statements.
const MAX_STATEMENTS: usize = 8;
/// Pages that show what others have on several pages, with their number of statements. The page of a merge request reads
/// its discussions, and what decides whether it can be merged.
const EXCEPTIONS: &[(&str, usize)] = &[("/:namespace/:project/merge_requests/:iid", 16)];
/// How many more statements a page may execute with many rows: what belongs to rows, such as their assignees, is not read
/// if no row has it. A statement for each row would be many more.
const MAX_ADDED_STATEMENTS: usize = 2;

/// Logs every statement from now on.
async fn log_statements(server: &Server) {
    let mut database = server.database().await;
    let name: String = sqlx::query_scalar("select current_database()::text").fetch_one(&mut database).await.unwrap();
    let statement = format!("alter database {name} set log_statement = 'all'");
    sqlx::QueryBuilder::<sqlx::Postgres>::new(statement).build().execute(&mut database).await.unwrap();
    // Existing connections do not have the setting yet.
    sqlx::query("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
        .execute(&mut database)
        .await
        .unwrap();
}

/// The log of PostgreSQL, which other tests write at the same time.
struct StatementLog {
    file: std::fs::File,
    /// How the lines of the database of this test can be recognized.
    database: String,
}

impl StatementLog {
    fn open(server: &Server) -> Self {
        let path =
            std::env::var("HOLDFAST_TEST_POSTGRES_LOG").expect("HOLDFAST_TEST_POSTGRES_LOG is not set: use dev/test");
        let url: url::Url = server.database_url().parse().unwrap();
        let database = format!(" {} LOG:  ", url.path().trim_start_matches('/'));
        Self { file: std::fs::File::open(path).unwrap(), database }
    }

    /// Returns the statements since the last call, without those that begin or end a transaction.
    fn read(&mut self) -> Vec<String> {
        use std::io::Read;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().filter_map(|line| line.split_once(&self.database)).map(|(_, entry)| entry);
        let statement = |entry: &str| {
            let (kind, statement) = entry.split_once(": ")?;
            let is_statement = kind == "statement" || kind.starts_with("execute ");
            is_statement.then(|| statement.trim().to_owned())
        };
        // The driver looks up types of the database once for each connection.
        let is_counted = |statement: &String| {
            let word = statement.split([' ', ';']).next().unwrap_or_default().to_ascii_lowercase();
            !matches!(word.as_str(), "begin" | "commit" | "rollback" | "set") && !statement.contains("pg_catalog.")
        };
        entries.filter_map(statement).filter(is_counted).collect()
    }
}

/// Opens every declared page, and returns its statements. The first request fills the caches of the node. The pages of
/// the administration are opened with the second browser.
async fn statements_of_pages(
    fixture: &PageFixture,
    [owner, administrator]: [&Browser; 2],
    log: &mut StatementLog,
) -> Vec<(String, Vec<String>)> {
    let project = fixture.projects.last().unwrap();
    let pages = pages::all();
    let mut found = Vec::new();
    // The page of the first run does not exist on an instance with users.
    for page in pages.list().iter().filter(|page| page.method == "GET" && page.path != "/setup") {
        let address = project.address(page.path);
        let browser = if page.path.starts_with("/admin") { administrator } else { owner };
        browser.get(&address).await;
        log.read();
        let response = browser.get(&address).await;
        assert!(matches!(response.status, 200 | 303 | 308), "{address}: {}", response.status);
        found.push((page.path.to_owned(), log.read()));
    }
    found
}

#[tokio::test]
async fn pages_execute_few_statements_however_many_rows_they_show() {
    let fixture = PageFixture::new().await;
    let (owner, administrator) = (fixture.browser("owner").await, fixture.browser("administrator").await);
    let browsers = [&owner, &administrator];
    log_statements(&fixture.server).await;
    // The node replaces its closed connections when it uses them.
    for _ in 0..10 {
        owner.get("/sign_in").await;
        administrator.get("/admin").await;
    }
    let mut log = StatementLog::open(&fixture.server);
    let with_few_rows = statements_of_pages(&fixture, browsers, &mut log).await;
    fixture.add_rows().await;
    let with_many_rows = statements_of_pages(&fixture, browsers, &mut log).await;
    let mut wrong = Vec::new();
    for ((path, few), (_, many)) in with_few_rows.iter().zip(&with_many_rows) {
        let exception = EXCEPTIONS.iter().find(|(page, _)| page == path);
        if few.len().max(many.len()) > exception.map_or(MAX_STATEMENTS, |(_, max)| *max) {
            wrong.push(format!("{path} executes {} statements:\n  {}", many.len(), many.join("\n  ")));
        }
        if many.len() > few.len() + MAX_ADDED_STATEMENTS {
            let numbers = (few.len(), many.len());
            wrong
                .push(format!("{path} executes more statements with more rows, {numbers:?}:\n  {}", many.join("\n  ")));
        }
    }
    let total: usize = with_few_rows.iter().map(|(_, statements)| statements.len()).sum();
    assert!(total > with_few_rows.len(), "statements are not logged");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
