//! The settings of the own account: password, addresses, keys, tokens and preferences.

use chrono::TimeDelta;
use holdfast_tests::{Browser, PASSWORD, PageResponse, Server, Setup, database, log};

use super::sessions::count_sessions;
use crate::ssh_keys::ED25519 as KEY;

const NEW_PASSWORD: &str = "another long password";
const PRIVATE_KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0c2VjcmV0\n-----END OPENSSH PRIVATE KEY-----";

async fn signed_in() -> (Server, Browser) {
    let server = Server::start().await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    (server, browser)
}

/// Returns the messages of a rejected form.
fn violations(page: &PageResponse) -> Vec<String> {
    assert_eq!(page.status, 422, "{}", page.text);
    page.texts("#errors li")
}

#[tokio::test]
async fn users_change_their_password_with_the_form() {
    let (server, browser) = signed_in().await;
    let elsewhere = server.sign_in("ada").await;
    let form = browser.get("/profile/password").await.form("form[action='/profile/password']");
    let filled = |current: &str, new: &str, repeated: &str| {
        form.clone().set("current_password", current).set("new_password", new).set("repeated_password", repeated)
    };
    for (current, new, repeated, message) in [
        ("wrong password", NEW_PASSWORD, NEW_PASSWORD, "Current password is incorrect"),
        (PASSWORD, "short", "short", "New password is too short (minimum is 8 characters)"),
        (PASSWORD, "password1", "password1", "New password is too common"),
        (PASSWORD, NEW_PASSWORD, "another", "New password again is not the same as the new password"),
    ] {
        let page = browser.submit(&filled(current, new, repeated)).await;
        assert_eq!(violations(&page), [message]);
        assert!(!page.text.contains(NEW_PASSWORD) && !page.text.contains(PASSWORD));
    }
    assert_eq!((elsewhere.viewer().await.as_deref(), count_sessions(&server).await), (Some("ada"), 2));
    let response = browser.submit(&filled(PASSWORD, NEW_PASSWORD, NEW_PASSWORD)).await;
    assert_eq!((response.status, response.location()), (303, Some("/profile/password")), "{}", response.text);
    let page = browser.get("/profile/password").await;
    assert_eq!(page.texts("[role=status]"), ["Your password was changed, and all other sessions were ended."]);
    assert_eq!((elsewhere.viewer().await, count_sessions(&server).await), (None, 1));
    assert_eq!(server.browser().sign_in("ada", PASSWORD).await.status, 422);
    assert_eq!(server.browser().sign_in("ada", NEW_PASSWORD).await.status, 303);
    assert!(!log::captured().contains(NEW_PASSWORD));
}

#[tokio::test]
async fn browsers_find_the_form_that_changes_the_password() {
    let (_server, browser) = signed_in().await;
    let response = browser.get("/.well-known/change-password").await;
    assert_eq!((response.status, response.location()), (303, Some("/profile/password")));
    assert_eq!(browser.open("/.well-known/change-password").await.texts("h1"), ["Password"]);
}

#[tokio::test]
async fn guesses_of_the_current_password_are_throttled() {
    let mut setup = Setup::default();
    setup.settings.sign_ins_per_minute = 3;
    let server = Server::start_with(setup).await;
    server.user("ada").await;
    let browser = server.sign_in("ada").await;
    let form = [("current_password", "wrong password"), ("new_password", NEW_PASSWORD)];
    let form = [form[0], form[1], ("repeated_password", NEW_PASSWORD)];
    let mut last = browser.post("/profile/password", &form).await;
    for _ in 0..50 {
        if last.status == 429 {
            break;
        }
        assert_eq!(last.status, 422);
        last = browser.post("/profile/password", &form).await;
    }
    assert_eq!(last.status, 429);
    assert!(last.header("retry-after").is_some());
    assert!(last.texts("#errors li")[0].starts_with("Current password was entered too often"), "{}", last.text);
}

/// A stolen cookie must not be enough to create credentials that outlive it.
#[tokio::test]
async fn credentials_are_changed_only_after_a_recent_confirmation() {
    let (server, browser) = signed_in().await;
    server.advance(TimeDelta::hours(1));
    let before = server.dump_database().await;
    for path in ["/profile/emails", "/profile/keys", "/profile/tokens"] {
        let response = browser.get(path).await;
        let confirm = format!("/sign_in/confirm?to={}", path.replace('/', "%2F"));
        assert_eq!((response.status, response.location()), (303, Some(confirm.as_str())));
        let form = [("email", "ada@work.example"), ("title", "t"), ("key", KEY), ("name", "n"), ("scopes[]", "api")];
        let response = browser.post(path, &form).await;
        assert!(response.location().unwrap_or_default().starts_with("/sign_in/confirm"), "{path}: {}", response.status);
    }
    for path in ["/profile/emails/1/delete", "/profile/keys/1/delete", "/profile/tokens/1/revoke"] {
        let response = browser.post(path, &[]).await;
        assert!(response.location().unwrap_or_default().starts_with("/sign_in/confirm"), "{path}: {}", response.status);
    }
    let mut after = server.dump_database().await;
    // The time of the last use of the session.
    after["browser_sessions"] = before["browser_sessions"].clone();
    assert_eq!(after, before);
    let form = browser.open("/profile/keys").await.form("form[action='/sign_in/confirm']");
    let response = browser.submit(&form.set("password", PASSWORD)).await;
    assert_eq!((response.status, response.location()), (303, Some("/profile/keys")));
    assert_eq!(browser.get("/profile/keys").await.status, 200);
}

#[tokio::test]
async fn users_add_and_delete_addresses() {
    let (server, browser) = signed_in().await;
    let page = browser.get("/profile/emails").await;
    assert_eq!(page.texts("tbody tr").len(), 1);
    assert!(page.texts("tbody tr")[0].contains("primary"), "{}", page.text);
    let form = page.form("form[action='/profile/emails']");
    let page = browser.submit(&form.clone().set("email", "no address")).await;
    assert_eq!(violations(&page), ["Address is invalid"]);
    assert_eq!(page.form("form[action='/profile/emails']").value("email"), "no address");
    assert_eq!(browser.submit(&form.clone().set("email", "ada@work.example")).await.status, 303);
    assert_eq!(
        violations(&browser.submit(&form.set("email", "ada@work.example")).await),
        ["Address has already been taken"]
    );
    let page = browser.get("/profile/emails").await;
    assert_eq!(page.texts("tbody tr").len(), 2);
    // Another user cannot delete it.
    let form = page.form("tbody form");
    server.user("eve").await;
    let eve = server.sign_in("eve").await;
    assert_eq!(eve.submit(&form).await.status, 404);
    assert_eq!(browser.get("/profile/emails").await.texts("tbody tr").len(), 2);
    assert_eq!(browser.submit(&form).await.status, 303);
    assert_eq!(browser.get("/profile/emails").await.texts("tbody tr").len(), 1);
    assert_eq!(browser.submit(&form).await.status, 404);
}

#[tokio::test]
async fn users_add_and_delete_ssh_keys() {
    let (server, browser) = signed_in().await;
    let page = browser.get("/profile/keys").await;
    assert!(page.texts(".empty")[0].contains("ssh-keygen -t ed25519"), "{}", page.text);
    let form = page.form("form[action='/profile/keys']");
    let response = browser.submit(&form.clone().set("title", "Laptop").set("key", KEY)).await;
    assert_eq!((response.status, response.location()), (303, Some("/profile/keys")), "{}", response.text);
    let page = browser.get("/profile/keys").await;
    assert_eq!(page.texts("[role=status]"), ["The SSH key was added."]);
    let rows = page.texts("tbody tr");
    assert_eq!(rows.len(), 1);
    for part in ["Laptop", "SHA256:", "ssh-ed25519", "just now"] {
        assert!(rows[0].contains(part), "{part}: {rows:?}");
    }
    assert_eq!(
        violations(&browser.submit(&form.clone().set("title", "Copy").set("key", KEY)).await),
        ["Public key has already been taken"]
    );
    assert_eq!(violations(&browser.submit(&form.set("title", "").set("key", KEY)).await), ["Title can't be blank"]);
    let delete = page.form("tbody form");
    server.user("eve").await;
    let eve = server.sign_in("eve").await;
    assert_eq!(eve.submit(&delete).await.status, 404);
    assert_eq!(browser.get("/profile/keys").await.texts("tbody tr").len(), 1);
    assert_eq!(browser.submit(&delete).await.status, 303);
    assert_eq!(browser.get("/profile/keys").await.texts("tbody tr").len(), 0);
}

#[tokio::test]
async fn private_keys_are_refused_and_not_shown_again() {
    let (server, browser) = signed_in().await;
    let form = browser.get("/profile/keys").await.form("form[action='/profile/keys']");
    let page = browser.submit(&form.set("title", "Laptop").set("key", PRIVATE_KEY)).await;
    let messages = violations(&page);
    assert!(messages[0].starts_with("Public key is a private key, which must stay secret."), "{messages:?}");
    assert!(!page.text.contains("c2VjcmV0c2VjcmV0"));
    let form = page.form("form[action='/profile/keys']");
    assert_eq!((form.value("title"), form.value("key")), ("Laptop", ""));
    let dump = server.dump_database().await;
    assert_eq!(database::tables_containing(&dump, "c2VjcmV0c2VjcmV0"), [""; 0]);
    assert!(!log::captured().contains("c2VjcmV0c2VjcmV0"));
}

#[tokio::test]
async fn a_new_token_is_shown_once_and_not_stored() {
    let (server, browser) = signed_in().await;
    // The token with which the test would use the API.
    sqlx::query("delete from tokens").execute(&mut server.database().await).await.unwrap();
    let page = browser.get("/profile/tokens").await;
    assert_eq!(page.texts(".empty h2"), ["No tokens yet"]);
    // Only administrators can act as others, so only they are offered the scope.
    assert_eq!(
        page.attributes("input[name='scopes[]']", "value"),
        ["api", "read_api", "read_user", "read_repository", "write_repository"]
    );
    let root = server.sign_in("root").await;
    assert!(root.get("/profile/tokens").await.attributes("input[name='scopes[]']", "value").contains(&"sudo".into()));
    let request = browser.request("POST", "/profile/tokens").header("sec-fetch-site", "same-origin");
    let form = [("name", "Backup"), ("scopes[]", "api"), ("scopes[]", "read_user"), ("expires_at", "")];
    let page = browser.send(request.header("accept-encoding", "gzip").form(&form)).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!((page.header("cache-control"), page.header("content-encoding")), (Some("no-store"), None));
    let secret = page.texts("#token").remove(0);
    assert!(secret.starts_with("hfp_"), "{secret}");
    let own = server.with_token(&secret).get("/user").await;
    assert_eq!((own.status, own.body["username"].as_str()), (200, Some("ada")));
    let page = browser.get("/profile/tokens").await;
    assert!(!page.text.contains(&secret));
    assert!(page.texts("tbody tr")[0].contains("Backup"), "{}", page.text);
    assert_eq!(database::tables_containing(&server.dump_database().await, &secret), [""; 0]);
    // Another user cannot revoke it; its owner can, once.
    let revoke = page.form("tbody form");
    server.user("eve").await;
    assert_eq!(server.sign_in("eve").await.submit(&revoke).await.status, 404);
    assert_eq!(server.with_token(&secret).get("/user").await.status, 200);
    assert_eq!(browser.submit(&revoke).await.status, 303);
    assert_eq!(server.with_token(&secret).get("/user").await.status, 401);
    assert_eq!(browser.submit(&revoke).await.status, 404);
    let page = browser.get("/profile/tokens").await;
    assert!(page.texts("tbody tr")[0].contains("revoked"), "{}", page.text);
    assert_eq!(page.attributes("tbody form", "action"), [""; 0]);
}

#[tokio::test]
async fn a_rejected_token_keeps_what_was_entered() {
    let (server, browser) = signed_in().await;
    let before = server.dump_database().await;
    let fields = |scope, date| [("name", "Backup"), ("scopes[]", scope), ("expires_at", date)];
    for (form, message) in [
        (fields("api", "2001-01-01"), "Expires on must be a day to come"),
        (fields("api", "tomorrow"), "Expires on is not a date such as 2027-01-31"),
    ] {
        let page = browser.post("/profile/tokens", &form).await;
        assert_eq!(violations(&page), [message]);
        assert_eq!(page.form("form[action='/profile/tokens']").value("name"), "Backup");
        assert_eq!(page.attributes("input[value=api][checked]", "value"), ["api"]);
    }
    let page = browser.post("/profile/tokens", &[("name", "Backup")]).await;
    assert_eq!(violations(&page), ["Scopes can't be blank"]);
    let page = browser.post("/profile/tokens", &[("name", ""), ("scopes[]", "root")]).await;
    assert_eq!(violations(&page).len(), 2, "{}", page.text);
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn the_theme_is_chosen_with_and_without_an_account() {
    let (server, browser) = signed_in().await;
    for browser in [browser, server.browser()] {
        let themes = async || browser.get("/projects").await.attributes("html", "data-theme");
        assert_eq!(themes().await, [""; 0]);
        let response = browser.post("/profile/preferences", &[("theme", "dark")]).await;
        assert_eq!((response.status, response.location()), (303, Some("/profile/preferences")));
        let page = browser.get("/profile/preferences").await;
        assert_eq!(page.texts("[role=status]"), ["The preferences were saved in this browser."]);
        assert_eq!(page.attributes("input[name=theme][checked]", "value"), ["dark"]);
        assert_eq!(themes().await, ["dark"]);
        // The switch of every page leads back to the page, and never to another site.
        let form = browser.get("/projects?order=name").await.form("footer form");
        let to = form.value("to").to_owned();
        let response = browser.post(&form.action, &[("theme", "light"), ("to", &to)]).await;
        assert_eq!((response.status, response.location()), (303, Some("/projects?order=name")));
        assert_eq!(themes().await, ["light"]);
        let response = browser.post(&form.action, &[("theme", "<b>"), ("to", "//evil.example")]).await;
        assert_eq!((response.status, response.location()), (303, Some("/")));
        assert_eq!(themes().await, [""; 0]);
    }
}
