//! The files that builds leave: how they come, and who gets them.

use chrono::TimeDelta;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use super::scene::{STAGES, file, rows, stored};
use super::{Ground, Job, Runner, SIMPLE, said};
use crate::uploads::on_every_store;

async fn left(ground: &Ground, build: i64) -> holdfast_tests::Answer {
    ground.ada.get(&ground.path(&format!("/builds/{build}/artifacts"))).await
}

#[tokio::test]
async fn they_come_back_as_they_were_sent() {
    for (store, server) in on_every_store().await {
        let ground = Ground::on(server, SIMPLE).await;
        let runner = ground.runner().await;
        let job = runner.take().await;
        let path = ground.path(&format!("/builds/{}/artifacts", job.id));
        for size in [0, 5, 9 << 20] {
            let bytes: Vec<u8> = (0..size).map(|n: usize| (n * 7 % 251) as u8).collect();
            let said = runner.leave(&job, "out.zip", &bytes).await;
            assert_eq!(said.status, 201, "{store} {size}: {}", said.body);
            let response = ground.ada.request("GET", &path).send().await.unwrap();
            assert_eq!(response.status(), 200, "{store} {size}");
            let headers = response.headers().clone();
            assert_eq!(headers["content-type"], "application/octet-stream");
            assert_eq!(headers["content-disposition"], "attachment; filename=\"out.zip\"");
            assert_eq!(headers["content-transfer-encoding"], "binary");
            assert_eq!(headers["content-length"], size.to_string().as_str());
            assert_eq!(headers["x-content-type-options"], "nosniff");
            assert_eq!(headers["content-security-policy"], "sandbox; default-src 'none'");
            assert!(response.bytes().await.unwrap() == bytes, "{store} {size}");
            // To a runner it is given in the same way.
            let (status, headers, got) = runner.fetch(job.id, &job.token).await;
            assert!((status, got) == (200, bytes), "{store} {size}: {status}");
            assert_eq!(headers["content-type"], "application/octet-stream");
            let shown = ground.build("one").await;
            assert_eq!(shown["artifacts_file"], json!({ "filename": "out.zip", "size": size }));
        }
        // What was replaced is gone, and so is all of it when it is erased.
        ground.server.sweep().await;
        assert_eq!(rows(&ground.server, "build_objects").await, 1, "{store}");
        runner.finish(&job, "success").await;
        assert_eq!(ground.act(&ground.build("one").await, "erase").await.status, 201);
        ground.server.sweep().await;
        assert_eq!(rows(&ground.server, "build_objects").await, 0, "{store}");
        assert_eq!(left(&ground, job.id).await.both(), (404, &json!({ "message": "404 Not found" })));
    }
}

/// Some runners send what they say of the file in the address, others as fields before it or behind it.
#[tokio::test]
async fn in_every_way_in_which_runners_send_them() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    let about = |form: Form| form.text("artifact_type", "archive").text("artifact_format", "zip");
    let forms: [(&str, &str, Form); 4] = [
        (
            "query",
            "?artifact_format=zip&artifact_type=archive&expire_in=1+day",
            Form::new().part("file", file("a", b"1")),
        ),
        ("before", "", about(Form::new()).text("expire_in", "24 hours").part("file", file("a", b"2"))),
        ("behind", "", about(Form::new().part("file", file("a", b"3"))).text("expire_in", "1 day")),
        ("not at all", "", about(Form::new()).part("file", file("a", b"4"))),
    ];
    let mut sent = 0;
    for (place, query, form) in forms {
        sent += 1;
        let said = runner.leave_form(&job, query, form).await;
        assert_eq!(said.status, 201, "{place}: {}", said.body);
        assert_eq!(left(&ground, job.id).await.text, sent.to_string(), "{place}");
        ground.server.advance(TimeDelta::hours(23));
        assert_eq!(left(&ground, job.id).await.status, 200, "{place}");
        ground.server.advance(TimeDelta::hours(2));
        let expected = if place == "not at all" { 200 } else { 404 };
        assert_eq!(left(&ground, job.id).await.status, expected, "{place}");
    }
    // Without a limit it stays.
    ground.server.advance(TimeDelta::days(1000));
    ground.server.sweep().await;
    assert_eq!(left(&ground, job.id).await.text, "4");
}

/// What is given up midway is taken away by the sweeper after a day: until then it might still be on its way.
async fn nothing_stays(ground: &Ground) {
    assert_eq!(rows(&ground.server, "artifacts").await, 0);
    ground.server.advance(TimeDelta::hours(25));
    ground.server.sweep().await;
    assert_eq!(rows(&ground.server, "build_objects").await, 0);
    assert_eq!(stored(&ground.server, "artifacts"), 0);
}

#[tokio::test]
async fn what_is_wrong_leaves_nothing() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    let url = format!("{}/api/v4/jobs/{}/artifacts", ground.server.base, job.id);
    let post = || reqwest::Client::new().post(&url).header("JOB-TOKEN", &job.token);
    let without = [
        said(post().multipart(Form::new().text("expire_in", "1 day"))).await,
        said(post().multipart(Form::new().text("file", "no file"))).await,
        said(post().multipart(Form::new().part("other", file("a.zip", b"x")))).await,
        said(post().body("no form")).await,
        said(post().json(&json!({ "file": "x" }))).await,
        said(post().header("Content-Type", "multipart/form-data; boundary=x").body("--x\r\nbroken")).await,
    ];
    for (place, answer) in without.iter().enumerate() {
        assert_eq!(answer.status, 400, "{place}: {}", answer.body);
    }
    assert_eq!(ground.build("one").await.get("artifacts_file"), None);
    nothing_stays(&ground).await;
    assert_eq!(ground.build("one").await["status"], "running");
}

#[tokio::test]
async fn what_is_too_large_leaves_nothing() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    let most = 16 << 20;
    let said = runner.leave(&job, "a.zip", &vec![b'x'; most + 1]).await;
    assert_eq!((said.status, &said.body), (413, &json!({ "message": "413 Request Entity Too Large" })));
    nothing_stays(&ground).await;
    // It does not take the place of what was there.
    assert_eq!(runner.leave(&job, "a.zip", &vec![b'y'; most]).await.status, 201);
    assert_eq!(runner.leave(&job, "b.zip", &vec![b'x'; most + 1]).await.status, 413);
    assert_eq!(ground.build("one").await["artifacts_file"], json!({ "filename": "a.zip", "size": most }));
    assert!(left(&ground, job.id).await.text.bytes().all(|byte| byte == b'y'));
}

#[tokio::test]
async fn only_who_has_the_build_leaves_something() {
    let ground = Ground::with("one: {script: x}\ntwo: {script: x}\n").await;
    let runner = ground.runner().await;
    let (one, two) = (runner.take().await, runner.take().await);
    let body = |id: i64, token: &str| Job { id, token: token.to_owned(), body: Value::Null };
    let before = ground.server.contents().await;
    for token in ["wrong", "", &two.token, &runner.token, ground.ada.token()] {
        let said = runner.leave(&body(one.id, token), "a.zip", b"x").await;
        assert_eq!((said.status, &said.body), (403, &json!({ "message": "403 Forbidden" })), "{token}");
    }
    assert_eq!(runner.leave(&body(999, &one.token), "a.zip", b"x").await.status, 403);
    let url = format!("{}/api/v4/jobs/{}/artifacts", ground.server.base, one.id);
    let form = Form::new().part("file", file("a.zip", b"x"));
    assert_eq!(said(reqwest::Client::new().post(&url).multipart(form)).await.status, 403);
    assert_eq!(ground.server.contents().await, before);
    // Once it is over it leaves nothing any more.
    runner.finish(&one, "success").await;
    assert_eq!(ground.act(&ground.build("two").await, "cancel").await.status, 201);
    let before = ground.server.contents().await;
    for job in [&one, &two] {
        assert_eq!(runner.leave(job, "a.zip", b"x").await.status, 403);
    }
    assert_eq!(ground.server.contents().await, before);
}

#[tokio::test]
async fn the_newest_upload_is_the_one_that_counts() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    assert_eq!(runner.leave(&job, "a.zip", b"first").await.status, 201);
    assert_eq!(runner.leave(&job, "b.zip", b"other").await.status, 201);
    let answer = left(&ground, job.id).await;
    assert_eq!((answer.status, &*answer.text), (200, "other"));
    assert_eq!(ground.build("one").await["artifacts_file"], json!({ "filename": "b.zip", "size": 5 }));
    assert_eq!(stored(&ground.server, "artifacts"), 2);
    ground.server.sweep().await;
    assert_eq!((rows(&ground.server, "build_objects").await, stored(&ground.server, "artifacts")), (1, 1));
    assert_eq!(left(&ground, job.id).await.text, "other");
}

/// A name is what a file is called when it is saved, and nothing else.
#[tokio::test]
async fn no_name_leads_anywhere() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    for name in ["../../x.zip", "..", "/etc/passwd", "C:\\x", "a\"; b.html", "é.zip"] {
        assert_eq!(runner.leave(&job, name, b"x").await.status, 201, "{name}");
        let answer = left(&ground, job.id).await;
        let told = answer.header("content-disposition").unwrap();
        let saved = told.strip_prefix("attachment; filename=\"").and_then(|rest| rest.strip_suffix('"')).unwrap();
        assert!(!saved.contains(['/', '\\', '"', ';']) && saved != "..", "{told}");
    }
    for entry in std::fs::read_dir(ground.server.directory.path().join("artifacts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    }
}

/// A build gets what others of its pipeline left, with its own token, while it runs.
#[tokio::test]
async fn builds_of_the_same_pipeline_get_them() {
    let ground = Ground::with(STAGES).await;
    let runner = ground.runner().await;
    let first = runner.take().await;
    assert_eq!(runner.leave(&first, "out.zip", b"of first").await.status, 201);
    runner.finish(&first, "success").await;
    let second = runner.take().await;
    assert_eq!(second.name(), "second");
    let (status, headers, bytes) = runner.fetch(first.id, &second.token).await;
    assert_eq!((status, bytes), (200, b"of first".to_vec()));
    assert_eq!(headers["content-disposition"], "attachment; filename=\"out.zip\"");
    assert_eq!(runner.fetch(second.id, &second.token).await.0, 404, "it left nothing");
    // Nobody else does.
    ground.start().await;
    let elsewhere = runner.take().await;
    for token in ["wrong", "", &elsewhere.token, &first.token, &runner.token, ground.ada.token()] {
        let (status, _, bytes) = runner.fetch(first.id, token).await;
        assert_eq!((status, bytes), (403, br#"{"message":"403 Forbidden"}"#.to_vec()), "{token}");
    }
    assert_eq!(runner.fetch(999, &second.token).await.0, 403);
    let url = format!("{}/api/v4/jobs/{}/artifacts", ground.server.base, first.id);
    assert_eq!(said(reqwest::Client::new().get(&url)).await.status, 403);
    runner.finish(&second, "success").await;
    assert_eq!(runner.fetch(first.id, &second.token).await.0, 403, "its time is over");
}

#[tokio::test]
async fn people_get_them_who_may_read_builds() {
    let ground = Ground::with(SIMPLE).await;
    let runner = Runner::shared(&ground.server, json!({})).await;
    let job = runner.take().await;
    let path = ground.path(&format!("/builds/{}/artifacts", job.id));
    assert_eq!(ground.ada.get(&path).await.both(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(runner.leave(&job, "out.zip", b"x").await.status, 201);
    let (_, reporter) = ground.member("rob", "20").await;
    let (_, guest) = ground.member("gus", "10").await;
    let (_, eve) = ground.server.user("eve").await;
    for (client, status) in [(&ground.ada, 200), (&reporter, 200), (&guest, 403), (&eve, 404)] {
        assert_eq!(client.get(&path).await.status, status);
    }
    assert!([401, 404].contains(&ground.server.anonymous().get(&path).await.status));
    assert_eq!(ground.ada.get(&ground.path("/builds/999/artifacts")).await.status, 404);
    // A build is found in its own project only.
    let other = ground.another_project("q", SIMPLE).await;
    let elsewhere = format!("/projects/{other}/builds/{}/artifacts", job.id);
    assert_eq!(ground.ada.get(&elsewhere).await.status, 404);
}
