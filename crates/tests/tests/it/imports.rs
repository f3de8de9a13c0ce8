//! Importing repositories from other servers.

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use holdfast_tests::{Client, Server, Setup, WorkTree};
use serde_json::{Value, json};

async fn start_with_loopback() -> Server {
    let mut setup = Setup::default();
    setup.settings.import_networks = vec!["127.0.0.0/8".parse().unwrap()];
    Server::start_with(setup).await
}

async fn create_import(client: &Client, path: &str, url: &str) -> Value {
    let made = client.post("/projects", &[("name", path), ("import_url", url)]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.body["id"].clone()
}

#[tokio::test]
async fn imports_copy_the_whole_repository() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "source", 0).await;
    let tree = WorkTree::new().await;
    tree.git(["checkout", "-q", "-b", "trunk"]).await.ok();
    let first = tree.commit("f", b"one\n", "one").await;
    tree.git(["tag", "-a", "v1", "-m", "one"]).await.ok();
    tree.git(["branch", "main"]).await.ok();
    let url = server.git_url(&ada, "ada/source");
    tree.push(&url, &["trunk"]).await.ok();
    tree.push(&url, &["main", "v1"]).await.ok();

    let id = create_import(&ada, "copy", &url).await;
    let waiting = ada.get(&format!("/projects/{id}/import")).await;
    assert_eq!(waiting.body["phase"], "waiting");
    assert_eq!(waiting.body["url"], format!("{}/ada/source.git", server.base_url), "no secrets");
    server.run_jobs().await;
    let done = ada.get(&format!("/projects/{id}/import")).await.body;
    assert_eq!((&done["phase"], &done["percent"], &done["error"]), (&json!("finished"), &json!(100), &Value::Null));
    let kept: Vec<(Option<String>, Option<String>)> =
        sqlx::query_as("select username, password from imports").fetch_all(&mut server.database().await).await.unwrap();
    assert_eq!(kept, [(None, None)], "name and password are forgotten");

    let project = ada.get(&format!("/projects/{id}")).await.body;
    assert_eq!(project["default_branch"], "trunk", "as it is over there");
    let (cloned, copy) = WorkTree::clone(&server.git_url(&ada, "ada/copy"), &["--mirror"]).await;
    cloned.ok();
    copy.git(["fsck", "--full", "--strict"]).await.ok();
    let listed = tree.git(["ls-remote", &url]).await.ok().stdout;
    assert_eq!(tree.git(["ls-remote", &server.git_url(&ada, "ada/copy")]).await.ok().stdout, listed);
    assert!(listed.contains(&first));
    let feed = ada.get(&format!("/projects/{id}/events")).await;
    assert_eq!(feed.body[0]["action_name"], "imported");
    // The repository is not empty any more.
    let again = ada.put(&format!("/projects/{id}"), &[("name", "copy"), ("import_url", &url)]).await;
    assert_eq!(again.status, 400, "{}", again.text);
}

#[tokio::test]
async fn non_network_urls_are_rejected() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    for url in [
        "file:///etc",
        "/etc",
        "ext::sh -c id",
        "--upload-pack=x",
        "-x",
        "git@host:path",
        "ssh://-oProxyCommand=id/x",
        "http://h/a\r\nb",
    ] {
        let refused = ada.post("/projects", &[("name", "n"), ("import_url", url)]).await;
        let message = json!({ "message": { "import_url": ["must be a valid URL"] } });
        assert_eq!(refused.status_and_body(), (400, &message), "{url}");
    }
    assert_eq!(ada.get("/projects/owned").await.body, json!([]));
}

/// Imports reveal nothing about private addresses: the error is the same for all.
#[tokio::test]
async fn imports_do_not_contact_private_addresses() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let port = server.address().split(':').nth(1).unwrap().to_owned();
    let mut texts = std::collections::BTreeSet::new();
    for (n, host) in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "10.0.0.1",
        "169.254.169.254",
        "[64:ff9b::7f00:1]",
    ]
    .into_iter()
    .enumerate()
    {
        for scheme in ["http", "git"] {
            let id =
                create_import(&ada, &format!("{scheme}{n}"), &format!("{scheme}://{host}:{port}/ada/source.git")).await;
            server.run_jobs().await;
            let done = ada.get(&format!("/projects/{id}/import")).await.body;
            assert_eq!(done["phase"], "failed", "{host}: {done}");
            texts.insert(done["error"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(texts.len(), 1, "{texts:?}");
}

/// Every redirect is checked, not only the first URL.
#[tokio::test]
async fn redirects_to_private_addresses_are_not_followed() {
    let mut setup = Setup::default();
    setup.settings.import_networks = vec!["127.0.0.1/32".parse().unwrap()];
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "source", 20).await;
    server.push_first(&ada, "ada/source").await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let suffix = "/info/refs?service=git-upload-pack";
    let outwards = format!("{}/ada/source.git{suffix}", server.base_url);
    let inwards = format!("http://127.0.0.2:{}/ada/source.git{suffix}", server.address().split(':').nth(1).unwrap());
    let to_file = format!("file:///etc{suffix}");
    let router = Router::new()
        .route("/good.git/info/refs", get(move || async move { Redirect::temporary(&outwards) }))
        .route("/bad.git/info/refs", get(move || async move { Redirect::temporary(&inwards) }))
        .route("/file.git/info/refs", get(move || async move { Redirect::temporary(&to_file) }))
        .route("/loop.git/info/refs", get(move || async move { Redirect::temporary(&format!("/loop.git{suffix}")) }));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    for (name, phase) in [("good", "finished"), ("bad", "failed"), ("file", "failed"), ("loop", "failed")] {
        let id = create_import(&ada, name, &format!("{base}/{name}.git")).await;
        server.run_jobs().await;
        let done = ada.get(&format!("/projects/{id}/import")).await.body;
        assert_eq!(done["phase"], phase, "{name}: {done}");
    }
}

#[tokio::test]
async fn an_import_can_be_canceled_and_retried() {
    let server = start_with_loopback().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "source", 20).await;
    server.push_first(&ada, "ada/source").await;
    let url = format!("{}/ada/source.git", server.base_url);
    let id = create_import(&ada, "copy", &url).await;
    let canceled = ada.delete(&format!("/projects/{id}/import")).await;
    assert_eq!((canceled.status, &canceled.body["phase"]), (200, &json!("canceled")));
    assert_eq!(ada.delete(&format!("/projects/{id}/import")).await.status, 404);
    server.run_jobs().await;
    assert_eq!(ada.get(&format!("/projects/{id}")).await.body["default_branch"], Value::Null);
    assert_eq!(ada.put(&format!("/projects/{id}"), &[("name", "copy"), ("import_url", &url)]).await.status, 200);
    server.run_jobs().await;
    assert_eq!(ada.get(&format!("/projects/{id}")).await.body["default_branch"], "main");
    let missing = create_import(&ada, "missing", &format!("{}/ada/none.git", server.base_url)).await;
    server.run_jobs().await;
    let done = ada.get(&format!("/projects/{missing}/import")).await.body;
    assert!(done["error"].as_str().unwrap().starts_with("There is no repository at this address"), "{done}");
}
