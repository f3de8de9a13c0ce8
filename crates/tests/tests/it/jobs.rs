//! Background jobs, and the daily sweep.

use chrono::TimeDelta;
use holdfast_tests::Server;
use serde_json::json;

pub async fn sweep(server: &Server) {
    run_task(server, "sweep").await;
}

/// Enqueues a task with the empty payload of a scheduled one, and runs it.
async fn run_task(server: &Server, task: &str) {
    let mut database = server.database().await;
    sqlx::query("select graphile_worker.add_job($1, 'null'::json)").bind(task).execute(&mut database).await.unwrap();
    server.run_jobs().await;
}

#[tokio::test]
async fn scheduled_tasks_run() {
    let server = Server::start().await;
    for task in ["sweep", "tend_builds"] {
        run_task(&server, task).await;
        let mut database = server.database().await;
        let left: Vec<Option<String>> =
            sqlx::query_scalar("select last_error from graphile_worker.jobs").fetch_all(&mut database).await.unwrap();
        assert_eq!(left, [], "{task}");
    }
}

#[tokio::test]
async fn finished_jobs_are_deleted_after_a_month_and_others_never() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    ada.delete(&format!("/projects/{project}")).await;
    server.run_jobs().await;
    sqlx::query("insert into jobs (task, subject, total, requested_at) values ('x', 'unfinished', 1, '2020-01-01')")
        .execute(&mut server.database().await)
        .await
        .unwrap();
    let subjects = async || {
        let jobs = server.dump_database().await["jobs"].clone();
        let mut subjects: Vec<_> = jobs.as_array().unwrap().iter().map(|job| job["subject"].clone()).collect();
        subjects.sort_by_key(ToString::to_string);
        subjects
    };
    server.advance(TimeDelta::days(29));
    sweep(&server).await;
    assert_eq!(subjects().await, [json!("project ada/engine"), json!("unfinished")]);
    server.advance(TimeDelta::days(2));
    sweep(&server).await;
    assert_eq!(subjects().await, [json!("unfinished")]);
}

/// A part of the sweep that fails does not prevent the others.
#[tokio::test]
async fn one_failure_does_not_stop_the_sweep() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, _) = server.user("bob").await;
    let project = server.project(&ada, "engine", 0).await;
    crate::uploads::upload(&ada, project, "a.txt", b"a").await;
    let form = [("user_id", &*bob_id.to_string()), ("access_level", "30"), ("expires_at", "2026-01-03")];
    assert_eq!(ada.post(&format!("/projects/{project}/members"), &form).await.status, 201);
    let mut database = server.database().await;
    sqlx::query("update uploads set stored_at = null").execute(&mut database).await.unwrap();
    // A directory replaces the file, so that deleting it fails.
    let uploads = server.directory.path().join("uploads");
    let object = std::fs::read_dir(&uploads).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&object).unwrap();
    std::fs::create_dir(&object).unwrap();
    server.advance(TimeDelta::days(3));
    sweep(&server).await;
    assert_ne!(server.dump_database().await["uploads"], json!([]), "it failed");
    let feed = ada.get(&format!("/projects/{project}/events")).await.body;
    assert_eq!(feed[0]["action_name"], "removed due to membership expiration from", "and the rest was done");
}
