//! Hooks that are to make the instance call where their owner cannot.

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

use super::World;

async fn without_neighbours() -> World {
    let mut setup = Setup::default();
    setup.settings.hooks.allowed_networks = Vec::new();
    World::on(Server::with(setup).await).await
}

/// SSRF by hooks (Gogs GHSA-c4v7-xg93-qf8g, Gitea #38170, #38039): every way to write an address of the neighbourhood
/// is refused, and all that is shown is the same.
#[tokio::test]
async fn no_spelling_of_a_neighbour_is_called() {
    let world = without_neighbours().await;
    let port = world.receiver.base.rsplit(':').next().unwrap().to_owned();
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
    world.ada.delete(&world.hook).await;
    let hooks = format!("/projects/{}/hooks", world.project);
    let mut made = Vec::new();
    for host in hosts {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}/x");
            let hook = world.ada.post(&hooks, &[("url", &url)]).await;
            // An address that is none is refused at once.
            if hook.status == 201 {
                made.push((url, hook.body["id"].clone()));
            }
        }
    }
    assert!(made.len() >= 70, "only {} were taken", made.len());
    world.branch("a").await;
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty());
    let mut shown: Vec<Value> = Vec::new();
    for (url, hook) in &made {
        let mut one = world.ada.get(&format!("{hooks}/{hook}/deliveries/1")).await.body;
        assert_eq!(one["error"], "The address cannot be reached from here", "{url}");
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

/// The test of a system hook tells nothing, whatever is there.
#[tokio::test]
async fn trying_a_hook_tells_nothing_about_the_target() {
    let world = without_neighbours().await;
    let mut answers = Vec::new();
    for url in [world.receiver.url("/x"), "http://127.0.0.1:1/".into(), "http://no-such-host.invalid/".into()] {
        let hook = world.server.admin.post("/hooks", &[("url", &url)]).await.body[0]["id"].clone();
        answers.push(world.server.admin.get(&format!("/hooks/{hook}")).await);
    }
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty());
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.text == answers[0].text));
}

/// Redirects lead nowhere, not even where a hook of its own could go.
#[tokio::test]
async fn redirects_are_not_followed() {
    let world = World::new().await;
    let elsewhere = Receiver::start().await;
    for answer in
        [Redirect::temporary(&elsewhere.base), Redirect::permanent(&elsewhere.base), Redirect::to(&elsewhere.base)]
    {
        world.receiver.answer(answer);
    }
    world.branch("a").await;
    for _ in 0..3 {
        world.server.deliver().await;
        world.server.advance(chrono::TimeDelta::hours(1));
        let error = world.deliveries().await[0]["error"].as_str().unwrap().to_owned();
        assert!(error.ends_with("redirects are not followed"), "{error}");
    }
    world.server.deliver().await;
    assert!(elsewhere.take().is_empty());
    assert_eq!(world.states().await, ["delivered"]);
}

/// What a receiver sends back is kept in part, and cannot be taken for anything else.
#[tokio::test]
async fn a_receiver_cannot_fill_the_database() {
    let world = World::new().await;
    world.branch("a").await;
    world.receiver.answer([[0_u8].as_slice(), "é<script>".repeat(100_000).as_bytes()].concat());
    world.server.deliver().await;
    let shown = world.ada.get(&format!("{}/deliveries/1", world.hook)).await;
    let body = shown.body["response"]["body"].as_str().unwrap();
    assert!(body.len() <= 4200 && body.starts_with('\u{fffd}'), "{}", body.len());
    assert_eq!(world.states().await, ["delivered"]);
}

/// A master gives a hook another address (GitLab CVE-2022-4342): the token that somebody else set, and the name and the
/// password in the old address, must not arrive there. Not on another path of the same host either, which may be somebody
/// else's.
#[tokio::test]
async fn a_token_stays_with_the_address_that_it_was_set_for() {
    let world = World::new().await;
    let other = Receiver::start().await;
    let with_password = world.receiver.url("/hook").replace("://", "://ci:S3cretPass@");
    let reset = async || {
        let form = [("url", &*with_password), ("token", super::TOKEN)];
        assert_eq!(world.ada.put(&world.hook, &form).await.status, 200);
    };
    let mut round = 0;
    let mut told = async |receiver: &Receiver, form: &[(&str, &str)]| {
        assert_eq!(world.ada.put(&world.hook, form).await.status, 200);
        round += 1;
        world.branch(&format!("b{round}")).await;
        world.server.deliver().await;
        let received = receiver.take().pop().expect("it was told");
        assert_eq!(received.header("webhook-signature").is_empty(), received.header("x-gitlab-token").is_empty());
        (received.header("x-gitlab-token").to_owned(), !received.header("authorization").is_empty())
    };
    let kept = (super::TOKEN.to_owned(), true);
    let dropped = (String::new(), false);
    reset().await;
    assert_eq!(told(&world.receiver, &[("url", &world.receiver.url("/hook"))]).await, kept);
    assert_eq!(told(&world.receiver, &[("url", &with_password)]).await, kept);
    for (receiver, url) in [(&other, other.url("/hook")), (&world.receiver, world.receiver.url("/mallory"))] {
        reset().await;
        assert_eq!(told(receiver, &[("url", &url)]).await, dropped, "{url}");
        // And it does not come back with the old address.
        assert_eq!(told(&world.receiver, &[("url", &world.receiver.url("/hook"))]).await, dropped);
    }
    reset().await;
    let form = [("url", &*other.url("/hook")), ("token", "another")];
    assert_eq!(told(&other, &form).await, ("another".into(), false));
}

/// A token that was encrypted with another key is not left out: the delivery fails and says why.
#[tokio::test]
async fn nothing_is_delivered_without_a_token_that_cannot_be_decrypted() {
    let server = Server::start().await;
    server.end_upgrade(12).await;
    let world = World::on(server).await;
    let damage = "update hooks set sealed_token = set_byte(sealed_token, 20, get_byte(sealed_token, 20) # 1)";
    sqlx::query(damage).execute(&mut world.server.database().await).await.unwrap();
    world.branch("b1").await;
    world.server.deliver().await;
    assert!(world.receiver.take().is_empty());
    let error = world.deliveries().await[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("could not decrypt the token"), "{error}");
    // Who sets it again has it delivered.
    let form = [("url", &*world.receiver.url("/hook")), ("token", "another")];
    assert_eq!(world.ada.put(&world.hook, &form).await.status, 200);
    world.server.deliver().await;
    assert_eq!(world.receiver.take()[0].header("x-gitlab-token"), "another");
}

/// A rolling upgrade: nodes of the version before know the column `token` alone, and go on writing it. What they set and
/// what they remove holds on all nodes.
#[tokio::test]
async fn older_nodes_can_read_and_change_tokens_for_a_day() {
    let world = World::new().await;
    let server = &world.server;
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
        world.branch(branch).await;
        server.deliver().await;
        let received = world.receiver.take().pop().expect("a delivery");
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
    let form = [("url", &*world.receiver.url("/hook")), ("token", "another")];
    assert_eq!(world.ada.put(&world.hook, &form).await.status, 200);
    assert_eq!(stored().await, in_clear("another"));

    server.end_upgrade(12).await;
    sweep().await;
    assert_eq!(stored().await, (None, true));
    assert_eq!(sent("d").await, "another");
    // A node that was forgotten sets one more.
    set_as_older_node(Some("set-late")).await;
    assert_eq!(sent("e").await, "set-late");
    sweep().await;
    assert_eq!(stored().await, (None, true));
    assert_eq!(sent("f").await, "set-late");
}

/// A token is sent as it is, or not at all: it adds no header of its own.
#[tokio::test]
async fn a_token_is_one_header() {
    let world = World::new().await;
    for token in ["a\r\nX-Evil: 1", "a\nb"] {
        let answer = world.ada.put(&world.hook, &[("url", &world.receiver.url("/x")), ("token", token)]).await;
        assert_eq!(answer.status, 400, "{token:?}: {}", answer.text);
    }
    world.ada.put(&world.hook, &[("url", &world.receiver.url("/x")), ("token", "schlüssel ☃")]).await;
    world.branch("b").await;
    world.server.deliver().await;
    let received = world.receiver.take();
    assert_eq!(received.last().unwrap().headers["x-gitlab-token"].as_bytes(), "schlüssel ☃".as_bytes());
}

/// A receiver whose certificate nobody vouches for; its address.
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
async fn a_certificate_is_checked_unless_the_hook_says_otherwise() {
    let world = World::new().await;
    let url = self_signed().await;
    world.ada.put(&world.hook, &[("url", &url)]).await;
    world.branch("a").await;
    world.server.deliver().await;
    let refused = &world.deliveries().await[0];
    let error = refused["error"].as_str().unwrap();
    assert!(refused["state"] == "pending" && error.contains("certificate"), "{refused}");
    world.ada.put(&world.hook, &[("url", &url), ("enable_ssl_verification", "false")]).await;
    world.server.deliver().await;
    assert_eq!(world.states().await, ["delivered"]);
}
