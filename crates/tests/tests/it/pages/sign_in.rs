//! Signing in and out, and the cookie of the session.

use holdfast_tests::{PASSWORD, Server, Setup, database, log};

use super::sessions::count_sessions;

/// The text for every sign-in that fails.
const REJECTED: &str = "The username or the password is wrong, or the account cannot sign in.";

#[tokio::test]
async fn a_user_signs_in_with_the_form_and_sees_their_projects() {
    let server = Server::start().await;
    server.user("ada").await;
    for login in ["ada", "ADA@example.com"] {
        let browser = server.browser();
        assert_eq!(browser.viewer().await, None);
        let response = browser.sign_in(login, PASSWORD).await;
        assert_eq!((response.status, response.location()), (303, Some("/")), "{login}");
        assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
        let start = browser.get("/").await;
        assert_eq!((start.status, start.texts("h1")), (200, vec!["Dashboard".to_owned()]));
        // Who is signed in already needs no form.
        let form = browser.get("/sign_in").await;
        assert_eq!((form.status, form.location()), (303, Some("/")));
    }
    let start = server.browser().get("/").await;
    assert_eq!((start.status, start.location()), (303, Some("/projects")));
}

/// The response must not reveal which accounts exist or are blocked.
#[tokio::test]
async fn a_rejected_sign_in_page_does_not_reveal_its_cause() {
    let server = Server::start().await;
    server.user("ada").await;
    let (eve, _) = server.user("eve").await;
    assert!(server.admin.put(&format!("/users/{eve}/block"), &[]).await.status < 300);
    let before = server.dump_database().await;
    for (login, password) in [("ada", "wrong password"), ("bob", PASSWORD), ("eve", PASSWORD), ("ada", ""), ("", "")] {
        let browser = server.browser();
        let page = browser.sign_in(login, password).await;
        assert_eq!(page.status, 422, "{login}");
        assert_eq!(page.texts("[role=alert]"), [REJECTED], "{login}");
        assert_eq!(page.set_cookies(), [""; 0], "{login}");
        // The name is kept for the next attempt, the password is not.
        let form = page.form("form[action='/sign_in']");
        assert_eq!((form.value("login"), form.value("password")), (login, ""));
        assert_eq!(browser.viewer().await, None);
    }
    assert_eq!(server.dump_database().await, before);
}

/// The attempts are counted together with those of the API.
#[tokio::test]
async fn attempts_to_sign_in_to_pages_are_throttled() {
    let mut setup = Setup::default();
    setup.settings.sign_ins_per_minute = 3;
    let server = Server::start_with(setup).await;
    server.user("ada").await;
    let browser = server.browser();
    for _ in 0..2 {
        assert_eq!(browser.sign_in("ada", "wrong password").await.status, 422);
    }
    let wrong = [("login", "ada"), ("password", "wrong password")];
    assert_eq!(server.anonymous().post("/session", &wrong).await.status, 401);
    let page = browser.sign_in("ada", PASSWORD).await;
    assert_eq!(page.status, 429, "{}", page.text);
    assert!(page.texts("[role=alert]")[0].starts_with("There were too many attempts to sign in."), "{}", page.text);
    assert_eq!((browser.viewer().await, count_sessions(&server).await), (None, 0));
}

#[tokio::test]
async fn session_cookies_are_unreadable_for_scripts_and_bound_to_the_host() {
    for (url, name, secure) in
        [("http://holdfast.test", "holdfast", ""), ("https://holdfast.test", "__Host-holdfast", "; Secure")]
    {
        let mut setup = Setup::default();
        setup.settings.site = holdfast_http::InstanceUrls::new(&url.parse().unwrap(), 22);
        let server = Server::start_with(setup).await;
        server.user("ada").await;
        for (is_remembered, max_age) in [(false, ""), (true, "; Max-Age=2592000")] {
            let browser = server.browser();
            let form = browser.sign_in_form("/sign_in").await.set("login", "ada").set("password", PASSWORD);
            let form = if is_remembered { form.check("stay") } else { form };
            let response = browser.submit(&form).await;
            let secret = browser.cookie(name).unwrap();
            assert!(secret.starts_with("hfb_") && secret.len() >= 30, "{secret}");
            let attributes = format!("; HttpOnly; SameSite=Lax{secure}; Path=/{max_age}");
            assert_eq!(response.set_cookie(name), Some(format!("{name}={secret}{attributes}").as_str()));
            assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
        }
    }
}

/// An attacker reads the database or the logs, and takes over the sessions of users.
#[tokio::test]
async fn session_secrets_are_neither_stored_nor_logged() {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    browser.get("/profile/sessions").await;
    let secret = browser.cookie("holdfast").unwrap();
    let page = browser.get("/profile/sessions").await;
    assert!(!page.text.contains(&secret));
    assert_eq!(database::tables_containing(&server.dump_database().await, &secret), [""; 0]);
    assert!(!log::captured().contains(&secret));
}

/// Session fixation: an attacker plants a cookie in the browser of the victim, who then signs in. The secret that the
/// attacker knows must not become a session of the victim.
#[tokio::test]
async fn signing_in_replaces_the_secret_of_the_cookie() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("eve").await;
    let attacker = server.sign_in("eve").await;
    let known_to_attacker = attacker.cookie("holdfast").unwrap();
    for planted in ["hfb_0123456789abcdef0123456789abcdef01234567", "x", &known_to_attacker] {
        let browser = server.browser();
        browser.set_cookie("holdfast", planted);
        // The form redirects a browser with a valid session, so the victim's form was opened before.
        let form = [("login", "ada"), ("password", PASSWORD)];
        let response = browser.post("/sign_in", &form).await;
        assert_eq!(response.status, 303, "{}", response.text);
        let secret = browser.cookie("holdfast").unwrap();
        assert_ne!(secret, planted);
        assert_eq!(browser.viewer().await.as_deref(), Some("ada"));
        let other = server.browser();
        other.set_cookie("holdfast", planted);
        assert_eq!(other.viewer().await, None, "{planted}");
    }
    // The session of the attacker ended when the browser that had it signed in as somebody else.
    assert_eq!(attacker.viewer().await, None);
}

#[tokio::test]
async fn a_cookie_of_no_session_is_deleted() {
    let server = Server::start().await;
    for value in ["hfb_0123456789abcdef0123456789abcdef01234567", "", "hfs_token", "a%00b"] {
        for path in ["/projects", "/sign_in", "/nobody/nothing/at/all", "/profile"] {
            let browser = server.browser();
            browser.set_cookie("holdfast", value);
            let response = browser.get(path).await;
            let removal = response.set_cookie("holdfast").unwrap_or_default();
            assert!(removal.starts_with("holdfast=;") && removal.contains("Max-Age=0"), "{path} {value}: {removal}");
            assert_eq!(browser.cookie("holdfast"), None);
        }
    }
}

#[tokio::test]
async fn signing_out_deletes_the_session() {
    let server = Server::start().await;
    server.user("ada").await;
    let (browser, other) = (server.sign_in("ada").await, server.sign_in("ada").await);
    let stolen = browser.copy();
    let page = browser.get("/projects").await;
    let response = browser.submit(&page.form("form[action='/sign_out']")).await;
    assert_eq!((response.status, response.location()), (303, Some("/sign_in")));
    assert_eq!((browser.cookie("holdfast"), count_sessions(&server).await), (None, 1));
    assert_eq!(stolen.viewer().await, None);
    assert_eq!(other.viewer().await.as_deref(), Some("ada"));
    // The message is shown once.
    let page = browser.get("/sign_in").await;
    assert_eq!(page.texts("[role=status]"), ["You are signed out."]);
    assert_eq!(browser.get("/sign_in").await.texts("[role=status]"), [""; 0]);
    // Signing out twice, or without a session, changes nothing.
    for browser in [stolen, server.browser()] {
        assert_eq!(browser.post("/sign_out", &[]).await.status, 303);
    }
    assert_eq!(count_sessions(&server).await, 1);
}

#[tokio::test]
async fn a_user_confirms_the_password_and_continues() {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    let form = browser.get("/sign_in/confirm?to=/profile/sessions").await.form("form[action='/sign_in/confirm']");
    assert_eq!(form.value("to"), "/profile/sessions");
    let page = browser.submit(&form.clone().set("password", "wrong password")).await;
    assert_eq!((page.status, page.texts("[role=alert]")), (422, vec!["The password is wrong.".to_owned()]));
    let response = browser.submit(&form.set("password", PASSWORD)).await;
    assert_eq!((response.status, response.location()), (303, Some("/profile/sessions")));
    let response = server.browser().get("/sign_in/confirm").await;
    assert_eq!((response.status, response.location()), (303, Some("/sign_in?to=%2Fsign_in%2Fconfirm")));
}
