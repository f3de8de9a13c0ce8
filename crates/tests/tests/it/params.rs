//! Random parameters in every encoding, on every route, never cause a server error.

use holdfast_http::Route;
use holdfast_tests::{Server, Setup};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::{Value, json};

const CASES: u32 = 1500;

/// The encoding of the parameters.
#[derive(Clone, Copy, Debug)]
enum Encoding {
    Query,
    Form,
    Multipart,
    Json,
    /// A body that does not match its content type.
    Broken(&'static str),
}

#[derive(Clone, Debug)]
struct Request {
    route: usize,
    how: Encoding,
    /// Replaces every parameter in the path.
    path_value: Vec<u8>,
    /// Indexes of parameters of the route, and their values.
    values: Vec<(usize, ParamValue)>,
}

#[derive(Clone, Debug)]
enum ParamValue {
    Bytes(Vec<u8>),
    List(Vec<Vec<u8>>),
    Json(Value),
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<String>().prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..20),
        prop::sample::select(vec![
            "",
            "0",
            "-1",
            "1",
            "true",
            "off",
            "null",
            "9223372036854775807",
            "99999999999999999999999",
            "1e9",
            "2026-02-30",
            "9999-12-31",
            "+262142-12-31",
            "a@b",
            "../../etc/passwd",
            "..",
            "%",
            "_",
            "\\",
            "'",
            "';drop table users;--",
            "\"><img onerror=x>",
            "\u{202e}txt",
            "\0",
            "a\0b",
            "🦀",
            "\u{1f468}\u{200d}\u{1f469}",
            "ssh-rsa AAAA",
            "api",
            "10",
            "name",
            "desc",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        Just(b"x".repeat(100_000)),
        Just("ß".repeat(50_000).into_bytes()),
    ]
}

fn json_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!([])),
        Just(json!([1, "a", null, {}])),
        Just(json!({"a": {"b": [1]}})),
        Just(json!("x".repeat(100_000))),
    ]
}

fn param_value() -> impl Strategy<Value = ParamValue> {
    prop_oneof![
        4 => bytes().prop_map(ParamValue::Bytes),
        1 => prop::collection::vec(bytes(), 0..4).prop_map(ParamValue::List),
        2 => json_value().prop_map(ParamValue::Json),
    ]
}

fn request(routes: usize) -> impl Strategy<Value = Request> {
    let how = prop_oneof![
        3 => Just(Encoding::Query),
        3 => Just(Encoding::Form),
        2 => Just(Encoding::Multipart),
        3 => Just(Encoding::Json),
        1 => prop::sample::select(vec![
            "application/json", "multipart/form-data; boundary=x", "multipart/form-data", "application/xml", "text/plain", "x", "",
        ]).prop_map(Encoding::Broken),
    ];
    (0..routes, how, bytes(), prop::collection::vec((0..40_usize, param_value()), 0..8)).prop_map(
        |(route, how, path_value, values)| {
            // Short enough for a URL.
            let path_value = path_value.into_iter().take(2000).collect();
            Request { route, how, path_value, values }
        },
    )
}

/// The seed of a failed run is printed; `PARAMS_SEED` repeats it.
#[test]
fn random_parameters_never_cause_a_server_error() {
    let seed: [u8; 32] = match std::env::var("PARAMS_SEED") {
        Ok(text) => {
            std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
        }
        Err(_) => std::array::from_fn(|_| rand_byte()),
    };
    let hex: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = Server::start().await;
        server.user("ada").await;
        server
    });
    let routes = crate::access::all_routes();
    let config = Config { cases: CASES, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let outcome = runner
        .run(&request(routes.len()), |request| runtime.block_on(check(&server, &routes[request.route], &request)));
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, request)) => panic!("PARAMS_SEED={hex}\n{reason}\n{request:?}"),
        Err(TestError::Abort(reason)) => panic!("PARAMS_SEED={hex}\n{reason}"),
    }
}

async fn check(server: &Server, route: &Route, request: &Request) -> Result<(), TestCaseError> {
    // User 1 is the current user of the test and must not be changed or deleted.
    let value = if request.path_value == b"1" { b"2".to_vec() } else { request.path_value.clone() };
    let path: Vec<String> = crate::access::route_path(route)
        .split('/')
        .map(|part| if part.starts_with(':') { encode(&value) } else { part.to_owned() })
        .collect();
    let names: Vec<&str> =
        route.params.iter().map(|param| param.name).chain(["page", "per_page", "unknown", "sudo"]).collect();
    let values: Vec<(&str, &ParamValue)> =
        request.values.iter().map(|(i, sent)| (names[i % names.len()], sent)).collect();
    let mut path = path.join("/");
    // Requests about the token that they are sent with may revoke it.
    let client = match route.path.contains("/personal_access_tokens/self") {
        true => &server.with_token(&server.token(1.into(), &["api", "sudo"]).await),
        false => &server.admin,
    };
    let builder = |path: &str| client.request(route.method.as_str(), path);
    let form = || values.iter().flat_map(|(name, sent)| pairs(name, sent)).collect::<Vec<_>>().join("&");
    let sent = match request.how {
        Encoding::Query => {
            let query: String = form().chars().take(20_000).collect();
            path += &format!("?{}", query.trim_end_matches(['%', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']));
            builder(&path)
        }
        Encoding::Form => builder(&path).header("content-type", "application/x-www-form-urlencoded").body(form()),
        Encoding::Json => {
            let object: serde_json::Map<String, Value> =
                values.iter().map(|(name, sent)| ((*name).to_owned(), to_json(sent))).collect();
            builder(&path).json(&object)
        }
        Encoding::Multipart => {
            let mut form = reqwest::multipart::Form::new();
            for (name, sent) in &values {
                let part = reqwest::multipart::Part::bytes(to_bytes(sent));
                form = form.part(
                    (*name).to_owned(),
                    if matches!(sent, ParamValue::List(_)) { part.file_name("f") } else { part },
                );
            }
            builder(&path).multipart(form)
        }
        Encoding::Broken(kind) => {
            let body = values.first().map_or(b"{\"a\":".to_vec(), |(_, sent)| to_bytes(sent));
            builder(&path).header("content-type", kind).body(body)
        }
    };
    let answer = client.send(sent).await;
    let text: String = answer.text.chars().take(300).collect();
    prop_assert!(answer.status < 500, "{} {path:.200}: {} {text}", route.method, answer.status);
    let content_type = (answer.status != 204).then_some("application/json");
    prop_assert!(
        answer.header("content-type") == content_type && answer.text.is_empty() == content_type.is_none(),
        "{} {path:.200}: {} {:?} {text}",
        route.method,
        answer.status,
        answer.headers
    );
    Ok(())
}

fn encode(bytes: &[u8]) -> String {
    percent_encoding::percent_encode(bytes, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn pairs(name: &str, value: &ParamValue) -> Vec<String> {
    match value {
        ParamValue::List(items) => items.iter().map(|item| format!("{name}[]={}", encode(item))).collect(),
        other => vec![format!("{name}={}", encode(&to_bytes(other)))],
    }
}

fn to_bytes(value: &ParamValue) -> Vec<u8> {
    match value {
        ParamValue::Bytes(bytes) => bytes.clone(),
        ParamValue::List(items) => items.concat(),
        ParamValue::Json(value) => value.to_string().into_bytes(),
    }
}

fn to_json(value: &ParamValue) -> Value {
    match value {
        ParamValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
        ParamValue::List(items) => items.iter().map(|item| Value::from(String::from_utf8_lossy(item))).collect(),
        ParamValue::Json(value) => value.clone(),
    }
}

fn rand_byte() -> u8 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u8
}

#[tokio::test]
async fn body_size_and_content_type_are_checked() {
    let server = Server::start().await;
    let send = async |kind: &str, body: Vec<u8>| {
        let request = server.admin.request("POST", "/user/emails").header("content-type", kind).body(body);
        server.admin.send(request).await
    };
    let large = send("application/x-www-form-urlencoded", b"x".repeat((1 << 20) + 1)).await;
    assert_eq!(large.status_and_body(), (413, &json!({"message": "413 Request Entity Too Large"})));
    let xml = send("application/xml", b"<a/>".to_vec()).await;
    assert_eq!(
        xml.status_and_body(),
        (406, &json!({"error": "The requested content-type 'application/xml' is not supported."}))
    );
    for broken in [&b"{"[..], b"[]", b"\"text\"", b"\xff"] {
        let answer = send("application/json", broken.to_vec()).await;
        assert_eq!(answer.status_and_body(), (400, &json!({"error": "message body does not match declared format"})));
    }
    // One megabyte of JSON would take 17 in memory for as long as the request waits.
    for many in [format!("{{\"x\":[0{}]}}", ",0".repeat(500_000)), format!("{{\"x\":[{}0]}}", "[0],".repeat(5000))] {
        let answer = send("application/json", many.into_bytes()).await;
        assert_eq!(answer.status_and_body(), (400, &json!({"error": "too many parameters"})));
    }
    let encoding = send("application/x-www-form-urlencoded", b"email=%ff%fe".to_vec()).await;
    assert_eq!(encoding.status_and_body(), (400, &json!({"error": "email is invalid"})));
    let zero = send("application/json", br#"{"email": "a\u0000@b"}"#.to_vec()).await;
    assert_eq!(zero.status_and_body(), (400, &json!({"error": "email is invalid"})));
}

#[tokio::test]
async fn the_body_limit_applies_to_every_content_type() {
    let mut setup = Setup::default();
    setup.limits.max_body_bytes = 4 << 20;
    let server = Server::start_with(setup).await;
    let form = reqwest::multipart::Form::new().text("email", "a@b").text("filler", "x".repeat(3 << 20));
    let answer = server.admin.send(server.admin.request("POST", "/user/emails").multipart(form)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn the_path_overrides_the_body_and_the_body_the_query() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let request = ada.request("POST", "/user/emails?email=query@example.com").form(&[("email", "body@example.com")]);
    assert_eq!(ada.send(request).await.body["email"], "body@example.com");
    let request = server.admin.request("PUT", "/users/2?id=1").json(&json!({"id": 1, "uid": 1, "bio": "hers"}));
    assert_eq!(server.admin.send(request).await.body["username"], "ada");
    assert_eq!(server.admin.get("/users/1").await.body["bio"], json!(null));
}

#[tokio::test]
async fn booleans_have_many_spellings() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 20).await;
    for (word, expected) in
        [("true", true), ("F", false), ("YES", true), ("n", false), ("1", true), ("0", false), ("on", true)]
    {
        let answer = ada.put(&format!("/groups/{group}"), &[("request_access_enabled", word)]).await;
        assert_eq!(answer.body["request_access_enabled"], expected, "{word}");
    }
    let wrong = ada.put(&format!("/groups/{group}"), &[("request_access_enabled", "maybe")]).await;
    assert_eq!(wrong.status_and_body(), (400, &json!({"error": "request_access_enabled is invalid"})));
}

/// A client that never finishes its request does not hold a connection forever.
#[tokio::test]
async fn unfinished_requests_time_out() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut setup = Setup::default();
    setup.limits.request_timeout = std::time::Duration::from_millis(200);
    let server = Server::start_with(setup).await;
    let mut stream = tokio::net::TcpStream::connect(server.base_url.trim_start_matches("http://")).await.unwrap();
    let head = "POST /api/v3/session HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100\r\n\r\nlogin=";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
}

/// The maximum length of a list is the same in a body and in a query.
#[tokio::test]
async fn list_length_is_limited() {
    let server = Server::start().await;
    let send =
        async |body: serde_json::Value| server.admin.send(server.admin.request("GET", "/groups").json(&body)).await;
    let many: Vec<i64> = (0..1001).collect();
    let refused = send(json!({ "skip_groups": many })).await;
    assert_eq!(refused.status_and_body(), (400, &json!({"error": "skip_groups is invalid"})));
    let text: Vec<String> = many.iter().map(i64::to_string).collect();
    assert_eq!(send(json!({"skip_groups": text.join(",")})).await.status, 400);
    assert_eq!(send(json!({"skip_groups": &many[1..]})).await.status, 200);
}

#[tokio::test]
async fn ids_consist_of_digits() {
    let server = Server::start().await;
    for id in ["+1", "%201", "-1", "1.0", "0x1", "one", "1%00", "99999999999999999999"] {
        let answer = server.admin.get(&format!("/users/{id}")).await;
        assert_eq!(answer.status_and_body(), (404, &json!({"error": "404 Not Found"})), "{id}");
    }
    // If a path is accepted as well, a value that is not a number is a path.
    let group = server.group(&server.admin, "team", 0).await;
    let project = server.project_in(&server.admin, "p", 0, Some(group)).await;
    for (path, id) in [("/projects", project), ("/groups", group)] {
        assert_eq!(server.admin.get(&format!("{path}/{id}")).await.status, 200);
        for odd in [format!("+{id}"), format!("%2B{id}"), format!("%20{id}"), format!("-{id}"), format!("{id}.0")] {
            assert_eq!(server.admin.get(&format!("{path}/{odd}")).await.status, 404, "{path}/{odd}");
        }
    }
}
