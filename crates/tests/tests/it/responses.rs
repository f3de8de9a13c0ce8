//! Headers that every response has, and error responses that do not reveal their cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use holdfast_app::Clock;
use holdfast_tests::ssh::KeyPair;
use holdfast_tests::{START_TIME, Server, Setup, log};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::pipelines::Runner;
use crate::uploads::upload;

/// A browser that sniffs content types can treat a file as a page (Gitea #37354), and a cookie would let other sites
/// act for the user. `access::responses` checks the routes of the API, and `pages::headers` checks pages; this test checks
/// all other kinds of responses.
#[tokio::test]
async fn responses_disable_content_sniffing_and_set_no_cookies() {
    let mut setup = Setup::default();
    setup.limits.anonymous_requests_per_minute = 100;
    setup.settings.ci.long_poll_timeout = std::time::Duration::ZERO;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let hidden = server.project(&ada, "hidden", 0).await;
    let old = server.project(&ada, "old", 20).await;
    assert_eq!(ada.put(&format!("/projects/{old}"), &[("name", "new"), ("path", "new")]).await.status, 200);
    let file = upload(&ada, project, "a.html", b"<script>").await.body["url"].as_str().unwrap().to_owned();
    let token = ada.get(&format!("/projects/{project}")).await.body["runners_token"].as_str().unwrap().to_owned();
    let runner = Runner::register(&server, json!({ "token": token })).await;
    let refs = "info/refs?service=git-upload-pack";
    let (file, hidden) = (format!("/ada/p{file}"), format!("/api/v3/projects/{hidden}"));
    let api = |path: &str| format!("/api/v3/projects/{project}{path}");
    let requests = [
        ("GET", "/healthz", "", 200),
        ("GET", "/readyz", "", 200),
        ("GET", "/api/nothing/at/all/of/it", "", 404),
        ("GET", "/api/docs", "", 303),
        ("GET", "/api/docs/", "", 200),
        ("GET", "/api/docs/swagger-ui.css", "", 200),
        ("GET", "/api/docs/nothing.js", "", 404),
        ("GET", "/api/v3/openapi.json", "", 200),
        ("HEAD", "/api/v3/openapi.json", "", 200),
        ("OPTIONS", "/api/v3/projects", "", 404),
        ("GET", "/api/v3/user", "", 401),
        ("GET", &hidden, "", 404),
        ("GET", &api(""), "", 200),
        ("POST", &api("/hooks"), "url=ftp://x", 401),
        ("GET", &api("/repository/archive"), "", 200),
        ("GET", &api("/repository/blobs/main?filepath=README.md"), "", 200),
        ("POST", "/api/v3/session", "login=ada&password=wrong", 401),
        ("GET", &file, "", 200),
        ("GET", "/ada/p/uploads/0123456789abcdef0123456789abcdef/a.html", "", 404),
        ("GET", &format!("/ada/p.git/{refs}"), "", 200),
        ("GET", &format!("/ada/old.git/{refs}"), "", 308),
        ("GET", &format!("/ada/hidden.git/{refs}"), "", 401),
        ("GET", "/ada/p.git/info/refs", "", 403),
        ("GET", "/ada/p.git/bundle", "", 404),
        ("POST", "/ada/p.git/git-upload-pack", "0000", 415),
        ("POST", "/api/v4/runners/verify", &format!("token={}", runner.token), 200),
        ("POST", "/api/v4/runners/verify", "token=wrong", 403),
        ("POST", "/api/v4/jobs/request", &format!("token={}", runner.token), 204),
        ("PUT", "/api/v4/jobs/1", "token=wrong&state=success", 403),
        ("GET", "/api/v4/nothing", "", 404),
        ("POST", "/ci/api/v1/builds/register.json", "token=wrong", 403),
    ];
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let send = async |method: &str, path: &str, form: &str| {
        let mut request = http.request(method.parse().unwrap(), format!("{}{path}", server.base_url));
        if !form.is_empty() {
            request = request.header("content-type", "application/x-www-form-urlencoded").body(form.to_owned());
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.headers().clone())
    };
    for (method, path, form, expected) in requests {
        let (status, headers) = send(method, path, form).await;
        assert_eq!(status, expected, "{method} {path}");
        assert_protected(&format!("{method} {path}"), &headers);
    }
    // A client that exceeds the rate limit.
    let mut status = 0;
    for _ in 0..200 {
        let (now, headers) = send("GET", &api(""), "").await;
        assert_protected(&api(""), &headers);
        status = now;
        if status == 429 {
            break;
        }
    }
    assert_eq!(status, 429);
    // A request that is rejected before routing.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let two_hosts = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n";
    stream.write_all(two_hosts.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 400 ") && text.contains("x-content-type-options: nosniff\r\n"), "{text}");
    assert!(!text.to_lowercase().contains("set-cookie"), "{text}");
}

pub fn assert_protected(request: &str, headers: &HeaderMap) {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("x-content-type-options"), Some("nosniff"), "{request}");
    assert_eq!(header("referrer-policy"), Some("no-referrer"), "{request}");
    assert_eq!(header("set-cookie"), None, "{request}");
}

async fn post(url: String, body: &Value) -> (u16, String) {
    let response = reqwest::Client::new().post(url).json(body).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn get(url: String) -> (u16, String) {
    let response = reqwest::Client::new().get(url).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

const INTERNAL_ERROR: &str = r#"{"message":"500 Internal Server Error"}"#;

/// The text of an internal error names tables, files and programs, which helps attackers. It is logged and not sent.
#[tokio::test]
async fn causes_of_internal_errors_are_logged_and_not_shown() {
    let server = Server::start().await;
    let (ssh, (_, ada)) = (server.ssh().await, server.user("ada").await);
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let key = KeyPair::registered(&ada).await;
    let token = ada.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
    let runner = Runner::register(&server, json!({ "token": token })).await;
    let mut database = server.database().await;
    let mut execute = async |statement: &'static str| {
        sqlx::raw_sql(statement).execute(&mut database).await.unwrap();
    };
    let issues = format!("{}/api/v3/projects/{project}/issues?private_token={}", server.base_url, ada.token());
    let refs = format!("{}/ada/p.git/info/refs?service=git-upload-pack", server.base_url);
    let request = format!("{}/api/v4/jobs/request", server.base_url);
    let body = json!({ "token": runner.token });
    let over_ssh = async || ssh.run(&key, &["git-upload-pack 'ada/p.git'"]).await;
    execute(
        "alter table issues rename to canary_issues; alter table repositories rename to canary_repositories;
         alter table runners rename to canary_runners",
    )
    .await;
    assert_eq!(get(issues.clone()).await, (500, INTERNAL_ERROR.to_owned()));
    assert_eq!(get(refs.clone()).await, (500, INTERNAL_ERROR.to_owned()));
    assert_eq!(post(request.clone(), &body).await, (500, INTERNAL_ERROR.to_owned()));
    let refused = over_ssh().await;
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(128), ""), "{refused:?}");
    assert_eq!(
        refused.stderr,
        "ERROR: Internal server error. Try again, or ask an administrator to check the server log.\n"
    );
    let logged = log::captured();
    let logged: Vec<&str> = logged.lines().filter(|line| line.contains("does not exist")).collect();
    for table in ["issues", "repositories", "runners"] {
        let is_logged = logged.iter().any(|line| line.contains("ERROR") && line.contains(table));
        assert!(is_logged, "the cause is logged: {table}: {logged:#?}");
    }
    // Only these requests failed; the node recovers.
    execute(
        "alter table canary_issues rename to issues; alter table canary_repositories rename to repositories;
         alter table canary_runners rename to runners",
    )
    .await;
    assert_eq!(get(issues).await, (200, "[]".to_owned()));
    assert_eq!(get(refs).await.0, 200);
    assert_eq!(post(request, &body).await.0, 204);
    assert!(over_ssh().await.stdout.contains("refs/heads/main"));
}

/// A handler that panics yields an error response without the text of the panic, and the node goes on. The clock panics
/// here, since every request reads it.
#[tokio::test]
async fn a_panic_yields_an_error_response_without_its_text() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 20).await;
    server.push_first(&ada, "ada/p").await;
    let token = ada.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
    let runner = Runner::register(&server, json!({ "token": token })).await;
    let is_broken = Arc::new(AtomicBool::new(false));
    let clock = Clock::new({
        let is_broken = is_broken.clone();
        move || {
            assert!(!is_broken.load(Ordering::SeqCst), "canary-panic-93ab");
            START_TIME.parse().unwrap()
        }
    });
    let node = server.another_node_with_clock(clock).await;
    let (client, base) = (ada.for_node(&node), format!("http://{node}"));
    let requests = async || {
        [
            get(format!("{base}/api/v3/projects/{project}")).await,
            get(format!("{base}/ada/p.git/info/refs?service=git-upload-pack")).await,
            post(format!("{base}/api/v4/jobs/request"), &json!({ "token": runner.token })).await,
            post(format!("{base}/api/v4/runners"), &json!({ "token": token })).await,
            {
                let issue = client.post(&format!("/projects/{project}/issues"), &[("title", "t")]).await;
                (issue.status, issue.text)
            },
        ]
    };
    let before = server.dump_database().await;
    for _ in 0..3 {
        is_broken.store(true, Ordering::SeqCst);
        for (place, response) in requests().await.into_iter().enumerate() {
            assert_eq!(response, (500, INTERNAL_ERROR.to_owned()), "request {place}");
        }
    }
    assert_eq!(server.dump_database().await, before);
    assert!(log::captured().contains("canary-panic-93ab"), "the text is logged");
    is_broken.store(false, Ordering::SeqCst);
    let statuses = requests().await.map(|(status, _)| status);
    assert_eq!(statuses, [200, 200, 204, 201, 201]);
}
