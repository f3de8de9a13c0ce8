//! The pages of deploy keys.

use chrono::TimeDelta;
use holdfast_tests::{Browser, Client, Server, database, log};
use serde_json::json;

use crate::deploy_keys::{DEPLOY_KEY, OTHER_DEPLOY_KEY};
use crate::projects::add_member;
use crate::ssh_keys::ED25519;

const LIST: &str = "/ada/tools/settings/deploy_keys";
const PRIVATE_KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0c2VjcmV0\n-----END OPENSSH PRIVATE KEY-----";

/// Ada's private project `ada/tools`. Bob is a developer and Mia a master.
async fn tools() -> (Server, Client, i64, Browser) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "tools", 0).await;
    for (name, level) in [("bob", 30), ("mia", 40)] {
        let (id, _) = server.user(name).await;
        add_member(&ada, &format!("/projects/{project}"), id.get(), level).await;
    }
    let browser = server.sign_in("ada").await;
    (server, ada, project, browser)
}

#[tokio::test]
async fn deploy_keys_are_added_changed_and_removed() {
    let (_server, ada, project, browser) = tools().await;
    let api = format!("/projects/{project}/deploy_keys");
    assert_eq!(browser.get(LIST).await.texts("main h2"), ["No deploy keys"]);
    let form = browser.get(&format!("{LIST}/new")).await.form("main form");
    for (title, key, field) in [("", DEPLOY_KEY, "title"), ("Server", "no key", "key"), ("Server", "", "key")] {
        let rejected = browser.submit(&form.clone().set("title", title).set("key", key)).await;
        assert_eq!((rejected.status, rejected.attributes("#errors a", "href")), (422, vec![format!("#{field}")]));
        let shown = rejected.form("main form");
        assert_eq!((shown.value("title"), shown.value("key")), (title, key));
    }
    // The key of an account is taken.
    assert_eq!(ada.post("/user/keys", &[("title", "t"), ("key", ED25519)]).await.status, 201);
    let rejected = browser.submit(&form.clone().set("title", "Mine").set("key", ED25519)).await;
    assert_eq!(rejected.texts("#key-error"), ["Public key has already been taken"]);
    assert_eq!(ada.get(&api).await.body, json!([]));

    let added = browser.submit(&form.set("title", "Server").set("key", DEPLOY_KEY).check("can_push")).await;
    assert_eq!((added.status, added.location()), (303, Some(LIST)), "{}", added.text);
    let stored = ada.get(&api).await.body[0].clone();
    assert_eq!((&stored["title"], &stored["can_push"]), (&json!("Server"), &json!(true)));
    let page = browser.get(LIST).await;
    assert_eq!(page.texts("[role=status]"), ["The deploy key was added."]);
    let row = page.texts("main tbody tr").remove(0);
    for part in ["Server", "SHA256:", "ssh-ed25519", "yes", "just now", "none that you can see"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let edit = page.attributes("main tbody a", "href").remove(0);
    assert_eq!(edit, format!("{LIST}/{}", stored["id"]));
    let form = browser.get(&edit).await.form("main form");
    assert_eq!(form.value("title"), "Server");
    let rejected = browser.submit(&form.clone().set("title", " ")).await;
    assert_eq!((rejected.status, rejected.texts("#title-error")), (422, vec!["Title can't be blank".to_owned()]));
    assert_eq!(browser.submit(&form.set("title", "Web server")).await.location(), Some(LIST));
    let stored = ada.get(&api).await.body[0].clone();
    assert_eq!((&stored["title"], &stored["can_push"]), (&json!("Web server"), &json!(true)));
    assert_eq!(browser.post(&edit, &[("title", "Web server")]).await.status, 303);
    assert_eq!(ada.get(&api).await.body[0]["can_push"], false, "a box that is not checked");
    let remove = page.form("main tbody form");
    assert_eq!(browser.submit(&remove).await.location(), Some(LIST));
    assert_eq!(ada.get(&api).await.body, json!([]));
    assert_eq!(browser.submit(&remove).await.status, 404);
    assert_eq!(browser.get(&edit).await.status, 404);
}

/// A key pushes in the name of the user who allowed it, not of the one who changed its title.
#[tokio::test]
async fn a_new_title_does_not_change_the_user_a_key_pushes_for() {
    let (server, ada, project, _) = tools().await;
    let form = [("title", "Server"), ("key", DEPLOY_KEY), ("can_push", "true")];
    assert_eq!(ada.post(&format!("/projects/{project}/deploy_keys"), &form).await.status, 201);
    let links = async || server.dump_database().await["deploy_key_projects"].clone();
    let before = links().await;
    let mia = server.sign_in("mia").await;
    let edit = mia.get(LIST).await.attributes("main tbody a", "href").remove(0);
    let form = mia.get(&edit).await.form("main form").set("title", "Renamed");
    assert_eq!(mia.submit(&form).await.status, 303);
    assert_eq!((links().await, mia.get(LIST).await.texts("main tbody bdi")), (before, vec!["Renamed".to_owned()]));
}

#[tokio::test]
async fn private_deploy_keys_are_refused_and_not_shown_again() {
    let (server, _, _, browser) = tools().await;
    let form = browser.get(&format!("{LIST}/new")).await.form("main form");
    let rejected = browser.submit(&form.set("title", "Server").set("key", PRIVATE_KEY)).await;
    assert_eq!(rejected.status, 422);
    assert!(rejected.texts("#key-error")[0].contains("is a private key, which must stay secret"), "{}", rejected.text);
    assert!(!rejected.text.contains("c2VjcmV0c2VjcmV0"));
    let shown = rejected.form("main form");
    assert_eq!((shown.value("title"), shown.value("key")), ("Server", ""));
    let dump = server.dump_database().await;
    assert_eq!(database::tables_containing(&dump, "c2VjcmV0c2VjcmV0"), [""; 0]);
    assert!(!log::captured().contains("c2VjcmV0c2VjcmV0"));
}

/// Information leak: a shared key reveals the names of hidden projects that have it.
#[tokio::test]
async fn only_visible_projects_are_listed_beside_a_key() {
    let (server, ada, project, browser) = tools().await;
    let key = [("title", "Server"), ("key", DEPLOY_KEY)];
    for id in [project, server.project(&ada, "secret", 0).await, server.project(&ada, "open", 20).await] {
        assert_eq!(ada.post(&format!("/projects/{id}/deploy_keys"), &key).await.status, 201);
    }
    let other = [("title", "Other"), ("key", OTHER_DEPLOY_KEY)];
    assert_eq!(ada.post(&format!("/projects/{project}/deploy_keys"), &other).await.status, 201);
    let others = async |browser: &Browser| browser.get(LIST).await.texts("main tbody td:nth-child(4)");
    assert_eq!(others(&browser).await, ["ada/secret, ada/open", "none that you can see"]);
    let mia = server.sign_in("mia").await;
    assert_eq!(others(&mia).await, ["ada/open", "none that you can see"]);
    assert!(!mia.get(LIST).await.text.contains("secret"));
    // Removed here, the key stays in the others.
    assert_eq!(mia.submit(&mia.get(LIST).await.form("main tbody form")).await.status, 303);
    assert_eq!(server.admin.get("/deploy_keys").await.ids().len(), 2);
}

#[tokio::test]
async fn deploy_keys_are_changed_only_by_masters_after_a_confirmation() {
    let (server, ada, project, browser) = tools().await;
    let key = [("title", "Server"), ("key", DEPLOY_KEY)];
    let id = ada.post(&format!("/projects/{project}/deploy_keys"), &key).await.body["id"].clone();
    let edit = format!("{LIST}/{id}");
    let bob = server.sign_in("bob").await;
    let (_, eve) = server.user("eve").await;
    server.project(&eve, "own", 20).await;
    let eve = server.sign_in("eve").await;
    let before = server.dump_database().await;
    for path in [LIST, &format!("{LIST}/new"), &edit] {
        assert_eq!(bob.get(path).await.status, 403, "{path}");
        assert_eq!(eve.get(path).await.status, 404, "{path}");
    }
    let form = [("title", "Mine"), ("key", OTHER_DEPLOY_KEY), ("can_push", "1")];
    for path in [LIST, &edit, &format!("{edit}/delete")] {
        assert_eq!(bob.post(path, &form).await.status, 403, "{path}");
        assert_eq!(eve.post(path, &form).await.status, 404, "{path}");
    }
    // A key of one project is not found in another.
    for path in ["", "/delete"] {
        assert_eq!(eve.post(&format!("/eve/own/settings/deploy_keys/{id}{path}"), &form).await.status, 404, "{path}");
    }
    assert_eq!(server.dump_database().await, before);
    server.advance(TimeDelta::hours(1));
    let before = server.dump_database().await;
    for path in [LIST, &edit, &format!("{edit}/delete")] {
        let response = browser.post(path, &form).await;
        assert!(response.location().unwrap_or_default().starts_with("/sign_in/confirm"), "{path}: {}", response.status);
    }
    assert!(browser.get(&edit).await.location().unwrap_or_default().starts_with("/sign_in/confirm"));
    assert_eq!(browser.get(LIST).await.status, 200);
    let mut after = server.dump_database().await;
    // The time of the last use of the session.
    after["browser_sessions"] = before["browser_sessions"].clone();
    assert_eq!(after, before);
}
