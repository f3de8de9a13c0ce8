//! The token of a hook, and the user name and password in its URL, are for the receiver alone (Gitea #37440).

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use holdfast_tests::database::tables_containing;
use holdfast_tests::{Receiver, log};

use super::DeliveryFixture;

/// A password and a token of one hook that can be searched for.
struct Credentials {
    password: String,
    token: String,
}

impl Credentials {
    fn for_name(name: &str) -> Self {
        Self { password: format!("canary-password-{name}-6d10"), token: format!("canary-token-{name}-6d10") }
    }

    fn in_url(&self, url: &str) -> String {
        url.replace("http://", &format!("http://bot:{}@", self.password))
    }

    fn basic(&self) -> String {
        STANDARD.encode(format!("bot:{}", self.password))
    }
}

/// Covers hooks that are delivered, get an error response, fail by the network or by the address rules, and hooks that
/// are rejected. The log at level trace contains none of their credentials. The database contains the URLs, which the
/// nodes need, and nothing else in the clear.
#[tokio::test]
async fn credentials_of_hooks_are_not_logged_and_stored_once() {
    let fixture = DeliveryFixture::new().await;
    let (server, ada, hooks) = (&fixture.server, &fixture.ada, format!("/projects/{}/hooks", fixture.project));
    server.end_upgrade(12).await;
    assert_eq!(ada.delete(&fixture.hook).await.status, 200);
    let (well, failing, instance) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let urls = [
        ("well", well.url("/x")),
        ("failing", failing.url("/x")),
        ("closed", closed),
        ("refused", "http://10.1.2.3/x".to_owned()),
        ("nowhere", "http://hook.invalid/x".to_owned()),
    ];
    let (mut shown, mut stored, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids = Vec::new();
    for (name, url) in &urls {
        let (first, second) = (Credentials::for_name(&format!("{name}-first")), Credentials::for_name(name));
        let made = ada.post(&hooks, &[("url", &first.in_url(url)), ("token", &first.token)]).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let one = format!("{hooks}/{}", made.body["id"]);
        let changed = ada.put(&one, &[("url", &second.in_url(url)), ("token", &second.token)]).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
        shown.extend([made.text, changed.text]);
        ids.push(one);
        gone.push(first);
        stored.push(second);
    }
    let echo = |it: &Credentials| format!("{} {} {} {}", it.token, it.password, it.basic(), it.in_url("http://h"));
    well.respond_with((StatusCode::OK, echo(&stored[0])));
    failing.respond_with((StatusCode::INTERNAL_SERVER_ERROR, echo(&stored[1])));
    let system = Credentials::for_name("system");
    let made =
        server.admin.post("/hooks", &[("url", &system.in_url(&instance.url("/s"))), ("token", &system.token)]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    shown.push(made.text);
    instance.respond_with((StatusCode::OK, echo(&system)));
    stored.push(system);
    // Error messages do not repeat the credentials.
    let wrong = Credentials::for_name("wrong");
    for url in ["ftp://bot:{}@h.example/", "http://bot:{}@", "bot:{}@h.example", "http://bot:{}@[::1/x"] {
        let url = url.replace("{}", &wrong.password);
        let refused = ada.post(&hooks, &[("url", &*url), ("token", &wrong.token)]).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        shown.push(refused.text);
    }
    gone.push(wrong);

    fixture.create_branch("a").await;
    server.deliver_hooks().await;
    server.advance(TimeDelta::hours(1));
    server.deliver_hooks().await;
    for (receiver, credentials) in [(&well, &stored[0]), (&instance, stored.last().unwrap())] {
        let received = receiver.take_received();
        let received = received.first().unwrap();
        assert_eq!(received.header("authorization"), format!("Basic {}", credentials.basic()), "it is sent");
        assert_eq!(received.header("x-gitlab-token"), credentials.token, "it is sent");
    }
    assert!(failing.take_received().len() >= 2, "it was tried again");
    shown.push(ada.get(&hooks).await.text);
    shown.push(server.admin.get("/hooks").await.text);
    for one in &ids {
        for path in ["", "/deliveries", "/deliveries/1"] {
            let answer = ada.get(&format!("{one}{path}")).await;
            assert_eq!(answer.status, 200, "{one}{path}: {}", answer.text);
            shown.push(answer.text);
        }
        let again = ada.post(&format!("{one}/deliveries/1/replay"), &[]).await;
        assert_eq!(again.status, 201, "{}", again.text);
        shown.push(again.text);
    }
    server.deliver_hooks().await;

    let (contents, logged) = (server.dump_database().await, log::captured());
    assert!(logged.contains(&hooks) && logged.contains("webhook delivery failing"), "the log is captured");
    for credentials in gone.iter().chain(&stored) {
        for secret in [&credentials.password, &credentials.token, &credentials.basic()] {
            assert!(!logged.contains(secret), "{secret} was logged");
            assert!(shown.iter().all(|text| !text.contains(secret)), "{secret} is shown");
        }
        assert_eq!(tables_containing(&contents, &credentials.token), [""; 0], "{}", credentials.token);
        assert_eq!(tables_containing(&contents, &credentials.basic()), [""; 0], "{}", credentials.password);
    }
    for credentials in &gone {
        assert_eq!(tables_containing(&contents, &credentials.password), [""; 0], "{}", credentials.password);
    }
    for credentials in &stored {
        assert_eq!(tables_containing(&contents, &credentials.password), ["hooks"], "{}", credentials.password);
    }
}
