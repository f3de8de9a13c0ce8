//! Uploads, stored in a directory and on an S3 server.

use holdfast_store::objects;
use holdfast_tests::{Client, Server, Setup, TestResponse};
use serde_json::json;

pub async fn upload(client: &Client, project: i64, name: &str, bytes: &[u8]) -> TestResponse {
    let file = reqwest::multipart::Part::bytes(bytes.to_vec()).file_name(name.to_owned());
    let form = reqwest::multipart::Form::new().part("file", file);
    client.send(client.request("POST", &format!("/projects/{project}/uploads")).multipart(form)).await
}

/// Starts a server on each kind of object store.
pub async fn start_on_every_store() -> Vec<(&'static str, Server)> {
    let endpoint = std::env::var("HOLDFAST_TEST_S3_ENDPOINT").expect(
        "HOLDFAST_TEST_S3_ENDPOINT is not set: run the tests with dev/test, which starts an S3 server for them",
    );
    let bucket = objects::Options::S3 {
        bucket: "holdfast".into(),
        prefix: format!("test-{}", std::process::id()),
        endpoint: Some(endpoint),
        region: "us-east-1".into(),
        credentials: Some(("test".into(), "test".into())),
    };
    vec![
        ("directory", Server::start().await),
        ("S3", Server::start_with(Setup { objects: Some(bucket), ..Setup::default() }).await),
    ]
}

async fn download(server: &Server, client: &Client, path: &str) -> (u16, reqwest::header::HeaderMap, Vec<u8>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = http.get(format!("{}{path}", server.base_url));
    if let Some(token) = client.token_opt() {
        request = request.header("PRIVATE-TOKEN", token);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    (status, headers, response.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn uploads_are_downloaded_unchanged() {
    for (store, server) in start_on_every_store().await {
        let (_, ada) = server.user("ada").await;
        let (_, eve) = server.user("eve").await;
        let project = server.project(&ada, "engine", 0).await;
        for (name, size) in [("empty.txt", 0), ("picture.png", 5), ("large.bin", 9 << 20)] {
            let bytes: Vec<u8> = (0..size).map(|n: usize| (n * 7 % 251) as u8).collect();
            let made = upload(&ada, project, name, &bytes).await;
            assert_eq!(made.status, 201, "{store} {name}: {}", made.text);
            let url = made.body["url"].as_str().unwrap();
            assert!(made.body["markdown"].as_str().unwrap().contains(url));
            let path = format!("/ada/engine{url}");
            let (status, headers, got) = download(&server, &ada, &path).await;
            assert_eq!(status, 200, "{store} {name}");
            assert!(got == bytes, "{store} {name}: {} bytes came back", got.len());
            assert_eq!(headers["content-type"], "application/octet-stream");
            assert_eq!(headers["x-content-type-options"], "nosniff");
            assert_eq!(headers["content-disposition"], format!("attachment; filename=\"{name}\""));
            assert_eq!(headers["content-security-policy"], "sandbox; default-src 'none'");
            // A user who cannot see the project, or guesses the secret, gets 404.
            for client in [&eve, &server.anonymous()] {
                let (status, _, body) = download(&server, client, &path).await;
                assert_eq!((status, body), (404, br#"{"message":"404 Project Not Found"}"#.to_vec()));
            }
            assert_eq!(download(&server, &ada, &format!("{path}x")).await.0, 404);
        }
        let guess = format!("/ada/engine/uploads/{}/empty.txt", "0".repeat(32));
        assert_eq!(download(&server, &ada, &guess).await.0, 404);
        assert_eq!(ada.put(&format!("/projects/{project}"), &[("visibility_level", "20")]).await.status, 200);
        let made = upload(&ada, project, "a.txt", b"a").await.body["url"].as_str().unwrap().to_owned();
        assert_eq!(download(&server, &server.anonymous(), &format!("/ada/engine{made}")).await.0, 200);

        // Deleting the project deletes its files.
        assert_eq!(ada.delete(&format!("/projects/{project}")).await.status, 200);
        assert_eq!(download(&server, &ada, &format!("/ada/engine{made}")).await.0, 404);
        server.run_jobs().await;
        assert_eq!(server.dump_database().await["uploads"], json!([]), "{store}");
    }
}

/// IDOR (Gogs GHSA-p9f5-h3rx-j5qw: attachments by their id alone): a file is found only under its own project.
#[tokio::test]
async fn uploads_are_found_only_under_their_project() {
    for (store, server) in start_on_every_store().await {
        let (_, ada) = server.user("ada").await;
        let (_, eve) = server.user("eve").await;
        let secret = server.project(&ada, "secret", 0).await;
        server.project(&eve, "own", 20).await;
        let url = upload(&ada, secret, "a.txt", b"a").await.body["url"].as_str().unwrap().to_owned();
        assert_eq!(download(&server, &eve, &format!("/eve/own{url}")).await.0, 404, "{store}");
        assert_eq!(download(&server, &ada, &format!("/ada/secret{url}")).await.0, 200);
    }
}

/// Stored XSS (Gogs GHSA-xh32-cx6c-cp4v, GHSA-26gq-grmh-6xm6), and file names that are paths.
#[tokio::test]
async fn uploads_are_never_served_as_web_pages() {
    for (store, server) in start_on_every_store().await {
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "engine", 20).await;
        let names = ["x.html", "x.svg", "x.xml", "x.pdf", "x.js", "../../x.html", "a\"; b.html", ".."];
        for name in names {
            let made = upload(&ada, project, name, b"<script>alert(1)</script>").await;
            assert_eq!(made.status, 201, "{store} {name:?}: {}", made.text);
            let url = made.body["url"].as_str().unwrap();
            let rest = url.strip_prefix("/uploads/").unwrap();
            assert_eq!(rest.matches('/').count(), 1, "{url}");
            let (status, headers, _) = download(&server, &server.anonymous(), &format!("/ada/engine{url}")).await;
            assert_eq!(status, 200, "{url}");
            assert_eq!(headers["content-type"], "application/octet-stream");
            assert!(headers["content-disposition"].to_str().unwrap().starts_with("attachment;"));
            assert!(!headers.contains_key("set-cookie"));
        }
        // A line break in a file name is rejected.
        assert_eq!(upload(&ada, project, "x.html\r\nSet-Cookie: a=b", b"x").await.status, 400);
    }
}

/// Path traversal by a file name: the object store contains ids, never names.
#[tokio::test]
async fn upload_names_do_not_become_paths() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 20).await;
    for name in ["../../x.html", "..", "/etc/passwd", "C:\\x"] {
        assert_eq!(upload(&ada, project, name, b"x").await.status, 201, "{name}");
    }
    let mut seen = 0;
    for entry in std::fs::read_dir(server.directory.path().join("uploads")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    assert_eq!(std::fs::read_dir(server.directory.path()).unwrap().count(), 1, "nothing beside them");
}

#[tokio::test]
async fn invalid_uploads_are_rejected_and_leave_nothing() {
    for (store, server) in start_on_every_store().await {
        let (_, ada) = server.user("ada").await;
        let project = server.project(&ada, "engine", 0).await;
        let before = server.dump_database().await;
        let path = format!("/projects/{project}/uploads");
        assert_eq!(ada.post(&path, &[]).await.status_and_body(), (400, &json!({"error": "file is missing"})));
        assert_eq!(
            ada.post(&path, &[("file", "text")]).await.status_and_body(),
            (400, &json!({"error": "file is invalid"}))
        );
        for size in [(10 << 20) + 1, 11 << 20, 20 << 20] {
            let large = upload(&ada, project, "a.bin", &vec![0; size]).await;
            assert_eq!(
                large.status_and_body(),
                (413, &json!({"message": "413 Request Entity Too Large"})),
                "{store} {size}"
            );
        }
        assert_eq!(upload(&server.anonymous(), project, "a.bin", &vec![0; 9 << 20]).await.status, 401);
        assert_eq!(server.dump_database().await, before);
    }
}

/// Token scope bypass (Gitea CVE-2026-28744): `user` is a namespace here, not a path of the API.
#[tokio::test]
async fn read_user_scope_does_not_read_uploads() {
    for (store, server) in start_on_every_store().await {
        let (id, user) = server.user("user").await;
        let project = server.project(&user, "engine", 0).await;
        let url = upload(&user, project, "a.txt", b"a").await.body["url"].as_str().unwrap().to_owned();
        let narrow = server.with_token(&server.token(id, &["read_user"]).await);
        assert_eq!(download(&server, &narrow, &format!("/user/engine{url}")).await.0, 403, "{store}");
        assert_eq!(download(&server, &user, &format!("/user/engine{url}")).await.0, 200);
    }
}

/// A project is deleted during an upload: the sweep deletes the file that the deletion job cannot know.
#[tokio::test]
async fn unfinished_uploads_of_a_deleted_project_are_swept() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    upload(&ada, project, "a.txt", b"a").await;
    let mut database = server.database().await;
    sqlx::query("update uploads set stored_at = null").execute(&mut database).await.unwrap();
    assert_eq!(ada.delete(&format!("/projects/{project}")).await.status, 200);
    server.run_jobs().await;
    let after = server.dump_database().await;
    assert_eq!((&after["projects"], &after["uploads"][0]["project_id"]), (&json!([]), &json!(null)));
    server.advance(chrono::TimeDelta::days(2));
    sqlx::query("select graphile_worker.add_job('sweep', '{}'::json)").execute(&mut database).await.unwrap();
    server.run_jobs().await;
    assert_eq!(server.dump_database().await["uploads"], json!([]));
    assert_eq!(std::fs::read_dir(server.directory.path().join("uploads")).unwrap().count(), 0);
}

/// A failed job is listed as failed, is retried, and can be restarted.
#[tokio::test]
async fn failed_deletion_jobs_are_visible_and_retried() {
    use holdfast_app::{Actor, worker::job};
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    upload(&ada, project, "a.txt", b"a").await;
    let objects = server.directory.path().join("uploads");
    let object = std::fs::read_dir(&objects).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&object).unwrap();
    std::fs::create_dir(&object).unwrap();
    ada.delete(&format!("/projects/{project}")).await;
    server.run_jobs().await;
    let failing = job::list(&server.app, &Actor::Operator, 10).await.unwrap().remove(0);
    assert_eq!((failing.done, failing.total, failing.finished_at, failing.attempts), (0, 1, None, Some(1)));
    assert!(failing.last_error.is_some());
    assert_eq!(ada.get(&format!("/projects/{project}")).await.status, 404, "gone all the same");
    std::fs::remove_dir(&object).unwrap();
    server.run_jobs().await;
    assert_eq!(job::list(&server.app, &Actor::Operator, 10).await.unwrap()[0].done, 0, "not yet due again");
    job::retry(&server.app, &Actor::Operator, failing.id).await.unwrap();
    server.run_jobs().await;
    let done = job::list(&server.app, &Actor::Operator, 10).await.unwrap().remove(0);
    assert_eq!((done.done, done.finished_at.is_some()), (1, true));
    assert!(job::retry(&server.app, &Actor::Operator, failing.id).await.is_err(), "nothing waits any more");
}

/// A node that dies between writing the row and the file leaves a row that the sweep deletes.
#[tokio::test]
async fn unfinished_uploads_are_swept() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    let url = upload(&ada, project, "a.txt", b"a").await.body["url"].as_str().unwrap().to_owned();
    let mut database = server.database().await;
    sqlx::query("update uploads set stored_at = null").execute(&mut database).await.unwrap();
    assert_eq!(download(&server, &ada, &format!("/ada/engine{url}")).await.0, 404);
    let sweep = "select graphile_worker.add_job('sweep', '{}'::json)";
    sqlx::query(sweep).execute(&mut database).await.unwrap();
    server.run_jobs().await;
    assert_ne!(server.dump_database().await["uploads"], json!([]), "it may still be on its way");
    server.advance(chrono::TimeDelta::days(2));
    sqlx::query(sweep).execute(&mut database).await.unwrap();
    server.run_jobs().await;
    assert_eq!(server.dump_database().await["uploads"], json!([]));
    assert_eq!(std::fs::read_dir(server.directory.path().join("uploads")).unwrap().count(), 0);
}
