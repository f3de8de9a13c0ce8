//! The access tokens of a project and of a group.

use holdfast_tests::{Browser, Client, PageResponse, Server, database};
use serde_json::Value;

use crate::projects::add_member;

const OF_PROJECT: &str = "/ada/p/settings/access_tokens";
const OF_GROUP: &str = "/groups/team/access_tokens";

/// A server with the private project `ada/p` and the private group `team`, both with the master `max` and the developer
/// `dev`.
async fn server_with_members() -> (Server, Client) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let group = server.group(&ada, "team", 0).await;
    for (name, level) in [("max", 40), ("dev", 30)] {
        let id = server.user(name).await.0.get();
        add_member(&ada, &format!("/projects/{project}"), id, level).await;
        add_member(&ada, &format!("/groups/{group}"), id, level).await;
    }
    server.user("eve").await;
    (server, ada)
}

/// Returns the messages of a rejected form.
fn violations(page: &PageResponse) -> Vec<String> {
    assert_eq!(page.status, 422, "{}", page.text);
    page.texts("#errors li")
}

/// Returns the user that a token belongs to, or the status of the response.
async fn user_of(server: &Server, secret: &str) -> Result<Value, u16> {
    let response = server.with_token(secret).get("/user").await;
    if response.status == 200 { Ok(response.body["name"].clone()) } else { Err(response.status) }
}

/// Creates, replaces and revokes a token with the forms of a page.
async fn use_token(server: &Server, browser: &Browser, address: &str) {
    let page = browser.get(address).await;
    assert_eq!(page.texts(".empty h2"), ["No tokens yet"], "{}", page.text);
    let form = page.form(&format!("form[action='{address}']"));
    let form = form.set("name", "Deployer").check("scopes[]").set("access_level", "30");
    let page = browser.submit(&form).await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")), "{}", page.text);
    let first = page.texts("#token").remove(0);
    assert_eq!(user_of(server, &first).await, Ok("Deployer".into()));
    let page = browser.get(address).await;
    assert!(!page.text.contains(&first));
    let row = page.texts("tbody tr").remove(0);
    // The clock stands on 2 January 2026.
    for part in ["Deployer", "api", "Developer", "2 Jan 2027"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let rotate = page.form("form[action$='/rotate']");
    assert_eq!(rotate.value("expires_at"), "2027-01-02");
    let page = browser.submit(&rotate).await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")), "{}", page.text);
    let second = page.texts("#token").remove(0);
    assert_eq!(user_of(server, &first).await, Err(401));
    assert_eq!(user_of(server, &second).await, Ok("Deployer".into()));
    assert_eq!(browser.submit(&rotate).await.status, 422);
    assert_eq!(page.texts("tbody .state"), ["revoked"]);
    let dump = server.dump_database().await;
    for secret in [&first, &second] {
        assert_eq!(database::tables_containing(&dump, secret), [""; 0]);
    }
    let revoke = page.form("form[action$='/revoke']");
    assert_eq!(browser.submit(&revoke).await.location(), Some(address));
    assert_eq!(user_of(server, &second).await, Err(401));
    assert_eq!(browser.submit(&revoke).await.status, 404);
}

#[tokio::test]
async fn tokens_of_a_project_are_created_replaced_and_revoked() {
    let (server, ada) = server_with_members().await;
    let max = server.sign_in("max").await;
    use_token(&server, &max, OF_PROJECT).await;
    let page = max.get(OF_PROJECT).await;
    assert_eq!(page.attributes("option", "value"), ["10", "20", "30", "40"]);
    assert_eq!(page.attributes("option[selected]", "value"), ["30"]);
    let scopes = page.attributes("input[name='scopes[]']", "value");
    assert_eq!(scopes, ["api", "read_api", "read_user", "read_repository", "write_repository"]);
    let form = [("name", "mine"), ("scopes[]", "api"), ("access_level", "30")];
    for (name, status) in [("dev", 403), ("eve", 404)] {
        let browser = server.sign_in(name).await;
        let token = ada.post("/api/v4/projects/ada%2Fp/access_tokens", &form).await.body["id"].clone();
        let before = server.dump_database().await;
        assert_eq!(browser.get(OF_PROJECT).await.status, status, "{name}");
        for action in [String::new(), format!("/{token}/rotate"), format!("/{token}/revoke")] {
            let response = browser.post(&format!("{OF_PROJECT}{action}"), &form).await;
            assert_eq!(response.status, status, "{action} as {name}");
        }
        assert_eq!(server.dump_database().await, before, "{name}");
    }
}

#[tokio::test]
async fn tokens_of_a_group_are_created_replaced_and_revoked() {
    let (server, _) = server_with_members().await;
    let owner = server.sign_in("ada").await;
    use_token(&server, &owner, OF_GROUP).await;
    assert_eq!(owner.get(OF_GROUP).await.attributes("option", "value"), ["10", "20", "30", "40", "50"]);
    assert_eq!(owner.get("/groups/TEAM/access_tokens").await.location(), Some(OF_GROUP));
    for (name, status) in [("max", 403), ("dev", 403), ("eve", 404)] {
        let browser = server.sign_in(name).await;
        let before = server.dump_database().await;
        assert_eq!(browser.get(OF_GROUP).await.status, status, "{name}");
        let form = [("name", "mine"), ("scopes[]", "api"), ("access_level", "10")];
        assert_eq!(browser.post(OF_GROUP, &form).await.status, status, "{name}");
        assert_eq!(server.dump_database().await, before, "{name}");
    }
}

#[tokio::test]
async fn a_rejected_access_token_keeps_what_was_entered() {
    let (server, _) = server_with_members().await;
    let max = server.sign_in("max").await;
    let before = server.dump_database().await;
    let fields =
        |scope, level, date| [("name", "Deployer"), ("scopes[]", scope), ("access_level", level), ("expires_at", date)];
    for (form, message) in [
        (fields("api", "50", ""), "Level must be at most 40"),
        (fields("api", "owner", ""), "Level is not an access level"),
        (fields("sudo", "30", ""), "Scopes must not contain sudo"),
        (fields("api", "30", "2001-01-01"), "Expires on must be a day to come"),
        (fields("api", "30", "2031-01-01"), "Expires on must be within 365 days"),
        (fields("api", "30", "tomorrow"), "Expires on is not a date such as 2027-01-31"),
    ] {
        let page = max.post(OF_PROJECT, &form).await;
        assert_eq!(violations(&page), [message]);
        assert_eq!(page.form(&format!("form[action='{OF_PROJECT}']")).value("name"), "Deployer");
    }
    assert_eq!(violations(&max.post(OF_PROJECT, &[]).await).len(), 2);
    assert_eq!(server.dump_database().await, before);
}
