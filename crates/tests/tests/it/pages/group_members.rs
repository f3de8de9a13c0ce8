//! The members of a group, and requests for access to it.

use holdfast_tests::{Browser, Client, Server};
use serde_json::Value;

use crate::projects::add_member;

const PAGE: &str = "/groups/harbor/members";

/// A server with the public group `harbor` of `owner`, in which `master` is a master.
struct Harbor {
    server: Server,
    owner: Client,
    group: i64,
}

impl Harbor {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, owner) = server.user("owner").await;
        let group = server.group(&owner, "harbor", 20).await;
        let (master, _) = server.user("master").await;
        add_member(&owner, &format!("/groups/{group}"), master.get(), 40).await;
        server.user("stranger").await;
        Self { server, owner, group }
    }

    async fn browser(&self, name: &str) -> Browser {
        self.server.sign_in(name).await
    }

    /// Returns the membership of a user, or null.
    async fn membership(&self, name: &str) -> Value {
        let members = self.server.admin.get(&format!("/groups/{}/members", self.group)).await.body;
        let members = members.as_array().cloned().unwrap_or_default();
        members.into_iter().find(|member| member["username"] == name).unwrap_or_default()
    }
}

#[tokio::test]
async fn members_of_a_group_are_listed_for_signed_in_users() {
    let harbor = Harbor::new().await;
    for (name, controls) in [("stranger", vec![]), ("master", vec![format!("{PAGE}/leave")])] {
        let browser = harbor.browser(name).await;
        // The page is reached by a tab of the group.
        assert!(browser.get("/groups/harbor").await.attributes(".tabs a", "href").contains(&PAGE.to_owned()));
        let page = browser.get(PAGE).await;
        let rows = page.texts("main tbody tr");
        assert!(rows.len() == 2 && rows[0].contains("@owner") && rows[0].contains("Owner"), "{rows:?}");
        assert!(rows[1].contains("@master") && rows[1].contains("Master"), "{rows:?}");
        assert_eq!(page.attributes("main form", "action"), controls, "{name}");
        assert_eq!(page.attributes("main tbody a[href$='/edit']", "href"), [""; 0]);
    }
    let anonymous = harbor.server.browser();
    assert!(!anonymous.get("/groups/harbor").await.attributes("a", "href").contains(&PAGE.to_owned()));
    assert!(anonymous.get(PAGE).await.location().unwrap_or_default().starts_with("/sign_in?"));
    // Another spelling leads to the address of the page.
    let moved = harbor.browser("master").await.get("/groups/HARBOR/members?page=1").await;
    assert_eq!((moved.status, moved.location()), (308, Some("/groups/harbor/members?page=1")));
}

#[tokio::test]
async fn owners_add_change_and_remove_members() {
    let harbor = Harbor::new().await;
    let (owner, master) = (harbor.browser("owner").await, harbor.browser("master").await);
    let form = owner.get(PAGE).await.form("form[aria-labelledby='add-member']");
    let before = harbor.server.dump_database().await;
    for (username, expires_at, messages) in [
        ("", "soon", vec!["Username can't be blank", "Expires on is not a date such as 2027-01-31"]),
        ("nobody", "", vec!["Username is not the name of a user"]),
        ("master", "", vec!["Username is a member already"]),
        ("stranger", "2026-01-02", vec!["Expires on must be a day to come"]),
    ] {
        let rejected = owner.submit(&form.clone().set("username", username).set("expires_at", expires_at)).await;
        assert_eq!(
            (rejected.status, rejected.texts("#errors li")),
            (422, messages.iter().map(|it| (*it).into()).collect())
        );
        assert_eq!(rejected.form("form[aria-labelledby='add-member']").value("username"), username);
    }
    let filled = form.set("username", "stranger").set("access_level", "50").set("expires_at", "2026-02-01");
    // Masters of a group do not manage its members.
    assert_eq!(master.submit(&filled).await.status, 403);
    assert_eq!(harbor.server.dump_database().await, before);
    let added = owner.submit(&filled).await;
    assert_eq!((added.status, added.location()), (303, Some(PAGE)), "{}", added.text);
    let member = harbor.membership("stranger").await;
    assert_eq!((&member["access_level"], &member["expires_at"]), (&50.into(), &"2026-02-01".into()));

    let page = owner.get(PAGE).await;
    let edit = page.attributes("a[aria-label='Edit the membership of stranger']", "href").remove(0);
    let form = owner.get(&edit).await.form("main form");
    assert_eq!((form.value("access_level"), form.value("expires_at")), ("50", "2026-02-01"));
    let saved = owner.submit(&form.clone().set("access_level", "10").set("expires_at", "")).await;
    assert_eq!((saved.status, saved.location()), (303, Some(PAGE)), "{}", saved.text);
    let member = harbor.membership("stranger").await;
    assert_eq!((&member["access_level"], &member["expires_at"]), (&10.into(), &Value::Null));
    let rejected = owner.submit(&form.clone().set("expires_at", "2025-01-01")).await;
    assert_eq!((rejected.status, rejected.texts("#errors li").len()), (422, 1));

    let before = harbor.server.dump_database().await;
    assert_eq!(master.get(&edit).await.status, 403);
    assert_eq!(master.submit(&form).await.status, 403);
    let remove = owner.get(&edit).await.form("form[action$='/delete']");
    assert_eq!(master.submit(&remove).await.status, 403);
    assert_eq!(harbor.server.dump_database().await, before);
    assert_eq!(owner.submit(&remove).await.location(), Some(PAGE));
    assert_eq!(harbor.membership("stranger").await, Value::Null);
    assert_eq!(owner.submit(&remove).await.status, 404);
}

/// A group without an owner could not be managed any more.
#[tokio::test]
async fn the_last_owner_of_a_group_is_not_offered_to_leave() {
    let harbor = Harbor::new().await;
    let owner = harbor.browser("owner").await;
    let page = owner.get(PAGE).await;
    assert_eq!(page.attributes("form[action$='/leave']", "action"), [""; 0]);
    assert!(page.texts(".danger-zone p")[0].starts_with("You cannot leave"), "{}", page.text);
    let edit = page.attributes("a[aria-label='Edit the membership of owner']", "href").remove(0);
    let member = edit.trim_end_matches("/edit");
    let page = owner.get(&edit).await;
    assert_eq!((page.status, page.attributes("main form", "action").len()), (200, 0));
    assert!(page.texts("main .flash")[0].contains("only owner"), "{}", page.text);
    let before = harbor.server.dump_database().await;
    for (path, form) in [
        (member.to_owned(), vec![("access_level", "40")]),
        (member.to_owned(), vec![("access_level", "50"), ("expires_at", "2026-02-01")]),
        (format!("{member}/delete"), vec![]),
        (format!("{PAGE}/leave"), vec![("username", "owner")]),
    ] {
        let refused = owner.post(&path, &form).await;
        assert!(refused.status == 403 && refused.text.contains("at least one owner"), "{path}: {}", refused.text);
    }
    assert_eq!(harbor.server.dump_database().await, before);
    // With another owner, the first one may leave.
    let add = owner.get(PAGE).await.form("form[aria-labelledby='add-member']");
    owner.submit(&add.set("username", "stranger").set("access_level", "50")).await;
    let leave = owner.get(PAGE).await.form("form[action$='/leave']");
    assert_eq!(owner.submit(&leave).await.location(), Some("/"));
    assert_eq!(harbor.membership("owner").await, Value::Null);
}

#[tokio::test]
async fn members_of_a_group_leave() {
    let harbor = Harbor::new().await;
    let (master, stranger) = (harbor.browser("master").await, harbor.browser("stranger").await);
    let leave = master.get(PAGE).await.form("form[action$='/leave']");
    // Another user has signed in since the page was shown, or the user is not a member.
    assert_eq!(master.submit(&leave.clone().set("username", "owner")).await.location(), Some(PAGE));
    assert_eq!(stranger.submit(&leave.clone().set("username", "stranger")).await.location(), Some(PAGE));
    assert_ne!(harbor.membership("master").await, Value::Null);
    assert_eq!(master.submit(&leave).await.location(), Some("/"));
    assert_eq!(harbor.membership("master").await, Value::Null);
}

#[tokio::test]
async fn access_to_a_group_is_requested_and_decided() {
    let harbor = Harbor::new().await;
    let (stranger, owner) = (harbor.browser("stranger").await, harbor.browser("owner").await);
    let master = harbor.browser("master").await;
    let buttons = async |browser: &Browser| {
        browser.get("/groups/harbor").await.attributes("main form[action*='request']", "action")
    };
    assert_eq!(buttons(&stranger).await, [""; 0]);
    assert_eq!(stranger.post("/groups/harbor/request_access", &[]).await.location(), Some("/groups/harbor"));
    assert_eq!(stranger.get(PAGE).await.texts("[role=status]").len(), 1);
    let path = format!("/groups/{}", harbor.group);
    assert_eq!(harbor.owner.put(&path, &[("request_access_enabled", "true")]).await.status, 200);
    for browser in [&owner, &master, &harbor.server.browser()] {
        assert_eq!(buttons(browser).await, [""; 0]);
    }
    let request = stranger.get("/groups/harbor").await.form("form[action$='/request_access']");
    assert_eq!(stranger.submit(&request).await.location(), Some("/groups/harbor"));
    let withdraw = stranger.get("/groups/harbor").await.form("form[action$='/withdraw_request']");
    assert_eq!(owner.get(PAGE).await.texts("section[aria-labelledby=requests] tbody tr").len(), 1);
    assert_eq!(stranger.submit(&withdraw).await.location(), Some("/groups/harbor"));
    assert_eq!(owner.get(PAGE).await.texts("section[aria-labelledby=requests]").len(), 0);

    stranger.submit(&request).await;
    let page = owner.get(PAGE).await;
    let (approve, decline) = (page.form("form[action$='/approve']"), page.form("form[action$='/decline']"));
    for form in [&approve, &decline] {
        assert_eq!(master.submit(form).await.status, 403);
    }
    assert_eq!(owner.submit(&decline).await.location(), Some(PAGE));
    assert_eq!(owner.get(PAGE).await.texts("[role=status]"), ["The request was declined."]);
    stranger.submit(&request).await;
    assert_eq!(owner.submit(&approve.clone().set("access_level", "40")).await.location(), Some(PAGE));
    assert_eq!(harbor.membership("stranger").await["access_level"], 40);
    // It was decided already.
    assert_eq!(owner.submit(&decline).await.location(), Some(PAGE));
    assert_eq!(harbor.membership("stranger").await["access_level"], 40);
    assert_eq!(buttons(&stranger).await, [""; 0]);
}
