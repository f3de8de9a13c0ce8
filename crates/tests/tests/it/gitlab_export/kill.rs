//! Kills the process that runs an import.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdfast_tests::{SeededRng, Server};
use serde_json::Value;
use sqlx::PgConnection;

use super::generator::{Size, Source};
use super::{Imported, USERS, start_with_users};

/// The time after which the test fails if the import makes no progress.
const DEADLINE: Duration = Duration::from_secs(120);
/// How many times the process is killed, if the import does not end before.
const MAX_KILLS: usize = 12;

/// Starts `holdfast worker` with the database and the objects of a server. The program is built with the tests.
fn start_worker(server: &Server) -> Child {
    let tests = std::env::current_exe().unwrap();
    let program: PathBuf = tests.parent().and_then(|it| it.parent()).unwrap().join("holdfast");
    let cache = server.cache.path().join("worker");
    let mut command = Command::new(program);
    command
        .arg("worker")
        .env("HOLDFAST_CONFIG", "")
        .env("HOLDFAST__DATABASE__URL", server.database_url())
        .env("HOLDFAST__STORAGE__URL", format!("file://{}", server.directory.path().display()))
        .env("HOLDFAST__GIT__CACHE_DIRECTORY", cache)
        .env("HOLDFAST__MONITORING__LISTEN", "")
        .env("HOLDFAST__WORKER__CONCURRENCY", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Returns the recorded progress of an import as the step and the line, and whether the import is finished.
async fn read_progress(database: &mut PgConnection, project: i64) -> (Value, Value, bool) {
    let query = "select progress -> 'step', progress -> 'line', i.finished_at is not null
                 from gitlab_imports g join imports i using (project_id) where g.project_id = $1";
    sqlx::query_as(query).bind(project).fetch_one(database).await.unwrap()
}

/// Releases the jobs of a dead worker, as the worker recovery does after some minutes.
async fn release_jobs(database: &mut PgConnection) {
    sqlx::raw_sql(
        "update graphile_worker._private_jobs set locked_at = null, locked_by = null, run_at = now();
         update graphile_worker._private_job_queues set locked_at = null, locked_by = null",
    )
    .execute(database)
    .await
    .unwrap();
}

/// Whenever the process has made progress, it is killed after a random time. The next one continues.
#[tokio::test]
async fn a_killed_import_is_continued_without_duplicates() {
    let server = start_with_users().await;
    let source = Source::new(Size { issues: 600, notes_per_issue: 24 }).await;
    let fields = [("path", "engine"), ("users", USERS)];
    let mut imported = Imported::schedule(&server, &server.admin, &source, &fields, &source.archive().await).await;
    let seed = u64::from(std::process::id());
    eprintln!("seed {seed}");
    let mut rng = SeededRng::new(seed, 0);
    let mut database = server.database().await;
    let mut steps = Vec::new();
    let mut worker = start_worker(&server);
    let (mut before, mut since) = (read_progress(&mut database, imported.id).await, Instant::now());
    let mut looks = tokio::time::interval(Duration::from_millis(2));
    loop {
        looks.tick().await;
        let now = read_progress(&mut database, imported.id).await;
        if now.2 {
            break;
        }
        assert!(since.elapsed() < DEADLINE, "no progress after {before:?}, kills after {steps:?}");
        if now == before || steps.len() == MAX_KILLS {
            continue;
        }
        // Up to 60 milliseconds later, in any part of the next step.
        for _ in 0..rng.next_below(30) {
            looks.tick().await;
        }
        // SIGKILL.
        worker.kill().unwrap();
        worker.wait().unwrap();
        steps.push(format!("{}:{}", now.0, now.1));
        // The last transaction may have been committed after the progress was read.
        before = read_progress(&mut database, imported.id).await;
        since = Instant::now();
        release_jobs(&mut database).await;
        worker = start_worker(&server);
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    eprintln!("killed {} times, after {steps:?}", steps.len());
    assert!(steps.len() >= 5, "killed only {} times", steps.len());
    imported.check().await;
    release_jobs(&mut database).await;
    server.run_jobs().await;
    imported.check().await;
}
