//! The members of a project, requests for access, and shares with groups.

use holdfast_tests::{Browser, Client, Server};
use serde_json::Value;

use crate::projects::add_member;

const PAGE: &str = "/harbor/tide/settings/members";

/// A server with the public project `tide` of the group `harbor`, in which `master` is a master. `bob` is a direct member
/// of the project. It is shared with the private group `crew`, in which `sailor` is a master.
struct Harbor {
    server: Server,
    owner: Client,
    project: i64,
    crew: i64,
}

impl Harbor {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, owner) = server.user("owner").await;
        let group = server.group(&owner, "harbor", 20).await;
        let crew = server.group(&owner, "crew", 0).await;
        let project = server.project_in(&owner, "tide", 20, Some(group)).await;
        for (name, scope, level) in [
            ("master", format!("/groups/{group}"), 40),
            ("bob", format!("/projects/{project}"), 30),
            ("sailor", format!("/groups/{crew}"), 40),
        ] {
            let (id, _) = server.user(name).await;
            add_member(&owner, &scope, id.get(), level).await;
        }
        server.user("stranger").await;
        let form = [("group_id", &*crew.to_string()), ("group_access", "30"), ("expires_at", "2026-06-01")];
        let shared = owner.post(&format!("/projects/{project}/share"), &form).await;
        assert_eq!(shared.status, 201, "{}", shared.text);
        Self { server, owner, project, crew }
    }

    async fn browser(&self, name: &str) -> Browser {
        self.server.sign_in(name).await
    }

    /// Returns the direct membership of a user, or null.
    async fn membership(&self, name: &str) -> Value {
        let members = self.owner.get(&format!("/projects/{}/members", self.project)).await.body;
        let members = members.as_array().cloned().unwrap_or_default();
        members.into_iter().find(|member| member["username"] == name).unwrap_or_default()
    }

    async fn accept_requests(&self, is_enabled: &str) {
        let path = format!("/projects/{}", self.project);
        assert_eq!(self.owner.put(&path, &[("request_access_enabled", is_enabled)]).await.status, 200);
    }
}

#[tokio::test]
async fn members_of_a_project_are_listed_with_their_source() {
    let harbor = Harbor::new().await;
    let page = harbor.browser("bob").await.get(PAGE).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let direct = page.texts("section[aria-label='Members'] tbody tr");
    assert!(direct.len() == 1 && direct[0].contains("@bob") && direct[0].contains("Developer"), "{direct:?}");
    let inherited = page.texts("section[aria-label='Members through groups'] tbody tr");
    let row = |name: &str, source: &str| {
        let rows = inherited.iter().filter(|row| row.contains(&format!("@{name}")) && row.contains(source));
        rows.map(String::as_str).collect::<Vec<_>>()
    };
    assert!(row("owner", "through the group harbor")[0].contains("Owner"), "{inherited:?}");
    assert!(row("master", "through the group harbor")[0].contains("Master"), "{inherited:?}");
    // The share limits the level and the time.
    let sailor = row("sailor", "shared with the group crew");
    assert!(sailor[0].contains("Developer") && sailor[0].contains("1 Jun 2026"), "{inherited:?}");
    assert!(row("owner", "shared with the group crew")[0].contains("Developer"), "{inherited:?}");
    assert_eq!(inherited.len(), 4, "{inherited:?}");
    let shares = page.texts("section[aria-label='Shared with groups'] tbody tr");
    assert!(shares.len() == 1 && shares[0].contains("crew"), "{shares:?}");
    // A developer changes nothing, and may leave.
    assert_eq!(page.attributes("main form", "action"), [format!("{PAGE}/leave")]);
}

/// The members of a private group are hidden from those who may not see the group.
#[tokio::test]
async fn members_of_hidden_groups_are_not_listed() {
    let harbor = Harbor::new().await;
    let stranger = harbor.browser("stranger").await;
    let page = stranger.get(PAGE).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("@master") && page.text.contains("@bob"), "{}", page.text);
    assert!(!page.text.contains("crew") && !page.text.contains("sailor"), "{}", page.text);
    assert_eq!(page.attributes("main form", "action"), [""; 0]);
    // The home page leads to the list, also without the settings.
    assert!(stranger.get("/harbor/tide").await.attributes("main a", "href").contains(&PAGE.to_owned()));
    let anonymous = harbor.server.browser();
    assert!(!anonymous.get("/harbor/tide").await.attributes("main a", "href").contains(&PAGE.to_owned()));
    assert!(anonymous.get(PAGE).await.location().unwrap_or_default().starts_with("/sign_in?"));
}

#[tokio::test]
async fn the_owner_of_a_personal_project_is_listed() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.project(&ada, "tide", 0).await;
    let page = server.sign_in("ada").await.get("/ada/tide/settings/members").await;
    let inherited = page.texts("section[aria-label='Members through groups'] tbody tr");
    assert!(inherited.len() == 1 && inherited[0].contains("owner of the namespace ada"), "{inherited:?}");
    // The own membership cannot be given up, because the owner keeps access.
    assert_eq!(page.attributes("main form[action$='/leave']", "action"), [""; 0]);
}

#[tokio::test]
async fn direct_members_are_added_changed_and_removed() {
    let harbor = Harbor::new().await;
    let master = harbor.browser("master").await;
    let form = master.get(PAGE).await.form("form[aria-labelledby='add-member']");
    let before = harbor.server.dump_database().await;
    for (username, expires_at, message) in [
        ("", "", "Username can't be blank"),
        ("nobody", "", "Username is not the name of a user"),
        ("bob", "", "Username is a member already"),
        ("stranger", "soon", "Expires on is not a date such as 2027-01-31"),
        ("stranger", "2025-01-01", "Expires on must be a day to come"),
    ] {
        let rejected = master.submit(&form.clone().set("username", username).set("expires_at", expires_at)).await;
        assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
        let form = rejected.form("form[aria-labelledby='add-member']");
        assert_eq!((form.value("username"), form.value("expires_at")), (username, expires_at));
    }
    // A membership cannot make an owner of a project.
    let owner = master.post(PAGE, &[("username", "stranger"), ("access_level", "50")]).await;
    assert_eq!(owner.status, 422, "{}", owner.text);
    assert_eq!(harbor.server.dump_database().await, before);
    let valid = form.set("username", "@stranger").set("access_level", "20").set("expires_at", "2026-02-01");
    let added = master.submit(&valid).await;
    assert_eq!((added.status, added.location()), (303, Some(PAGE)), "{}", added.text);
    let member = harbor.membership("stranger").await;
    assert_eq!((&member["access_level"], &member["expires_at"]), (&20.into(), &"2026-02-01".into()));
    let page = master.get(PAGE).await;
    assert_eq!(page.texts("[role=status]"), ["The member was added."]);

    let edit = page.attributes("a[aria-label='Edit the membership of stranger']", "href").remove(0);
    let form = master.get(&edit).await.form("main form");
    assert_eq!((form.value("access_level"), form.value("expires_at")), ("20", "2026-02-01"));
    let rejected = master.submit(&form.clone().set("access_level", "40").set("expires_at", "2025-01-01")).await;
    assert_eq!(rejected.texts("#errors li"), ["Expires on must be a day to come"]);
    assert_eq!(rejected.form("main form").value("access_level"), "40");
    let saved = master.submit(&form.clone().set("access_level", "30").set("expires_at", "")).await;
    assert_eq!((saved.status, saved.location()), (303, Some(PAGE)), "{}", saved.text);
    let member = harbor.membership("stranger").await;
    assert_eq!((&member["access_level"], &member["expires_at"]), (&30.into(), &Value::Null));

    // Who may not manage members is refused, whatever the form contains.
    let bob = harbor.browser("bob").await;
    let before = harbor.server.dump_database().await;
    assert_eq!(bob.get(&edit).await.status, 403);
    assert_eq!(bob.submit(&form.clone().set("expires_at", "soon")).await.status, 403);
    assert_eq!(bob.post(&format!("{}/delete", form.action), &[]).await.status, 403);
    assert_eq!(bob.post(PAGE, &[("username", "sailor"), ("expires_at", "soon")]).await.status, 403);
    assert_eq!(harbor.server.dump_database().await, before);
    // A member of another project is not found.
    let (_, eve) = harbor.server.user("eve").await;
    harbor.server.project(&eve, "own", 20).await;
    let eve = harbor.browser("eve").await;
    let foreign = edit.replace("/harbor/tide/", "/eve/own/");
    let before = harbor.server.dump_database().await;
    assert_eq!(eve.get(&foreign).await.status, 404);
    assert_eq!(eve.post(foreign.trim_end_matches("/edit"), &[("access_level", "10")]).await.status, 404);
    assert_eq!(eve.post(&foreign.replace("/edit", "/delete"), &[]).await.status, 404);
    assert_eq!(harbor.server.dump_database().await, before);

    let remove = master.get(&edit).await.form("form[action$='/delete']");
    let removed = master.submit(&remove).await;
    assert_eq!((removed.status, removed.location()), (303, Some(PAGE)));
    assert_eq!(harbor.membership("stranger").await, Value::Null);
    assert_eq!(master.submit(&remove).await.status, 404);
    assert_eq!(master.get(&edit).await.status, 404);
}

/// The user of an access token is a member as long as the token exists.
#[tokio::test]
async fn the_member_of_an_access_token_is_not_removed() {
    let harbor = Harbor::new().await;
    let form = [("name", "deploy"), ("scopes[]", "api"), ("access_level", "20")];
    let path = format!("/api/v4/projects/{}/access_tokens", harbor.project);
    let created = harbor.owner.post(&path, &form).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let master = harbor.browser("master").await;
    let edit = format!("{PAGE}/{}", created.body["user_id"]);
    let page = master.get(&format!("{edit}/edit")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.attributes("main form", "action"), std::slice::from_ref(&edit));
    assert_eq!(page.attributes("main input[name=expires_at]", "name"), [""; 0]);
    assert_eq!(master.submit(&page.form("main form").set("access_level", "30")).await.status, 303);
    assert_eq!(master.post(&format!("{edit}/delete"), &[]).await.status, 403);
}

#[tokio::test]
async fn access_to_a_project_is_requested_and_approved() {
    let harbor = Harbor::new().await;
    let (stranger, master) = (harbor.browser("stranger").await, harbor.browser("master").await);
    let buttons = async |browser: &Browser| {
        browser.get("/harbor/tide").await.attributes("main form[action*='request']", "action")
    };
    let (request, withdraw) = ("/harbor/tide/request_access", "/harbor/tide/withdraw_request");
    // Requests are not accepted at first.
    assert_eq!(buttons(&stranger).await, [""; 0]);
    let refused = stranger.post(request, &[]).await;
    assert_eq!((refused.status, refused.location()), (303, Some("/harbor/tide")));
    let text = "Nothing was changed. You are a member already, or access cannot be requested here.";
    assert_eq!(stranger.get("/harbor/tide").await.texts("[role=status]"), [text]);
    harbor.accept_requests("true").await;
    assert_eq!(buttons(&stranger).await, [request]);
    for browser in [&master, &harbor.browser("bob").await, &harbor.server.browser()] {
        assert_eq!(buttons(browser).await, [""; 0]);
    }
    let form = stranger.get("/harbor/tide").await.form("form[action$='/request_access']");
    assert_eq!(stranger.submit(&form).await.location(), Some("/harbor/tide"));
    assert_eq!(buttons(&stranger).await, [withdraw]);
    // A second request changes nothing.
    let before = harbor.server.dump_database().await;
    assert_eq!(stranger.submit(&form).await.status, 303);
    assert_eq!(harbor.server.dump_database().await, before);

    let page = master.get(PAGE).await;
    let rows = page.texts("section[aria-labelledby=requests] tbody tr");
    assert!(rows.len() == 1 && rows[0].contains("@stranger"), "{rows:?}");
    let approve = page.form("form[action$='/approve']");
    // Others neither see the request nor decide about it.
    let bob = harbor.browser("bob").await;
    assert_eq!(bob.get(PAGE).await.texts("section[aria-labelledby=requests]"), [""; 0]);
    for browser in [&bob, &stranger] {
        assert_eq!(browser.submit(&approve).await.status, 403);
    }
    assert_eq!(bob.post(&approve.action.replace("/approve", "/decline"), &[]).await.status, 403);
    assert_eq!(approve.value("access_level"), "30");
    assert_eq!(master.submit(&approve.clone().set("access_level", "20")).await.location(), Some(PAGE));
    assert_eq!(harbor.membership("stranger").await["access_level"], 20);
    assert_eq!(buttons(&stranger).await, [""; 0]);
    // Somebody else has decided already.
    assert_eq!(master.submit(&approve).await.location(), Some(PAGE));
    let text = "Nothing was changed. The request was decided or withdrawn already.";
    assert_eq!(master.get(PAGE).await.texts("[role=status]"), [text]);
    assert_eq!(harbor.membership("stranger").await["access_level"], 20);
}

#[tokio::test]
async fn requests_for_a_project_are_withdrawn_and_declined() {
    let harbor = Harbor::new().await;
    harbor.accept_requests("true").await;
    let (stranger, master) = (harbor.browser("stranger").await, harbor.browser("master").await);
    let count = async || {
        let requests = harbor.owner.get(&format!("/projects/{}/access_requests", harbor.project)).await;
        requests.body.as_array().map(Vec::len)
    };
    let request = stranger.get("/harbor/tide").await.form("form[action$='/request_access']");
    stranger.submit(&request).await;
    assert_eq!(count().await, Some(1));
    // A request can be withdrawn when the project does not accept others any more.
    harbor.accept_requests("false").await;
    let withdraw = stranger.get("/harbor/tide").await.form("form[action$='/withdraw_request']");
    assert_eq!(stranger.submit(&withdraw).await.location(), Some("/harbor/tide"));
    assert_eq!(stranger.get("/harbor/tide").await.texts("[role=status]"), ["Your request for access was withdrawn."]);
    assert_eq!(count().await, Some(0));
    harbor.accept_requests("true").await;
    stranger.submit(&request).await;
    let decline = master.get(PAGE).await.form("form[action$='/decline']");
    assert_eq!(master.submit(&decline).await.location(), Some(PAGE));
    assert_eq!((count().await, harbor.membership("stranger").await), (Some(0), Value::Null));
}

#[tokio::test]
async fn a_project_is_shared_with_a_group() {
    let harbor = Harbor::new().await;
    let (_, eve) = harbor.server.user("eve").await;
    harbor.server.group(&eve, "secret", 0).await;
    harbor.server.group(&eve, "open", 20).await;
    let master = harbor.browser("master").await;
    let form = master.get(PAGE).await.form("form[aria-labelledby='share-group']");
    let before = harbor.server.dump_database().await;
    for (group, expires_at, message) in [
        ("", "", "Group can't be blank"),
        ("nothing", "", "Group does not exist, or you may not see it"),
        ("secret", "", "Group does not exist, or you may not see it"),
        // The namespace of a user is not a group.
        ("eve", "", "Group does not exist, or you may not see it"),
        ("harbor", "", "Group has access to the project already"),
        ("open", "2025-01-01", "Share expires on must be a day to come"),
        ("open", "soon", "Share expires on is not a date such as 2027-01-31"),
    ] {
        let filled = form.clone().set("share_group", group).set("share_expires_at", expires_at);
        let rejected = master.submit(&filled).await;
        assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]), "{group}");
        assert_eq!(rejected.form("form[aria-labelledby='share-group']").value("share_group"), group);
    }
    // A share cannot make owners of a project.
    let as_owners =
        master.post("/harbor/tide/settings/shares", &[("share_group", "open"), ("share_level", "50")]).await;
    assert_eq!(as_owners.status, 422, "{}", as_owners.text);
    let bob = harbor.browser("bob").await;
    let filled = form.set("share_group", "open").set("share_level", "20").set("share_expires_at", "2026-03-01");
    assert_eq!(bob.submit(&filled).await.status, 403);
    assert_eq!(harbor.server.dump_database().await["project_shares"], before["project_shares"]);
    let shared = master.submit(&filled).await;
    assert_eq!((shared.status, shared.location()), (303, Some(PAGE)), "{}", shared.text);
    let groups = async || {
        let project = harbor.owner.get(&format!("/projects/{}", harbor.project)).await.body;
        let groups = project["shared_with_groups"].as_array().cloned().unwrap_or_default();
        groups
            .iter()
            .map(|group| (group["group_name"].clone(), group["group_access_level"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(groups().await, [("crew".into(), 30.into()), ("open".into(), 20.into())]);
    let again = master.submit(&filled).await;
    assert_eq!(again.texts("#errors li"), ["Group has access to the project already"]);

    let unshare = master.get(PAGE).await.form(&format!("form[action$='/shares/{}/delete']", harbor.crew));
    assert_eq!(bob.submit(&unshare).await.status, 403);
    assert_eq!(master.submit(&unshare).await.location(), Some(PAGE));
    assert_eq!(groups().await, [("open".into(), 20.into())]);
    assert_eq!(master.submit(&unshare).await.location(), Some(PAGE));
    let text = "Nothing was changed. The project is not shared with this group any more.";
    assert_eq!(master.get(PAGE).await.texts("[role=status]"), [text]);
}

#[tokio::test]
async fn direct_members_of_a_project_leave() {
    let harbor = Harbor::new().await;
    let (bob, master) = (harbor.browser("bob").await, harbor.browser("master").await);
    let leave = bob.get(PAGE).await.form("form[action$='/leave']");
    // Another user has signed in since the page was shown, or the form has no name.
    for form in [leave.clone().set("username", "master"), leave.clone().set("username", "")] {
        assert_eq!(bob.submit(&form).await.location(), Some(PAGE));
        assert_ne!(harbor.membership("bob").await, Value::Null);
    }
    // A member of the group is no direct member.
    assert_eq!(master.get(PAGE).await.attributes("form[action$='/leave']", "action"), [""; 0]);
    assert_eq!(master.submit(&leave.clone().set("username", "master")).await.location(), Some(PAGE));
    let text = "Nothing was changed. You are not a direct member, or the page was shown to another user.";
    assert_eq!(master.get(PAGE).await.texts("[role=status]"), [text]);
    assert_eq!(bob.submit(&leave).await.location(), Some("/"));
    assert_eq!(bob.get("/").await.texts("[role=status]"), ["You have left. You are no longer a direct member."]);
    assert_eq!(harbor.membership("bob").await, Value::Null);
}
