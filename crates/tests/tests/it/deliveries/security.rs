//! Server-side request forgery by hooks, and the protection of their credentials.

use std::process::Command;
use std::sync::Arc;

use axum::response::Redirect;
use holdfast_tests::{Receiver, Server, Setup};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::DeliveryFixture;

async fn without_local_networks() -> DeliveryFixture {
    let mut setup = Setup::default();
    setup.settings.hooks.allowed_networks = Vec::new();
    DeliveryFixture::on_server(Server::start_with(setup).await).await
}

/// SSRF by hooks (Gogs GHSA-c4v7-xg93-qf8g, Gitea #38170, #38039): every notation of a private address is rejected, and
/// the responses do not differ.
#[tokio::test]
async fn private_addresses_are_rejected_in_every_notation() {
    let fixture = without_local_networks().await;
    let port = fixture.receiver.base.rsplit(':').next().unwrap().to_owned();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0177.1",
        "017700000001",
        "127.0.0.1.",
        "localhost",
        "LOCALHOST.",
        "127.0.0.2",
        "0.0.0.0",
        "0",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "[fc00::1]",
        "[ff02::1]",
        "[2001:db8::1]",
        "１２７.0.0.1",
        "no-such-host.invalid",
    ];
    fixture.ada.delete(&fixture.hook).await;
    let hooks = format!("/projects/{}/hooks", fixture.project);
    let mut made = Vec::new();
    for host in hosts {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}/x");
            let hook = fixture.ada.post(&hooks, &[("url", &url)]).await;
            // A URL that is invalid is rejected at once.
            if hook.status == 201 {
                made.push((url, hook.body["id"].clone()));
            }
        }
    }
    assert!(made.len() >= 70, "only {} were taken", made.len());
    fixture.create_branch("a").await;
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    let mut shown: Vec<Value> = Vec::new();
    for (url, hook) in &made {
        let mut one = fixture.ada.get(&format!("{hooks}/{hook}/deliveries/1")).await.body;
        assert_eq!(one["error"], "The address cannot be reached or is not allowed", "{url}");
        for own in ["delivery_id", "request"] {
            one.as_object_mut().unwrap().remove(own);
        }
        shown.push(one);
    }
    assert!(shown.iter().all(|one| *one == shown[0]), "{shown:?}");
    assert_eq!(
        (&shown[0]["status"], &shown[0]["duration_ms"], &shown[0]["response"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
}

/// The response to a test of a system hook is the same for every target.
#[tokio::test]
async fn hook_tests_reveal_nothing_about_the_target() {
    let fixture = without_local_networks().await;
    let mut answers = Vec::new();
    for url in [fixture.receiver.url("/x"), "http://127.0.0.1:1/".into(), "http://no-such-host.invalid/".into()] {
        let hook = fixture.server.admin.post("/hooks", &[("url", &url)]).await.body[0]["id"].clone();
        answers.push(fixture.server.admin.get(&format!("/hooks/{hook}")).await);
    }
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.text == answers[0].text));
}

/// Redirects are not followed, not even to an address that the hook could use directly.
#[tokio::test]
async fn redirects_are_not_followed() {
    let fixture = DeliveryFixture::new().await;
    let elsewhere = Receiver::start().await;
    for answer in
        [Redirect::temporary(&elsewhere.base), Redirect::permanent(&elsewhere.base), Redirect::to(&elsewhere.base)]
    {
        fixture.receiver.respond_with(answer);
    }
    fixture.create_branch("a").await;
    for _ in 0..3 {
        fixture.server.deliver_hooks().await;
        fixture.server.advance(chrono::TimeDelta::hours(1));
        let error = fixture.deliveries().await[0]["error"].as_str().unwrap().to_owned();
        assert!(error.ends_with("redirects are not followed"), "{error}");
    }
    fixture.server.deliver_hooks().await;
    assert!(elsewhere.take_received().is_empty());
    assert_eq!(fixture.states().await, ["delivered"]);
}

/// The stored response of a receiver is truncated, and bytes that are no text are replaced.
#[tokio::test]
async fn stored_receiver_responses_are_truncated() {
    let fixture = DeliveryFixture::new().await;
    fixture.create_branch("a").await;
    fixture.receiver.respond_with([[0_u8].as_slice(), "é<script>".repeat(100_000).as_bytes()].concat());
    fixture.server.deliver_hooks().await;
    let shown = fixture.ada.get(&format!("{}/deliveries/1", fixture.hook)).await;
    let body = shown.body["response"]["body"].as_str().unwrap();
    assert!(body.len() <= 4200 && body.starts_with('\u{fffd}'), "{}", body.len());
    assert_eq!(fixture.states().await, ["delivered"]);
}

/// A master changes the URL of a hook (GitLab CVE-2022-4342): the token that another user set, and the user name and
/// password in the old URL, must not be sent there. Neither to another path of the same host, which may belong to
/// someone else.
#[tokio::test]
async fn changing_the_hook_url_drops_its_credentials() {
    let fixture = DeliveryFixture::new().await;
    let other = Receiver::start().await;
    let with_password = fixture.receiver.url("/hook").replace("://", "://ci:S3cretPass@");
    let reset = async || {
        let form = [("url", &*with_password), ("token", super::TOKEN)];
        assert_eq!(fixture.ada.put(&fixture.hook, &form).await.status, 200);
    };
    let mut round = 0;
    let mut deliver_after_update = async |receiver: &Receiver, form: &[(&str, &str)]| {
        assert_eq!(fixture.ada.put(&fixture.hook, form).await.status, 200);
        round += 1;
        fixture.create_branch(&format!("b{round}")).await;
        fixture.server.deliver_hooks().await;
        let received = receiver.take_received().pop().expect("a delivery arrived");
        assert_eq!(received.header("webhook-signature").is_empty(), received.header("x-gitlab-token").is_empty());
        (received.header("x-gitlab-token").to_owned(), !received.header("authorization").is_empty())
    };
    let kept = (super::TOKEN.to_owned(), true);
    let dropped = (String::new(), false);
    reset().await;
    assert_eq!(deliver_after_update(&fixture.receiver, &[("url", &fixture.receiver.url("/hook"))]).await, kept);
    assert_eq!(deliver_after_update(&fixture.receiver, &[("url", &with_password)]).await, kept);
    for (receiver, url) in [(&other, other.url("/hook")), (&fixture.receiver, fixture.receiver.url("/mallory"))] {
        reset().await;
        assert_eq!(deliver_after_update(receiver, &[("url", &url)]).await, dropped, "{url}");
        // Setting the old URL again does not restore the credentials.
        assert_eq!(deliver_after_update(&fixture.receiver, &[("url", &fixture.receiver.url("/hook"))]).await, dropped);
    }
    reset().await;
    let form = [("url", &*other.url("/hook")), ("token", "another")];
    assert_eq!(deliver_after_update(&other, &form).await, ("another".into(), false));
}

/// A token that was encrypted with another key is not silently left out: the delivery fails and gives the reason.
#[tokio::test]
async fn deliveries_fail_if_the_token_cannot_be_decrypted() {
    let server = Server::start().await;
    server.end_upgrade(12).await;
    let fixture = DeliveryFixture::on_server(server).await;
    let damage = "update hooks set sealed_token = set_byte(sealed_token, 20, get_byte(sealed_token, 20) # 1)";
    sqlx::query(damage).execute(&mut fixture.server.database().await).await.unwrap();
    fixture.create_branch("b1").await;
    fixture.server.deliver_hooks().await;
    assert!(fixture.receiver.take_received().is_empty());
    let error = fixture.deliveries().await[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("could not decrypt the token"), "{error}");
    // After the token is set again, deliveries succeed.
    let form = [("url", &*fixture.receiver.url("/hook")), ("token", "another")];
    assert_eq!(fixture.ada.put(&fixture.hook, &form).await.status, 200);
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.receiver.take_received()[0].header("x-gitlab-token"), "another");
}

/// A rolling upgrade: nodes of the previous version know only the column `token` and go on writing it. A token that
/// they set or remove is used by all nodes.
#[tokio::test]
async fn older_nodes_can_read_and_change_tokens_for_a_day() {
    let fixture = DeliveryFixture::new().await;
    let server = &fixture.server;
    let stored = async || -> (Option<String>, bool) {
        let query = "select token, sealed_token is not null from hooks";
        sqlx::query_as(query).fetch_one(&mut server.database().await).await.unwrap()
    };
    let set_as_older_node = async |token: Option<&str>| {
        let statement = "update hooks set token = $1";
        sqlx::query(statement).bind(token).execute(&mut server.database().await).await.unwrap();
    };
    let sweep = async || holdfast_app::worker::sweep_now(&server.app, &holdfast_app::Actor::Operator).await.unwrap();
    let sent = async |branch: &str| {
        fixture.create_branch(branch).await;
        server.deliver_hooks().await;
        let received = fixture.receiver.take_received().pop().expect("a delivery");
        assert_eq!(received.header("webhook-signature").is_empty(), received.header("x-gitlab-token").is_empty());
        received.header("x-gitlab-token").to_owned()
    };
    let in_clear = |token: &str| (Some(token.to_owned()), false);
    assert_eq!(stored().await, in_clear(super::TOKEN));
    sweep().await;
    assert_eq!(stored().await, in_clear(super::TOKEN), "older nodes may still run");
    assert_eq!(sent("a").await, super::TOKEN);
    set_as_older_node(Some("of-an-older-node")).await;
    assert_eq!(sent("b").await, "of-an-older-node");
    set_as_older_node(None).await;
    assert_eq!(sent("c").await, "");
    let form = [("url", &*fixture.receiver.url("/hook")), ("token", "another")];
    assert_eq!(fixture.ada.put(&fixture.hook, &form).await.status, 200);
    assert_eq!(stored().await, in_clear("another"));

    server.end_upgrade(12).await;
    sweep().await;
    assert_eq!(stored().await, (None, true));
    assert_eq!(sent("d").await, "another");
    // An older node that still runs sets another token.
    set_as_older_node(Some("set-late")).await;
    assert_eq!(sent("e").await, "set-late");
    sweep().await;
    assert_eq!(stored().await, (None, true));
    assert_eq!(sent("f").await, "set-late");
}

/// Header injection: a token is sent unchanged or rejected, and adds no header.
#[tokio::test]
async fn tokens_cannot_inject_headers() {
    let fixture = DeliveryFixture::new().await;
    for token in ["a\r\nX-Evil: 1", "a\nb"] {
        let answer = fixture.ada.put(&fixture.hook, &[("url", &fixture.receiver.url("/x")), ("token", token)]).await;
        assert_eq!(answer.status, 400, "{token:?}: {}", answer.text);
    }
    fixture.ada.put(&fixture.hook, &[("url", &fixture.receiver.url("/x")), ("token", "schlüssel ☃")]).await;
    fixture.create_branch("b").await;
    fixture.server.deliver_hooks().await;
    let received = fixture.receiver.take_received();
    assert_eq!(received.last().unwrap().headers["x-gitlab-token"].as_bytes(), "schlüssel ☃".as_bytes());
}

/// Starts a receiver with a self-signed certificate, and returns its URL.
async fn self_signed() -> String {
    let directory = tempfile::tempdir().unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "k.pem", "-out", "c.pem"])
        .current_dir(directory.path())
        .output()
        .expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
    let certificate = CertificateDer::from_pem_file(directory.path().join("c.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(directory.path().join("k.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let settings = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let settings = settings.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = stream.read(&mut [0; 16384]).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.ok();
                stream.shutdown().await.ok();
            }
        }
    });
    address
}

#[tokio::test]
async fn tls_certificates_are_verified_unless_disabled_for_the_hook() {
    let fixture = DeliveryFixture::new().await;
    let url = self_signed().await;
    fixture.ada.put(&fixture.hook, &[("url", &url)]).await;
    fixture.create_branch("a").await;
    fixture.server.deliver_hooks().await;
    let refused = &fixture.deliveries().await[0];
    let error = refused["error"].as_str().unwrap();
    assert!(refused["state"] == "pending" && error.contains("certificate"), "{refused}");
    fixture.ada.put(&fixture.hook, &[("url", &url), ("enable_ssl_verification", "false")]).await;
    fixture.server.deliver_hooks().await;
    assert_eq!(fixture.states().await, ["delivered"]);
}
