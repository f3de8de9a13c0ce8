//! The pages of webhooks and system hooks, and of their deliveries.

use axum::http::StatusCode;
use chrono::TimeDelta;
use holdfast_tests::{Browser, Client, Receiver, Server};
use serde_json::json;

use crate::projects::add_member;

const TOKEN: &str = "t0ken-of-the-hook";
const LIST: &str = "/ada/p/settings/hooks";

/// Ada's public project `ada/p` with a commit, and a receiver. Bob is a developer.
struct Hooks {
    server: Server,
    ada: Client,
    project: i64,
    receiver: Receiver,
    browser: Browser,
}

impl Hooks {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (bob, _) = server.user("bob").await;
        let project = server.project(&ada, "p", 20).await;
        add_member(&ada, &format!("/projects/{project}"), bob.get(), 30).await;
        server.push_first(&ada, "ada/p").await;
        // Events from before are not delivered.
        server.deliver_hooks().await;
        let (receiver, browser) = (Receiver::start().await, server.sign_in("ada").await);
        Self { server, ada, project, receiver, browser }
    }

    /// Creates a hook with the form and returns its path.
    async fn create(&self, url: &str) -> String {
        let form = self.browser.get(&format!("{LIST}/new")).await.form("main form");
        let created = self.browser.submit(&form.set("url", url).set("token", TOKEN)).await;
        assert_eq!(created.status, 303, "{}", created.text);
        created.location().expect("a redirect to the hook").to_owned()
    }

    async fn create_branches(&self, names: &[&str]) {
        for name in names {
            let form = [("branch_name", *name), ("ref", "main")];
            let made = self.ada.post(&format!("/projects/{}/repository/branches", self.project), &form).await;
            assert_eq!(made.status, 200, "{}", made.text);
        }
    }

    /// Returns the names of the icons in the rows of deliveries: their states, newest first.
    async fn states(&self, hook: &str) -> Vec<String> {
        self.browser.get(hook).await.attributes("main table tbody td:first-child svg", "aria-label")
    }
}

#[tokio::test]
async fn a_webhook_is_created_changed_and_deleted() {
    let hooks = Hooks::new().await;
    let (browser, api) = (&hooks.browser, format!("/projects/{}/hooks", hooks.project));
    let page = browser.get(LIST).await;
    assert_eq!((page.status, page.texts("main h2")), (200, vec!["No hooks".to_owned()]));
    assert!(page.attributes("main .side a[aria-current]", "href").contains(&LIST.to_owned()), "{}", page.text);
    let form = browser.get(&format!("{LIST}/new")).await.form("main form");
    let before = hooks.server.dump_database().await;
    for (url, token, field) in
        [("ftp://h.example", TOKEN, "url"), ("", TOKEN, "url"), ("http://h.example", "whsec_!", "token")]
    {
        let rejected = browser.submit(&form.clone().set("url", url).set("token", token)).await;
        assert_eq!(rejected.status, 422, "{url}");
        assert_eq!(rejected.attributes("#errors a", "href"), [format!("#{field}")], "{url}");
        let shown = rejected.form("main form");
        assert_eq!((shown.value("url"), shown.value("token")), (url, ""));
        assert!(!rejected.text.contains(token), "{url}");
    }
    assert_eq!(hooks.server.dump_database().await, before);

    let hook = hooks.create("http://ci:hush-hush@h.example/x").await;
    let stored = hooks.ada.get(&api).await.body[0].clone();
    assert_eq!((&stored["url"], &stored["push_events"]), (&json!("http://h.example/x"), &json!(true)));
    assert_eq!((&stored["issues_events"], &stored["enable_ssl_verification"]), (&json!(false), &json!(true)));
    assert_eq!(hook, format!("{LIST}/{}", stored["id"]));
    let page = browser.get(&hook).await;
    assert!(page.text.contains("The hook has a token") && page.text.contains("a user name or a password"));
    assert_eq!(page.texts("main h1 bdi"), ["http://h.example/x"]);
    let form = page.form("main details form");
    assert_eq!((form.value("url"), form.value("token")), ("http://h.example/x", ""));
    let rejected = browser.submit(&form.clone().set("url", "nowhere")).await;
    assert_eq!((rejected.status, rejected.texts("#url-error").len()), (422, 1), "{}", rejected.text);
    assert_eq!(rejected.attributes("main details", "open").len(), 1, "the form is open");
    let saved = browser.submit(&form.check("issues_events")).await;
    assert_eq!(saved.location(), Some(hook.as_str()));
    let page = browser.get(&hook).await;
    assert!(page.texts("[role=status]")[0].starts_with("The webhook was saved."), "{}", page.text);
    // The token, the user name and the password stay.
    assert!(page.text.contains("The hook has a token") && page.text.contains("a user name or a password"));
    assert_eq!(hooks.ada.get(&api).await.body[0]["issues_events"], true);
    // A box that is not checked switches the event off, and a form without fields does nothing.
    let form = [("url", "http://h.example/x"), ("note_events", "1"), ("remove_token", "1")];
    assert_eq!(browser.post(&hook, &form).await.status, 303);
    let stored = hooks.ada.get(&api).await.body[0].clone();
    assert_eq!((&stored["push_events"], &stored["note_events"]), (&json!(false), &json!(true)));
    assert_eq!(stored["enable_ssl_verification"], false);
    assert!(browser.get(&hook).await.text.contains("The hook has no token"));
    assert_eq!(browser.post(&hook, &[]).await.status, 422);
    let page = browser.get(LIST).await;
    assert_eq!(page.texts("main table tbody a"), ["http://h.example/x"]);
    assert!(page.texts("main table tbody .state")[0].contains("healthy"), "{}", page.text);
    assert!(!page.text.contains("hush-hush"));

    let delete = browser.get(&hook).await.form("form[action$='/delete']");
    assert_eq!(browser.submit(&delete).await.location(), Some(LIST));
    assert_eq!(hooks.ada.get(&api).await.body, json!([]));
    assert_eq!(browser.submit(&delete).await.status, 404);
    assert_eq!(browser.get(&hook).await.status, 404);
}

#[tokio::test]
async fn deliveries_are_shown_without_secrets_and_replayed() {
    let hooks = Hooks::new().await;
    let url = hooks.receiver.url("/x").replace("http://", "http://bot:hush-hush@");
    let hook = hooks.create(&url).await;
    assert_eq!(hooks.browser.get(&hook).await.texts("main .empty h2"), ["No deliveries"]);
    hooks.create_branches(&["a"]).await;
    let echo = format!("you sent {TOKEN} <b>and</b> hush-hush");
    hooks.receiver.respond_with((StatusCode::CREATED, [("x-echo", TOKEN)], echo));
    hooks.server.deliver_hooks().await;
    let first = hooks.receiver.take_received().remove(0);
    let page = hooks.browser.get(&hook).await;
    let row = page.texts("main table tbody tr").remove(0);
    assert!(row.contains("push") && row.contains("201") && row.contains("just now"), "{row}");
    assert_eq!(hooks.states(&hook).await, ["delivered"]);
    assert!(hooks.browser.get(LIST).await.texts("main table tbody tr")[0].contains("just now"));
    let delivery = page.attributes("main table tbody a", "href").remove(0);
    assert_eq!(delivery, format!("{hook}/deliveries/1"));
    let page = hooks.browser.get(&delivery).await;
    assert_eq!((page.status, page.texts("main h1")), (200, vec!["Delivery 1".to_owned()]));
    for secret in [TOKEN, "hush-hush", "Ym90Omh1c2gtaHVzaA=="] {
        assert!(!page.text.contains(secret), "{secret}: {}", page.text);
    }
    let texts = page.texts("main pre");
    assert!(texts[0].contains(&hooks.receiver.url("/x")) && texts[0].contains(first.header("webhook-id")));
    assert!(texts[0].contains("x-gitlab-token: [hidden]"), "{}", texts[0]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&texts[1]).unwrap(), first.body);
    assert!(texts[2].contains("x-echo: [hidden]"), "{}", texts[2]);
    assert_eq!(texts[3], "you sent [hidden] <b>and</b> [hidden]");

    let replay = page.form("form[action$='/replay']");
    assert_eq!(hooks.browser.submit(&replay).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    let second = hooks.receiver.take_received().remove(0);
    assert_eq!((second.sequence(), second.header("webhook-id")), (2, first.header("webhook-id")));
    assert_eq!(second.raw, first.raw);
    let page = hooks.browser.get(&format!("{hook}/deliveries/2")).await;
    assert!(page.attributes("main dl a", "href").contains(&delivery), "{}", page.text);
    let resume = hooks.browser.get(&delivery).await.form("form[action$='/resume']");
    assert_eq!(hooks.browser.submit(&resume).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    assert_eq!(hooks.receiver.sequences(), [1, 2]);
    for path in ["deliveries/77", "deliveries/0", "deliveries/x"] {
        assert_eq!(hooks.browser.get(&format!("{hook}/{path}")).await.status, 404, "{path}");
        assert_eq!(hooks.browser.post(&format!("{hook}/{path}/replay"), &[]).await.status, 404, "{path}");
    }
    assert_eq!(hooks.browser.post(&format!("{hook}/deliveries/77/resume"), &[]).await.status, 422);
    assert!(!holdfast_tests::log::captured().contains(TOKEN));
}

#[tokio::test]
async fn a_failing_delivery_is_skipped_or_tried_again() {
    let hooks = Hooks::new().await;
    let hook = hooks.create(&hooks.receiver.url("/x")).await;
    hooks.create_branches(&["a", "b", "c"]).await;
    hooks.receiver.fail(2);
    hooks.server.deliver_hooks().await;
    hooks.receiver.take_received();
    assert_eq!(hooks.states(&hook).await, ["pending"; 3]);
    let page = hooks.browser.get(&hook).await;
    assert!(page.texts("main .state")[0].contains("failing"), "{}", page.text);
    let notice = page.texts(".flash.wait p").remove(0);
    assert!(notice.contains("Delivery 1 failed 1 time.") && notice.contains("responded with 500"), "{notice}");
    assert!(hooks.browser.get(LIST).await.texts("main table .state")[0].contains("failing"));
    let retry = page.form("form[action$='/deliveries/1/resume']");
    assert_eq!(hooks.browser.submit(&retry).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    assert_eq!(hooks.receiver.sequences(), [1], "at once");
    let skip = hooks.browser.get(&hook).await.form("form[action$='/deliveries/2/resume']");
    assert_eq!(hooks.browser.submit(&skip).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    assert_eq!(hooks.receiver.sequences(), [2, 3]);
    assert_eq!(hooks.states(&hook).await, ["delivered", "delivered", "parked"]);
    assert_eq!(hooks.browser.get(&hook).await.texts(".flash.wait"), [""; 0]);
}

#[tokio::test]
async fn a_sample_event_tests_a_webhook() {
    let hooks = Hooks::new().await;
    let hook = hooks.create(&hooks.receiver.url("/x")).await;
    let form = hooks.browser.get(&hook).await.form("form[action$='/test']");
    let rejected = hooks.browser.submit(&form.clone().set("event", "tag_push")).await;
    assert_eq!(rejected.status, 422, "{}", rejected.text);
    assert_eq!(rejected.texts(".flash.bad p"), ["Ensure the project has at least one tag."]);
    assert_eq!(hooks.browser.submit(&form.set("event", "push")).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    assert_eq!(hooks.receiver.take_received()[0].body["object_kind"], "push");
    assert_eq!(hooks.states(&hook).await, ["delivered"]);
}

#[tokio::test]
async fn only_masters_see_webhooks_and_only_those_of_their_project() {
    let hooks = Hooks::new().await;
    let hook = hooks.create(&hooks.receiver.url("/x")).await;
    hooks.create_branches(&["a"]).await;
    hooks.server.deliver_hooks().await;
    hooks.receiver.take_received();
    let (_, eve) = hooks.server.user("eve").await;
    hooks.server.project(&eve, "own", 20).await;
    let (bob, eve) = (hooks.server.sign_in("bob").await, hooks.server.sign_in("eve").await);
    let root = hooks.server.sign_in("root").await;
    let id = hook.rsplit('/').next().unwrap();
    let before = hooks.server.dump_database().await;
    let form = [("url", "http://evil.example"), ("push_events", "1")];
    for path in ["", "/deliveries/1"] {
        assert_eq!(bob.get(&format!("{hook}{path}")).await.status, 403, "{path}");
        assert_eq!(eve.get(&format!("/eve/own/settings/hooks/{id}{path}")).await.status, 404, "{path}");
        // A hook of a project is not found as a system hook.
        assert_eq!(root.get(&format!("/admin/hooks/{id}{path}")).await.status, 404, "{path}");
    }
    for path in ["", "/test", "/delete", "/deliveries/1/replay", "/deliveries/1/resume"] {
        assert_eq!(bob.post(&format!("{hook}{path}"), &form).await.status, 403, "{path}");
        assert_eq!(eve.post(&format!("/eve/own/settings/hooks/{id}{path}"), &form).await.status, 404, "{path}");
        assert_eq!(root.post(&format!("/admin/hooks/{id}{path}"), &form).await.status, 404, "{path}");
    }
    assert_eq!((bob.get(LIST).await.status, bob.post(LIST, &form).await.status), (403, 403));
    assert_eq!(hooks.server.dump_database().await, before);
    assert!(!bob.get("/ada/p").await.text.contains(LIST));
}

#[tokio::test]
async fn administrators_manage_system_hooks_after_a_confirmation() {
    const SYSTEM: &str = "/admin/hooks";
    let hooks = Hooks::new().await;
    let root = hooks.server.sign_in("root").await;
    assert_eq!(root.get(SYSTEM).await.texts("main h2"), ["No hooks"]);
    let form = root.get(&format!("{SYSTEM}/new")).await.form("main form");
    let rejected = root.submit(&form.clone().set("url", "ftp://h.example")).await;
    assert_eq!((rejected.status, rejected.texts("#url-error").len()), (422, 1), "{}", rejected.text);
    let created = root.submit(&form.set("url", &hooks.receiver.url("/s")).set("token", TOKEN)).await;
    let hook = created.location().expect("a redirect to the hook").to_owned();
    let stored = hooks.server.admin.get("/hooks").await.body[0].clone();
    assert_eq!((hook.as_str(), &stored["push_events"]), (format!("{SYSTEM}/{}", stored["id"]).as_str(), &json!(true)));
    assert_eq!(hooks.ada.get(&format!("/projects/{}/hooks", hooks.project)).await.body, json!([]));
    let page = root.get(&hook).await;
    assert_eq!(page.attributes("main input[name=issues_events]", "name"), [""; 0]);
    let saved = root.submit(&page.form("main details form").check("tag_push_events")).await;
    assert_eq!(saved.location(), Some(hook.as_str()), "{}", saved.text);
    assert_eq!(hooks.server.admin.get("/hooks").await.body[0]["tag_push_events"], true);
    assert_eq!(root.submit(&page.form("form[action$='/test']")).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    let received = hooks.receiver.take_received().remove(0);
    assert_eq!((received.header("x-gitlab-event"), &received.body["name"]), ("System Hook", &json!("Ruby")));
    let page = root.get(&format!("{hook}/deliveries/1")).await;
    assert!(page.status == 200 && !page.text.contains(TOKEN), "{}", page.text);
    assert_eq!(root.submit(&page.form("form[action$='/replay']")).await.location(), Some(hook.as_str()));
    hooks.server.deliver_hooks().await;
    assert_eq!(hooks.receiver.sequences(), [2]);

    let before = hooks.server.dump_database().await;
    for path in [SYSTEM.to_owned(), format!("{SYSTEM}/new"), hook.clone(), format!("{hook}/deliveries/1")] {
        assert_eq!(hooks.browser.get(&path).await.status, 403, "{path}");
        assert!(hooks.server.browser().get(&path).await.location().unwrap().starts_with("/sign_in?"), "{path}");
    }
    let form = [("url", "http://evil.example")];
    for path in ["", "/test", "/delete", "/deliveries/1/replay", "/deliveries/1/resume"] {
        assert_eq!(hooks.browser.post(&format!("{hook}{path}"), &form).await.status, 403, "{path}");
    }
    assert_eq!(hooks.browser.post(SYSTEM, &form).await.status, 403);
    assert_eq!(hooks.server.dump_database().await, before);
    // An administrator whose password was entered long ago is asked for it.
    hooks.server.advance(TimeDelta::hours(1));
    let response = root.post(&format!("{hook}/delete"), &[]).await;
    assert!(response.location().unwrap().starts_with("/sign_in/confirm"), "{}", response.status);
    assert!(root.get(SYSTEM).await.location().unwrap().starts_with("/sign_in/confirm"));
    let root = hooks.server.sign_in("root").await;
    let delete = root.get(&hook).await.form("form[action$='/delete']");
    assert_eq!(root.submit(&delete).await.location(), Some(SYSTEM));
    assert_eq!(hooks.server.admin.get("/hooks").await.body, json!([]));
}

/// Stored XSS by the URL of a hook, and by the response of its receiver.
#[tokio::test]
async fn texts_of_receivers_are_escaped() {
    const SCRIPT: &str = "<script>alert(1)</script>";
    let hooks = Hooks::new().await;
    let hook = hooks.create(&format!("{}?x=%22%3E{SCRIPT}", hooks.receiver.url("/x"))).await;
    hooks.create_branches(&["a"]).await;
    hooks.receiver.respond_with((StatusCode::OK, [("x-script", SCRIPT)], format!("{SCRIPT}\u{202e}")));
    hooks.server.deliver_hooks().await;
    let delivery = format!("{hook}/deliveries/1");
    for path in [LIST, &hook, &delivery] {
        let page = hooks.browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.text.contains(SCRIPT) && !page.text.contains('\u{202e}'), "{path}: {}", page.text);
    }
    let shown = hooks.browser.get(&delivery).await.texts("main pre");
    assert!(shown[2].contains(SCRIPT) && shown[3].contains(&format!("{SCRIPT}U+202E")), "{shown:?}");
}
