//! The sessions of a user: on all nodes, in the list of the profile, and nowhere but in pages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use holdfast_tests::Server;
use serde_json::json;

use crate::pipelines::Runner;

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36";

/// Returns the number of stored sessions of browsers.
pub async fn count_sessions(server: &Server) -> i64 {
    let query = "select count(*) from browser_sessions";
    sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap()
}

#[tokio::test]
async fn every_node_accepts_the_session_of_another() {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    let nodes = [server.another_node().await, server.another_node().await];
    for node in &nodes {
        assert_eq!(browser.for_node(node).viewer().await.as_deref(), Some("ada"));
    }
    // A message passes from one node to another, too.
    let copy = browser.copy();
    assert_eq!(browser.for_node(&nodes[0]).post("/sign_out", &[]).await.status, 303);
    let page = browser.for_node(&nodes[1]).get("/sign_in").await;
    assert_eq!(page.texts("[role=status]"), ["You are signed out."]);
    for node in &nodes {
        assert_eq!(copy.copy().for_node(node).viewer().await, None);
    }
    assert_eq!(copy.viewer().await, None);
}

#[tokio::test]
async fn users_see_their_sessions_and_end_the_others() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("eve").await;
    let eve = server.sign_in("eve").await;
    let chrome = server.browser().with_agent(CHROME);
    assert_eq!(chrome.sign_in("ada", holdfast_tests::PASSWORD).await.status, 303);
    server.advance(TimeDelta::hours(1));
    let firefox = server.sign_in("ada").await;
    let third = server.sign_in("ada").await;
    let page = firefox.get("/profile/sessions").await;
    assert_eq!(page.status, 200);
    let rows = page.texts("table tbody tr");
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.contains("this session")).count(), 1, "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row.contains("Firefox on Linux")).count(), 2, "{rows:?}");
    assert!(rows.iter().any(|row| row.contains("Chrome on Windows") && row.contains("127.0.0.0/24")), "{rows:?}");
    // One is ended by the form in its row.
    let position = rows.iter().position(|row| row.contains("Chrome on Windows")).unwrap();
    let form = page.form(&format!("table tbody tr:nth-child({}) form", position + 1));
    let response = firefox.submit(&form).await;
    assert_eq!((response.status, response.location()), (303, Some("/profile/sessions")));
    let page = firefox.get("/profile/sessions").await;
    assert_eq!(page.texts("[role=status]"), ["The session was ended."]);
    assert_eq!(page.texts("table tbody tr").len(), 2);
    assert_eq!((chrome.viewer().await, third.viewer().await.as_deref()), (None, Some("ada")));
    // A session that has ended cannot be ended again.
    assert_eq!(firefox.submit(&form).await.status, 404);
    // All others are ended at once.
    let form = page.form("form[action='/profile/sessions/delete_others']");
    assert_eq!(firefox.submit(&form).await.status, 303);
    let page = firefox.get("/profile/sessions").await;
    assert_eq!(page.texts("[role=status]"), ["All other sessions were ended."]);
    assert_eq!(page.texts("table tbody tr").len(), 1);
    assert_eq!(page.attributes("form[action='/profile/sessions/delete_others']", "action"), [""; 0]);
    assert_eq!((firefox.viewer().await.as_deref(), third.viewer().await), (Some("ada"), None));
    assert_eq!(eve.viewer().await.as_deref(), Some("eve"));
}

/// Insecure direct object reference: a user ends the sessions of another by guessing their ids.
#[tokio::test]
async fn sessions_of_other_users_cannot_be_ended() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("eve").await;
    let (ada, eve) = (server.sign_in("ada").await, server.sign_in("eve").await);
    let query = "select s.id from browser_sessions s join users u on u.id = s.user_id where u.username = 'ada'";
    let id: i64 = sqlx::query_scalar(query).fetch_one(&mut server.database().await).await.unwrap();
    let before = server.dump_database().await;
    let response = eve.post(&format!("/profile/sessions/{id}/delete"), &[]).await;
    assert_eq!(response.status, 404);
    for path in ["/profile/sessions/0/delete", "/profile/sessions/-1/delete", "/profile/sessions/x/delete"] {
        let status = eve.post(path, &[]).await.status;
        assert!(matches!(status, 404 | 422), "{path}: {status}");
    }
    assert_eq!(eve.post("/profile/sessions/delete_others", &[]).await.status, 303);
    assert_eq!(server.dump_database().await, before);
    assert_eq!(ada.viewer().await.as_deref(), Some("ada"));
}

/// If the API accepted the cookie, forms and scripts of other sites could act for the user. If it accepted its secret
/// as a token, a stolen cookie would never need the password for changes of credentials.
#[tokio::test]
async fn the_api_git_and_runners_do_not_accept_browser_sessions() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    server.push_first(&ada, "ada/p").await;
    let token = ada.get(&format!("/projects/{project}")).await.body["runners_token"].as_str().unwrap().to_owned();
    let runner = Runner::register(&server, json!({ "token": token })).await;
    let browser = server.sign_in("ada").await;
    let secret = browser.cookie("holdfast").unwrap();
    let refs = "/ada/p.git/info/refs?service=git-upload-pack";
    let requests = [
        ("GET", "/api/v3/user".to_owned(), 401),
        ("GET", "/api/v3/projects".to_owned(), 401),
        ("GET", format!("/api/v3/projects/{project}"), 404),
        ("POST", "/api/v3/projects".to_owned(), 401),
        ("GET", refs.to_owned(), 401),
        ("POST", "/ada/p.git/git-receive-pack".to_owned(), 401),
        ("POST", "/api/v4/runners/verify".to_owned(), 403),
        ("POST", "/api/v4/jobs/request".to_owned(), 403),
    ];
    let basic = format!("Basic {}", STANDARD.encode(format!("ada:{secret}")));
    for (method, path, expected) in &requests {
        let anonymous = server.browser();
        let bare = |browser: &holdfast_tests::Browser| {
            let request = browser.request(method, path).header("origin", "http://holdfast.test");
            let request = request.header("sec-fetch-site", "same-origin");
            match path.as_str() {
                path if path.ends_with("git-receive-pack") => {
                    request.header("content-type", "application/x-git-receive-pack-request").body("0000")
                }
                path if path.contains("/api/v4/") => request.form(&[("token", secret.as_str())]),
                _ => request,
            }
        };
        let ways = [
            ("cookie", bare(&browser)),
            ("private token", bare(&anonymous).header("PRIVATE-TOKEN", &secret)),
            ("bearer", bare(&anonymous).header("authorization", format!("Bearer {secret}"))),
            ("basic", bare(&anonymous).header("authorization", &basic)),
            ("query", bare(&anonymous).query(&[("private_token", secret.as_str())])),
            ("job token", bare(&anonymous).header("JOB-TOKEN", &secret)),
        ];
        for (way, request) in ways {
            let response = anonymous.send(request).await;
            let is_refused = matches!(response.status, 400 | 401 | 403 | 404);
            assert!(is_refused, "{method} {path} with {way}: {} {}", response.status, response.text);
            if way == "cookie" {
                assert_eq!(response.status, *expected, "{method} {path}: {}", response.text);
            }
            assert_eq!(response.set_cookies(), [""; 0], "{method} {path} with {way}");
        }
    }
    // The requests were refused because of the session: with a token they succeed, and the session is valid.
    assert_eq!(ada.get("/user").await.status, 200);
    assert!(!runner.token.is_empty());
    assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
}

/// Pages accept sessions alone: a token in a header would let other sites' scripts and stolen tokens act in a browser.
#[tokio::test]
async fn pages_do_not_accept_tokens() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "p", 0).await;
    let browser = server.browser();
    let basic = format!("Basic {}", STANDARD.encode(format!("ada:{}", holdfast_tests::PASSWORD)));
    let ways = [
        browser.request("GET", "/ada/p").header("PRIVATE-TOKEN", ada.token()),
        browser.request("GET", "/ada/p").header("authorization", format!("Bearer {}", ada.token())),
        browser.request("GET", "/ada/p").header("authorization", basic),
        browser.request("GET", "/ada/p").query(&[("private_token", ada.token())]),
        browser.request("GET", "/ada/p").header("cookie", format!("holdfast={}", ada.token())),
        browser.request("GET", "/ada/p?sudo=ada").header("PRIVATE-TOKEN", server.admin.token()),
    ];
    for request in ways {
        assert_eq!(browser.send(request).await.status, 404);
    }
    assert_eq!(server.sign_in("ada").await.get("/ada/p").await.status, 200);
}
