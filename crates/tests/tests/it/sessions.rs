use chrono::TimeDelta;
use holdfast_tests::{PASSWORD, Server, Setup};
use serde_json::json;

#[tokio::test]
async fn sign_in_returns_an_expiring_token() {
    let server = Server::start().await;
    server.user("ada").await;
    for login in [("login", "ada"), ("login", "ADA@example.com"), ("email", "ada@example.com")] {
        let answer = server.anonymous().post("/session", &[login, ("password", PASSWORD)]).await;
        assert_eq!(answer.status, 201, "{login:?}");
        assert_eq!(answer.body["email"], "ada@example.com");
        let client = server.with_token(answer.body["private_token"].as_str().unwrap());
        assert_eq!(client.get("/user").await.body["username"], "ada");
        assert_eq!(client.get("/user").await.body["current_sign_in_at"], "2026-01-02T03:04:05.678Z");
    }
    let answer = server.anonymous().post("/session", &[("login", "ada"), ("password", PASSWORD)]).await;
    let client = server.with_token(answer.body["private_token"].as_str().unwrap());
    server.advance(TimeDelta::days(30));
    assert_eq!(client.get("/user").await.status, 401);
}

#[tokio::test]
async fn all_failed_sign_ins_get_the_same_response() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("eve").await;
    server.admin.put("/users/3/block", &[]).await;
    let before = server.dump_database().await;
    let unauthorized = json!({"message": "401 Unauthorized"});
    for (login, password) in [("ada", "wrong password"), ("nobody", PASSWORD), ("eve", PASSWORD), ("ada", "")] {
        let answer = server.anonymous().post("/session", &[("login", login), ("password", password)]).await;
        assert_eq!(answer.status_and_body(), (401, &unauthorized), "{login}");
    }
    assert_eq!(server.dump_database().await, before);
    let nothing = server.anonymous().post("/session", &[("password", PASSWORD)]).await;
    assert_eq!(nothing.status, 400);
    let no_password = server.anonymous().post("/session", &[("login", "ada")]).await;
    assert_eq!(no_password.status_and_body(), (400, &json!({"error": "password is missing"})));
}

#[tokio::test]
async fn excess_sign_in_attempts_are_throttled() {
    let mut setup = Setup::default();
    setup.settings.sign_ins_per_minute = 3;
    let server = Server::start_with(setup).await;
    server.user("ada").await;
    let sign_in =
        async |password: &str| server.anonymous().post("/session", &[("login", "ada"), ("password", password)]).await;
    for _ in 0..3 {
        assert_eq!(sign_in("wrong password").await.status, 401);
    }
    // Now the correct password is rejected without being checked.
    let refused = sign_in(PASSWORD).await;
    assert_eq!(refused.status_and_body(), (429, &json!({"message": "429 Too Many Requests"})));
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
}

/// One account is attacked from many addresses, as by a botnet. Attempts are counted per name, at every entry point and
/// in every spelling. Other names, and the tokens of this account, are not affected.
#[tokio::test]
async fn sign_in_attempts_are_limited_per_account_across_addresses() {
    let mut setup = Setup::default();
    setup.settings.sign_ins_per_minute = 3;
    setup.limits.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    server.user("bob").await;
    server.project(&ada, "p", 0).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut count = 0;
    let mut sign_in = async |is_rest: bool, name: &str, password: &str| {
        count += 1;
        let refs = format!("{}/ada/p.git/info/refs?service=git-upload-pack", server.base_url);
        let request = match is_rest {
            true => http
                .post(format!("{}/api/v3/session", server.base_url))
                .form(&[("login", name), ("password", password)]),
            false => http.get(refs).basic_auth(name, Some(password)),
        };
        let request = request.header("X-Forwarded-For", format!("203.0.{count}.7"));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(sign_in(true, "ada", "wrong password").await, 401);
    assert_eq!(sign_in(false, "ada", "wrong password").await, 401);
    assert_eq!(sign_in(true, "ADA", "wrong password").await, 401);
    let before = server.dump_database().await;
    for is_rest in [true, false] {
        assert_eq!(sign_in(is_rest, "ada", PASSWORD).await, 429);
        assert_eq!(sign_in(is_rest, "aDa", PASSWORD).await, 429);
    }
    // Unknown names are counted in the same way.
    for _ in 0..3 {
        assert_eq!(sign_in(true, "nobody", PASSWORD).await, 401);
    }
    assert_eq!(sign_in(true, "nobody", PASSWORD).await, 429);
    assert_eq!(server.dump_database().await, before);
    assert_eq!(sign_in(true, "bob", PASSWORD).await, 201);
    assert_eq!(ada.get("/user").await.status, 200);
}

/// The owner of an IPv6 network has too many addresses to count each.
#[tokio::test]
async fn sign_in_attempts_are_limited_per_ipv6_network() {
    for path in ["/api/v3/session", "/ada/p.git/info/refs?service=git-upload-pack"] {
        let mut setup = Setup::default();
        setup.settings.sign_ins_per_minute = 3;
        setup.limits.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
        let server = Server::start_with(setup).await;
        let sign_in = async |from: &str, name: &str| {
            let client = reqwest::Client::new();
            let url = format!("http://{}{path}", server.address());
            let request = match path.contains("session") {
                true => client.post(url).form(&[("login", name), ("password", "wrong password")]),
                false => client.get(url).basic_auth(name, Some("wrong password")),
            };
            request.header("X-Forwarded-For", from).send().await.unwrap().status().as_u16()
        };
        for n in 1..=3 {
            assert_eq!(sign_in(&format!("2001:db8::{n}"), &format!("user-{n}")).await, 401, "{path}");
        }
        assert_eq!(sign_in("2001:db8::4", "user-4").await, 429, "{path}");
        assert_eq!(sign_in("2001:db8:0:1::4", "user-4").await, 401, "{path}");
    }
}

#[tokio::test]
async fn a_password_reset_ends_sessions() {
    use holdfast_app::{Actor, accounts::user};
    let server = Server::start().await;
    let (id, personal) = server.user("ada").await;
    let answer = server.anonymous().post("/session", &[("login", "ada"), ("password", PASSWORD)]).await;
    let session = server.with_token(answer.body["private_token"].as_str().unwrap());
    user::reset_password(&server.app, &Actor::Operator, id, "another password").await.unwrap();
    assert_eq!(session.get("/user").await.status, 401);
    assert_eq!(personal.get("/user").await.status, 200);
    assert_eq!(server.anonymous().post("/session", &[("login", "ada"), ("password", PASSWORD)]).await.status, 401);
    let new = server.anonymous().post("/session", &[("login", "ada"), ("password", "another password")]).await;
    assert_eq!(new.status, 201);
}

/// An attacker has signed in with a stolen password; the administrator sets a new one. The sessions end with it.
#[tokio::test]
async fn a_password_change_by_an_administrator_ends_sessions() {
    let server = Server::start().await;
    let (id, personal) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let sign_in = async |login: &str, password: &str| {
        server.anonymous().post("/session", &[("login", login), ("password", password)]).await
    };
    let session =
        async |login: &str| server.with_token(sign_in(login, PASSWORD).await.body["private_token"].as_str().unwrap());
    let (of_ada, of_eve) = (session("ada").await, session("eve").await);
    let path = format!("/users/{id}");
    // Other updates, and rejected ones, keep the sessions.
    assert_eq!(server.admin.put(&path, &[("bio", "b"), ("password", "")]).await.status, 200);
    assert_eq!(server.admin.put(&path, &[("password", "password1")]).await.status, 400);
    assert_eq!(of_ada.get("/user").await.status, 200);
    assert_eq!(server.admin.put(&path, &[("password", "another password")]).await.status, 200);
    assert_eq!((of_ada.get("/user").await.status, sign_in("ada", PASSWORD).await.status), (401, 401));
    assert_eq!((personal.get("/user").await.status, sign_in("ada", "another password").await.status), (200, 201));
    assert_eq!((of_eve.get("/user").await.status, eve.get("/user").await.status), (200, 200));
}

/// Guessable passwords: the most common ones, and public attributes of the account.
#[tokio::test]
async fn guessable_passwords_are_rejected() {
    let server = Server::start().await;
    server.user("ada-lovelace").await;
    let before = server.dump_database().await;
    let known = "must not be the username, the name or the e-mail address";
    for (password, problem) in [
        ("12345678", "is too common"),
        ("PASSWORD123", "is too common"),
        ("weakweak", known),
        ("Weak Person", known),
        ("countess", known),
        ("countess@example.com", known),
    ] {
        let form = [
            ("email", "countess@example.com"),
            ("username", "weakweak"),
            ("name", "Weak Person"),
            ("password", password),
        ];
        let refused = json!({ "message": { "password": [problem] } });
        assert_eq!(server.admin.post("/users", &form).await.status_and_body(), (400, &refused), "{password}");
    }
    let refused = server.admin.put("/users/2", &[("password", "ada-lovelace")]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({ "message": { "password": [known] } })));
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn requests_can_be_limited_per_user_and_per_address() {
    let mut setup = Setup::default();
    setup.limits.requests_per_minute = 5;
    setup.limits.anonymous_requests_per_minute = 2;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    for _ in 0..5 {
        assert_eq!(ada.get("/user").await.status, 200);
    }
    assert_eq!(ada.get("/user").await.status, 429);
    assert_eq!(server.admin.get("/user").await.status, 200);
    // A request with a wrong token counts as anonymous.
    assert_eq!(server.with_token("wrong").get("/user").await.status, 401);
    for expected in [404, 429] {
        assert_eq!(server.anonymous().get("/groups/1").await.status, expected);
    }
}

#[tokio::test]
async fn sign_in_needs_no_token_and_exactly_one_name() {
    let server = Server::start().await;
    server.user("ada").await;
    let stale = server.with_token("hfs_0000000000000000000000000000000000000000");
    assert_eq!(stale.post("/session", &[("login", "ada"), ("password", PASSWORD)]).await.status, 201);
    let form = [("login", ""), ("email", "ada@example.com"), ("password", PASSWORD)];
    assert_eq!(server.anonymous().post("/session", &form).await.status, 201);
    let form = [("login", "ada"), ("email", "ada@example.com"), ("password", PASSWORD)];
    assert_eq!(server.anonymous().post("/session", &form).await.status, 400);
}

/// Timing attack: the time of a response must not reveal whether an account exists, so a hash is computed for unknown
/// names as well.
#[tokio::test]
async fn an_unknown_name_takes_as_long_as_a_wrong_password() {
    let server = Server::start().await;
    server.user("ada").await;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..7 {
        for (login, times) in ["ada", "nobody"].into_iter().zip(&mut times) {
            let started = std::time::Instant::now();
            let form = [("login", login), ("password", "wrong password")];
            assert_eq!(server.anonymous().post("/session", &form).await.status, 401);
            times.push(started.elapsed().as_secs_f64());
        }
    }
    let [known, unknown] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    // Without the hash, the time would be a tenth or less.
    assert!(unknown > known / 3.0, "known {known}, unknown {unknown}");
}
