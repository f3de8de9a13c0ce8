//! Traces of builds.

use super::{CiFixture, SIMPLE};

async fn read_trace(fixture: &CiFixture, build: i64) -> String {
    fixture.ada.get(&fixture.path(&format!("/builds/{build}/trace"))).await.text
}

#[tokio::test]
async fn traces_are_appended_in_chunks() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let response = runner.patch(&job, 0, b"hello ").await;
    assert_eq!((response.status, response.header("range"), response.header("job-status")), (202, "0-6", "running"));
    assert_eq!(response.header("x-gitlab-trace-update-interval"), "3");
    let response = runner.patch(&job, 6, b"world\n").await;
    assert_eq!((response.status, response.header("range")), (202, "0-12"));
    // A chunk that does not match the trace is rejected, and the response says where the next one starts.
    for start in [0, 6, 13] {
        let response = runner.patch(&job, start, b"other").await;
        assert_eq!((response.status, response.header("range")), (416, "0-12"));
    }
    assert_eq!(runner.patch(&job, 12, b"").await.status, 202);
    assert_eq!(read_trace(&fixture, job.id).await, "hello world\n");
    runner.finish(&job, "success").await;
    assert_eq!(read_trace(&fixture, job.id).await, "hello world\n");
    let answer = fixture.ada.get(&fixture.path(&format!("/builds/{}/trace", job.id))).await;
    assert_eq!(answer.header("content-disposition"), Some(&*format!("infile; filename=\"{}.log\"", job.id)));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert_eq!(runner.patch(&job, 12, b"more").await.status, 403);
}

#[tokio::test]
async fn long_traces_are_archived_in_the_object_store() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let piece: Vec<u8> = (0..300_000u32).map(|n| b'a' + (n % 23) as u8).collect();
    let mut whole = Vec::new();
    for _ in 0..20 {
        assert_eq!(runner.patch(&job, whole.len() as i64, &piece).await.status, 202);
        whole.extend_from_slice(&piece);
    }
    let mut database = fixture.server.database().await;
    let here = "select coalesce(sum(bytes), 0)::bigint from trace_pieces where content is not null";
    let kept: i64 = sqlx::query_scalar(here).fetch_one(&mut database).await.unwrap();
    assert!(kept < 2 << 20, "{kept} bytes are still in the database");
    assert!(read_trace(&fixture, job.id).await.as_bytes() == whole);
    runner.finish(&job, "failed").await;
    let kept: i64 = sqlx::query_scalar(here).fetch_one(&mut database).await.unwrap();
    assert_eq!(kept, 0);
    assert!(read_trace(&fixture, job.id).await.as_bytes() == whole);
    // An erased trace is deleted, also from the object store.
    assert_eq!(fixture.build_action(&fixture.build("one").await, "erase").await.status, 201);
    assert_eq!(read_trace(&fixture, job.id).await, "");
    fixture.server.sweep_builds().await;
    let objects: i64 = sqlx::query_scalar("select count(*) from build_objects").fetch_one(&mut database).await.unwrap();
    assert_eq!(objects, 0);
    let refused = fixture.build_action(&fixture.build("one").await, "erase").await;
    assert_eq!(refused.body["message"], "403 Forbidden  - Build is not erasable!");
}

#[tokio::test]
async fn oversized_traces_fail_the_build() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let piece = vec![b'x'; 15 << 20];
    assert_eq!(runner.patch(&job, 0, &piece).await.status, 202);
    let response = runner.patch(&job, piece.len() as i64, &piece).await;
    assert_eq!((response.status, response.header("job-status")), (403, "failed"));
    assert_eq!(fixture.build("one").await["status"], "failed");
}
