//! Uploading and downloading artifacts.

use chrono::TimeDelta;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use super::fixtures::{STAGES, count_rows, count_stored, file_part};
use super::{CiFixture, Job, Runner, SIMPLE, send_request};
use crate::uploads::start_on_every_store;

async fn download_artifacts(fixture: &CiFixture, build: i64) -> holdfast_tests::TestResponse {
    fixture.ada.get(&fixture.path(&format!("/builds/{build}/artifacts"))).await
}

#[tokio::test]
async fn artifacts_are_downloaded_unchanged() {
    for (store, server) in start_on_every_store().await {
        let fixture = CiFixture::on_server(server, SIMPLE).await;
        let runner = fixture.runner().await;
        let job = runner.claim().await;
        let path = fixture.path(&format!("/builds/{}/artifacts", job.id));
        for size in [0, 5, 9 << 20] {
            let bytes: Vec<u8> = (0..size).map(|n: usize| (n * 7 % 251) as u8).collect();
            let response = runner.upload_artifacts(&job, "out.zip", &bytes).await;
            assert_eq!(response.status, 201, "{store} {size}: {}", response.body);
            let response = fixture.ada.request("GET", &path).send().await.unwrap();
            assert_eq!(response.status(), 200, "{store} {size}");
            let headers = response.headers().clone();
            assert_eq!(headers["content-type"], "application/octet-stream");
            assert_eq!(headers["content-disposition"], "attachment; filename=\"out.zip\"");
            assert_eq!(headers["content-transfer-encoding"], "binary");
            assert_eq!(headers["content-length"], size.to_string().as_str());
            assert_eq!(headers["x-content-type-options"], "nosniff");
            assert_eq!(headers["content-security-policy"], "sandbox; default-src 'none'");
            assert!(response.bytes().await.unwrap() == bytes, "{store} {size}");
            // A runner gets the same file.
            let (status, headers, got) = runner.download_artifacts(job.id, &job.token).await;
            assert!((status, got) == (200, bytes), "{store} {size}: {status}");
            assert_eq!(headers["content-type"], "application/octet-stream");
            let shown = fixture.build("one").await;
            assert_eq!(shown["artifacts_file"], json!({ "filename": "out.zip", "size": size }));
        }
        // Replaced artifacts are deleted from the object store, and so are all when the build is erased.
        fixture.server.sweep_builds().await;
        assert_eq!(count_rows(&fixture.server, "build_objects").await, 1, "{store}");
        runner.finish(&job, "success").await;
        assert_eq!(fixture.build_action(&fixture.build("one").await, "erase").await.status, 201);
        fixture.server.sweep_builds().await;
        assert_eq!(count_rows(&fixture.server, "build_objects").await, 0, "{store}");
        assert_eq!(
            download_artifacts(&fixture, job.id).await.status_and_body(),
            (404, &json!({ "message": "404 Not found" }))
        );
    }
}

/// Some runners send the attributes of the file in the query, others as fields before or after it.
#[tokio::test]
async fn all_artifact_upload_formats_are_accepted() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let about = |form: Form| form.text("artifact_type", "archive").text("artifact_format", "zip");
    let forms: [(&str, &str, Form); 4] = [
        (
            "query",
            "?artifact_format=zip&artifact_type=archive&expire_in=1+day",
            Form::new().part("file", file_part("a", b"1")),
        ),
        ("before", "", about(Form::new()).text("expire_in", "24 hours").part("file", file_part("a", b"2"))),
        ("behind", "", about(Form::new().part("file", file_part("a", b"3"))).text("expire_in", "1 day")),
        ("not at all", "", about(Form::new()).part("file", file_part("a", b"4"))),
    ];
    let mut sent = 0;
    for (place, query, form) in forms {
        sent += 1;
        let response = runner.upload_form(&job, query, form).await;
        assert_eq!(response.status, 201, "{place}: {}", response.body);
        assert_eq!(download_artifacts(&fixture, job.id).await.text, sent.to_string(), "{place}");
        fixture.server.advance(TimeDelta::hours(23));
        assert_eq!(download_artifacts(&fixture, job.id).await.status, 200, "{place}");
        fixture.server.advance(TimeDelta::hours(2));
        let expected = if place == "not at all" { 200 } else { 404 };
        assert_eq!(download_artifacts(&fixture, job.id).await.status, expected, "{place}");
    }
    // Without an expiry date they are kept.
    fixture.server.advance(TimeDelta::days(1000));
    fixture.server.sweep_builds().await;
    assert_eq!(download_artifacts(&fixture, job.id).await.text, "4");
}

/// Checks that nothing is stored after an aborted upload. The sweep deletes the object after a day, because the upload
/// could still be running before.
async fn assert_nothing_stored(fixture: &CiFixture) {
    assert_eq!(count_rows(&fixture.server, "artifacts").await, 0);
    fixture.server.advance(TimeDelta::hours(25));
    fixture.server.sweep_builds().await;
    assert_eq!(count_rows(&fixture.server, "build_objects").await, 0);
    assert_eq!(count_stored(&fixture.server, "artifacts"), 0);
}

#[tokio::test]
async fn invalid_artifact_uploads_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let url = format!("{}/api/v4/jobs/{}/artifacts", fixture.server.base_url, job.id);
    let post = || reqwest::Client::new().post(&url).header("JOB-TOKEN", &job.token);
    let without = [
        send_request(post().multipart(Form::new().text("expire_in", "1 day"))).await,
        send_request(post().multipart(Form::new().text("file", "no file"))).await,
        send_request(post().multipart(Form::new().part("other", file_part("a.zip", b"x")))).await,
        send_request(post().body("no form")).await,
        send_request(post().json(&json!({ "file": "x" }))).await,
        send_request(post().header("Content-Type", "multipart/form-data; boundary=x").body("--x\r\nbroken")).await,
    ];
    for (place, answer) in without.iter().enumerate() {
        assert_eq!(answer.status, 400, "{place}: {}", answer.body);
    }
    assert_eq!(fixture.build("one").await.get("artifacts_file"), None);
    assert_nothing_stored(&fixture).await;
    assert_eq!(fixture.build("one").await["status"], "running");
}

#[tokio::test]
async fn oversized_artifacts_are_rejected() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let most = 16 << 20;
    let response = runner.upload_artifacts(&job, "a.zip", &vec![b'x'; most + 1]).await;
    assert_eq!((response.status, &response.body), (413, &json!({ "message": "413 Request Entity Too Large" })));
    assert_nothing_stored(&fixture).await;
    // A rejected upload does not replace the existing artifacts.
    assert_eq!(runner.upload_artifacts(&job, "a.zip", &vec![b'y'; most]).await.status, 201);
    assert_eq!(runner.upload_artifacts(&job, "b.zip", &vec![b'x'; most + 1]).await.status, 413);
    assert_eq!(fixture.build("one").await["artifacts_file"], json!({ "filename": "a.zip", "size": most }));
    assert!(download_artifacts(&fixture, job.id).await.text.bytes().all(|byte| byte == b'y'));
}

#[tokio::test]
async fn artifact_upload_requires_the_build_token() {
    let fixture = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\n").await;
    let runner = fixture.runner().await;
    let (one, two) = (runner.claim().await, runner.claim().await);
    let body = |id: i64, token: &str| Job { id, token: token.to_owned(), body: Value::Null };
    let before = fixture.server.dump_database().await;
    for token in ["wrong", "", &two.token, &runner.token, fixture.ada.token()] {
        let response = runner.upload_artifacts(&body(one.id, token), "a.zip", b"x").await;
        assert_eq!((response.status, &response.body), (403, &json!({ "message": "403 Forbidden" })), "{token}");
    }
    assert_eq!(runner.upload_artifacts(&body(999, &one.token), "a.zip", b"x").await.status, 403);
    let url = format!("{}/api/v4/jobs/{}/artifacts", fixture.server.base_url, one.id);
    let form = Form::new().part("file", file_part("a.zip", b"x"));
    assert_eq!(send_request(reqwest::Client::new().post(&url).multipart(form)).await.status, 403);
    assert_eq!(fixture.server.dump_database().await, before);
    // A finished build cannot upload artifacts.
    runner.finish(&one, "success").await;
    assert_eq!(fixture.build_action(&fixture.build("two").await, "cancel").await.status, 201);
    let before = fixture.server.dump_database().await;
    for job in [&one, &two] {
        assert_eq!(runner.upload_artifacts(job, "a.zip", b"x").await.status, 403);
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn the_newest_artifact_upload_wins() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    assert_eq!(runner.upload_artifacts(&job, "a.zip", b"first").await.status, 201);
    assert_eq!(runner.upload_artifacts(&job, "b.zip", b"other").await.status, 201);
    let answer = download_artifacts(&fixture, job.id).await;
    assert_eq!((answer.status, &*answer.text), (200, "other"));
    assert_eq!(fixture.build("one").await["artifacts_file"], json!({ "filename": "b.zip", "size": 5 }));
    assert_eq!(count_stored(&fixture.server, "artifacts"), 2);
    fixture.server.sweep_builds().await;
    assert_eq!(
        (count_rows(&fixture.server, "build_objects").await, count_stored(&fixture.server, "artifacts")),
        (1, 1)
    );
    assert_eq!(download_artifacts(&fixture, job.id).await.text, "other");
}

/// A file name is used only as the name for saving the download.
#[tokio::test]
async fn artifact_names_are_sanitized() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    for name in ["../../x.zip", "..", "/etc/passwd", "C:\\x", "a\"; b.html", "é.zip"] {
        assert_eq!(runner.upload_artifacts(&job, name, b"x").await.status, 201, "{name}");
        let answer = download_artifacts(&fixture, job.id).await;
        let disposition = answer.header("content-disposition").unwrap();
        let saved =
            disposition.strip_prefix("attachment; filename=\"").and_then(|rest| rest.strip_suffix('"')).unwrap();
        assert!(!saved.contains(['/', '\\', '"', ';']) && saved != "..", "{disposition}");
    }
    for entry in std::fs::read_dir(fixture.server.directory.path().join("artifacts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    }
}

/// A running build downloads artifacts of its pipeline with its own token.
#[tokio::test]
async fn builds_download_artifacts_of_their_pipeline() {
    let fixture = CiFixture::with_file(STAGES).await;
    let runner = fixture.runner().await;
    let first = runner.claim().await;
    assert_eq!(runner.upload_artifacts(&first, "out.zip", b"of first").await.status, 201);
    runner.finish(&first, "success").await;
    let second = runner.claim().await;
    assert_eq!(second.name(), "second");
    let (status, headers, bytes) = runner.download_artifacts(first.id, &second.token).await;
    assert_eq!((status, bytes), (200, b"of first".to_vec()));
    assert_eq!(headers["content-disposition"], "attachment; filename=\"out.zip\"");
    assert_eq!(runner.download_artifacts(second.id, &second.token).await.0, 404, "it left nothing");
    // Other tokens are rejected.
    fixture.start_pipeline().await;
    let elsewhere = runner.claim().await;
    for token in ["wrong", "", &elsewhere.token, &first.token, &runner.token, fixture.ada.token()] {
        let (status, _, bytes) = runner.download_artifacts(first.id, token).await;
        assert_eq!((status, bytes), (403, br#"{"message":"403 Forbidden"}"#.to_vec()), "{token}");
    }
    assert_eq!(runner.download_artifacts(999, &second.token).await.0, 403);
    let url = format!("{}/api/v4/jobs/{}/artifacts", fixture.server.base_url, first.id);
    assert_eq!(send_request(reqwest::Client::new().get(&url)).await.status, 403);
    runner.finish(&second, "success").await;
    assert_eq!(runner.download_artifacts(first.id, &second.token).await.0, 403, "its time is over");
}

#[tokio::test]
async fn artifact_download_requires_build_access() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = Runner::register_shared(&fixture.server, json!({})).await;
    let job = runner.claim().await;
    let path = fixture.path(&format!("/builds/{}/artifacts", job.id));
    assert_eq!(fixture.ada.get(&path).await.status_and_body(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(runner.upload_artifacts(&job, "out.zip", b"x").await.status, 201);
    let (_, reporter) = fixture.add_member("rob", "20").await;
    let (_, guest) = fixture.add_member("gus", "10").await;
    let (_, eve) = fixture.server.user("eve").await;
    for (client, status) in [(&fixture.ada, 200), (&reporter, 200), (&guest, 403), (&eve, 404)] {
        assert_eq!(client.get(&path).await.status, status);
    }
    assert!([401, 404].contains(&fixture.server.anonymous().get(&path).await.status));
    assert_eq!(fixture.ada.get(&fixture.path("/builds/999/artifacts")).await.status, 404);
    // A build is found only in its own project.
    let other = fixture.another_project("q", SIMPLE).await;
    let elsewhere = format!("/projects/{other}/builds/{}/artifacts", job.id);
    assert_eq!(fixture.ada.get(&elsewhere).await.status, 404);
}
