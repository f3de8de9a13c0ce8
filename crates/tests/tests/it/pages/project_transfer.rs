//! The transfer of a project to another namespace by its owner, and its deletion.

use chrono::TimeDelta;
use holdfast_tests::{Browser, Client, Receiver, Server};
use serde_json::json;

use crate::projects::add_member;

const TRANSFER: &str = "/owner/tide/settings/transfer";
const DELETE: &str = "/owner/tide/settings/delete_project";

/// A server with the public project `owner/tide`, in which `bob` is a master, and the internal group `harbor`, in which
/// `owner` and `bob` are masters. The group belongs to `admiral`.
struct Harbor {
    server: Server,
    owner: Client,
    project: i64,
    harbor: i64,
}

impl Harbor {
    async fn new() -> Self {
        let server = Server::start().await;
        let (owner_id, owner) = server.user("owner").await;
        let (_, admiral) = server.user("admiral").await;
        let (bob, _) = server.user("bob").await;
        let harbor = server.group(&admiral, "harbor", 10).await;
        for id in [owner_id, bob] {
            add_member(&admiral, &format!("/groups/{harbor}"), id.get(), 40).await;
        }
        let project = server.project(&owner, "tide", 20).await;
        add_member(&owner, &format!("/projects/{project}"), bob.get(), 40).await;
        Self { server, owner, project, harbor }
    }

    async fn browser(&self, name: &str) -> Browser {
        self.server.sign_in(name).await
    }

    async fn path(&self) -> String {
        let project = self.server.admin.get(&format!("/projects/{}", self.project)).await.body;
        project["path_with_namespace"].as_str().unwrap_or_default().to_owned()
    }
}

/// Sends the form that moves a project.
async fn transfer(browser: &Browser, path: &str, namespace: i64) -> holdfast_tests::PageResponse {
    let form = [("namespace_id", &*namespace.to_string()), ("confirm_path", path)];
    browser.post(&format!("/{path}/settings/transfer"), &form).await
}

#[tokio::test]
async fn an_owner_moves_a_project_to_a_group_and_back() {
    let harbor = Harbor::new().await;
    let receiver = Receiver::start().await;
    let form = [("url", &*receiver.url("/hook"))];
    assert_eq!(harbor.server.admin.post("/hooks", &form).await.status, 201);
    let (_, fan) = harbor.server.user("fan").await;
    assert_eq!(fan.post(&format!("/projects/fork/{}", harbor.project), &[("namespace", "fan")]).await.status, 201);
    let browser = harbor.browser("owner").await;
    let settings = browser.get("/owner/tide/settings/general").await;
    assert!(settings.attributes(".danger-zone a", "href").contains(&TRANSFER.to_owned()), "{}", settings.text);
    let page = browser.get(TRANSFER).await;
    // Only namespaces in which the user may create projects are offered, without the present one.
    assert_eq!(page.texts("#namespace_id option"), ["harbor"]);
    let form = page.form(&format!("form[action='{TRANSFER}']"));
    let before = harbor.server.dump_database().await;
    for typed in ["", "tide", "owner/Tide"] {
        let rejected = browser.submit(&form.clone().set("confirm_path", typed)).await;
        let message = "Path of the project is not the path of this project";
        assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
    }
    assert_eq!(harbor.server.dump_database().await, before);
    let moved = browser.submit(&form.set("confirm_path", "owner/tide")).await;
    assert_eq!((moved.status, moved.location()), (303, Some("/harbor/tide")), "{}", moved.text);
    let text = "The project was transferred. Its old address leads to the new one.";
    assert_eq!(browser.get("/harbor/tide").await.texts("[role=status]"), [text]);
    let found = harbor.owner.get(&format!("/projects/{}", harbor.project)).await.body;
    // It is not more visible than the group, and neither are its forks.
    assert_eq!((&found["path_with_namespace"], &found["visibility_level"]), (&json!("harbor/tide"), &json!(10)));
    assert_eq!(fan.get("/projects/fan%2Ftide").await.body["visibility_level"], 10);
    let old = browser.get("/owner/tide/settings/general").await;
    assert_eq!((old.status, old.location()), (308, Some("/harbor/tide/settings/general")));
    harbor.server.deliver_hooks().await;
    let received = receiver.take_received();
    let event = received.iter().find(|request| request.body["event_name"] == "project_transfer");
    let event = event.unwrap_or_else(|| panic!("{received:?}"));
    assert_eq!(event.body["old_path_with_namespace"], "owner/tide");
    assert_eq!(event.body["path_with_namespace"], "harbor/tide");

    // The former owner is a master of the group now, and cannot move the project away.
    assert_eq!(browser.get("/harbor/tide/settings/transfer").await.status, 403);
    let admiral = harbor.browser("admiral").await;
    let own = harbor.server.admin.get("/namespaces?search=admiral").await.body[0]["id"].as_i64().unwrap();
    let moved = transfer(&admiral, "harbor/tide", own).await;
    assert_eq!(moved.location(), Some("/admiral/tide"), "{}", moved.text);
    // The owner of the new namespace is a member, as of a project that was created there, and the direct members stay.
    let members = admiral.get("/admiral/tide/settings/members").await;
    let rows = members.texts("section[aria-label='Members'] tbody tr");
    for name in ["@admiral", "@owner", "@bob"] {
        assert!(rows.iter().any(|row| row.contains(name) && row.contains("Master")), "{name}: {rows:?}");
    }
}

/// A project is moved only by its owners, and only to where they may create projects.
#[tokio::test]
async fn a_transfer_needs_the_rights_on_both_sides() {
    let harbor = Harbor::new().await;
    let (_, admiral) = harbor.server.user("captain").await;
    let foreign = harbor.server.group(&admiral, "open", 20).await;
    let hidden = harbor.server.group(&admiral, "hidden", 0).await;
    let (owner, bob) = (harbor.browser("owner").await, harbor.browser("bob").await);
    let namespace = |name: &'static str| {
        let server = &harbor.server;
        async move { server.admin.get(&format!("/namespaces?search={name}")).await.body[0]["id"].as_i64().unwrap() }
    };
    let (of_bob, of_owner) = (namespace("bob").await, namespace("owner").await);
    let before = harbor.server.dump_database().await;
    // A master of the project is not its owner.
    assert_eq!(bob.get(TRANSFER).await.status, 403);
    for target in [of_bob, harbor.harbor, foreign] {
        assert_eq!(transfer(&bob, "owner/tide", target).await.status, 403);
    }
    // Groups and users of others, whether they are visible or not, and what does not exist.
    for target in [foreign, hidden, of_bob, 1_000_000] {
        let rejected = transfer(&owner, "owner/tide", target).await;
        let message = "Namespace is not one in which you may create projects";
        assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]), "{target}");
    }
    let rejected = transfer(&owner, "owner/tide", of_owner).await;
    assert_eq!(rejected.texts("#errors li"), ["Namespace is the one that the project is in"]);
    let rejected = owner.post(TRANSFER, &[("confirm_path", "owner/tide")]).await;
    assert_eq!(rejected.texts("#errors li"), ["Namespace must be chosen"]);
    assert_eq!(harbor.server.dump_database().await, before);
    // A developer of the group may not create projects in it.
    let member = format!("/groups/{}/members", harbor.harbor);
    let id = harbor.owner.get("/user").await.body["id"].clone();
    let lowered = harbor.server.admin.put(&format!("{member}/{id}"), &[("access_level", "30")]).await;
    assert_eq!(lowered.status, 200, "{}", lowered.text);
    assert_eq!(transfer(&owner, "owner/tide", harbor.harbor).await.status, 422);
    assert_eq!(harbor.path().await, "owner/tide");
    assert_eq!(owner.get(TRANSFER).await.texts(".empty h2"), ["No namespace"]);
    // Administrators move it to any namespace.
    let root = harbor.browser("root").await;
    assert_eq!(transfer(&root, "owner/tide", of_bob).await.location(), Some("/bob/tide"));
    let found = harbor.server.admin.get(&format!("/projects/{}", harbor.project)).await.body;
    assert_eq!(found["owner"]["username"], "bob");
}

#[tokio::test]
async fn a_transfer_is_rejected_if_the_name_is_taken_or_the_limit_is_reached() {
    let harbor = Harbor::new().await;
    let owner = harbor.browser("owner").await;
    let namesake = harbor.server.project_in(&harbor.owner, "tide", 10, Some(harbor.harbor)).await;
    let rejected = transfer(&owner, "owner/tide", harbor.harbor).await;
    let message = "Namespace has a project with this path or name already";
    assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
    assert_eq!(rejected.form(&format!("form[action='{TRANSFER}']")).value("confirm_path"), "owner/tide");
    assert_eq!(harbor.path().await, "owner/tide");
    // The limit of the owner of the namespace applies, whoever moves the project.
    let bob = harbor.server.admin.get("/users?username=bob").await.body[0]["id"].clone();
    let limited = harbor.server.admin.put(&format!("/users/{bob}"), &[("projects_limit", "0")]).await;
    assert_eq!(limited.status, 200, "{}", limited.text);
    let of_bob = harbor.server.admin.get("/namespaces?search=bob").await.body[0]["id"].as_i64().unwrap();
    let root = harbor.browser("root").await;
    let rejected = transfer(&root, "harbor/tide", of_bob).await;
    let message = "Namespace has as many projects as its owner may have, which is 0";
    assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
    let unchanged = harbor.owner.get(&format!("/projects/{namesake}")).await.body;
    assert_eq!(unchanged["path_with_namespace"], "harbor/tide");
}

/// Transfers in opposite directions lock the same namespaces. They must not wait for each other.
#[tokio::test]
async fn concurrent_transfers_in_opposite_directions_succeed() {
    let harbor = Harbor::new().await;
    let crew = harbor.server.group(&harbor.owner, "crew", 20).await;
    let fleet = harbor.server.group(&harbor.owner, "fleet", 20).await;
    let owner = harbor.browser("owner").await;
    for round in 0..10 {
        let (one, other) = (format!("one-{round}"), format!("other-{round}"));
        harbor.server.project_in(&harbor.owner, &one, 20, Some(crew)).await;
        harbor.server.project_in(&harbor.owner, &other, 20, Some(fleet)).await;
        let (from_crew, from_fleet) = (format!("crew/{one}"), format!("fleet/{other}"));
        let (one_moved, other_moved) =
            tokio::join!(transfer(&owner, &from_crew, fleet), transfer(&owner, &from_fleet, crew));
        assert_eq!(one_moved.location(), Some(&*format!("/fleet/{one}")), "{}", one_moved.text);
        assert_eq!(other_moved.location(), Some(&*format!("/crew/{other}")), "{}", other_moved.text);
    }
}

/// Of two concurrent transfers of one project, one succeeds, and the project is where that one has moved it.
#[tokio::test]
async fn one_of_two_concurrent_transfers_of_a_project_succeeds() {
    let harbor = Harbor::new().await;
    let crew = harbor.server.group(&harbor.owner, "crew", 20).await;
    let owner = harbor.browser("owner").await;
    let (one, other) =
        tokio::join!(transfer(&owner, "owner/tide", harbor.harbor), transfer(&owner, "owner/tide", crew));
    let moved: Vec<_> = [one, other].iter().filter_map(|response| response.location().map(str::to_owned)).collect();
    assert_eq!(moved, [format!("/{}", harbor.path().await)]);
}

#[tokio::test]
async fn a_project_is_deleted_after_its_path_was_typed() {
    let harbor = Harbor::new().await;
    let browser = harbor.browser("owner").await;
    let settings = browser.get("/owner/tide/settings/general").await;
    assert!(settings.attributes(".danger-zone a", "href").contains(&DELETE.to_owned()));
    let page = browser.get(DELETE).await;
    assert_eq!(page.attributes("input[name=confirm_path]", "placeholder"), ["owner/tide"]);
    let form = page.form(&format!("form[action='{DELETE}']"));
    let before = harbor.server.dump_database().await;
    let rejected = browser.submit(&form.clone().set("confirm_path", "tide")).await;
    let message = "Path of the project is not the path of this project";
    assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
    assert_eq!(rejected.form(&format!("form[action='{DELETE}']")).value("confirm_path"), "tide");
    assert_eq!(harbor.server.dump_database().await, before);
    // A master sees neither the links nor the pages.
    let bob = harbor.browser("bob").await;
    assert_eq!(bob.get("/owner/tide/settings/general").await.attributes(".danger-zone a", "href"), [""; 0]);
    assert_eq!((bob.get(DELETE).await.status, bob.submit(&form).await.status), (403, 403));
    let filled = form.set("confirm_path", "owner/tide");
    assert_eq!(bob.submit(&filled).await.status, 403);
    assert_eq!(harbor.path().await, "owner/tide");
    let deleted = browser.submit(&filled).await;
    assert_eq!((deleted.status, deleted.location()), (303, Some("/owner")), "{}", deleted.text);
    assert_eq!(browser.get("/owner").await.texts("[role=status]"), ["The project was deleted."]);
    assert_eq!(harbor.owner.get(&format!("/projects/{}", harbor.project)).await.status, 404);
    assert_eq!(browser.submit(&filled).await.status, 404);
}

/// A stolen cookie must not be enough to delete a project or to move it away.
#[tokio::test]
async fn a_project_is_moved_and_deleted_only_after_a_recent_confirmation() {
    let harbor = Harbor::new().await;
    let browser = harbor.browser("owner").await;
    harbor.server.advance(TimeDelta::hours(1));
    let target = harbor.harbor.to_string();
    for path in [TRANSFER, DELETE] {
        let confirm = format!("/sign_in/confirm?to={}", path.replace('/', "%2F"));
        let page = browser.get(path).await;
        assert_eq!((page.status, page.location()), (303, Some(confirm.as_str())));
        let form = [("confirm_path", "owner/tide"), ("namespace_id", target.as_str())];
        let sent = browser.post(path, &form).await;
        assert!(sent.location().unwrap_or_default().starts_with("/sign_in/confirm"), "{path}: {}", sent.status);
    }
    assert_eq!(harbor.path().await, "owner/tide");
}

/// A former address leads to the project of today, which an old form must neither move nor delete.
#[tokio::test]
async fn a_project_is_not_moved_or_deleted_by_a_former_path() {
    let harbor = Harbor::new().await;
    let path = format!("/projects/{}", harbor.project);
    assert_eq!(harbor.owner.put(&path, &[("name", "tide"), ("path", "ebb")]).await.status, 200);
    let browser = harbor.browser("owner").await;
    let target = harbor.harbor.to_string();
    for path in [TRANSFER, DELETE] {
        let form = [("confirm_path", "owner/ebb"), ("namespace_id", target.as_str())];
        assert_eq!(browser.post(path, &form).await.status, 404, "{path}");
    }
    assert_eq!(harbor.path().await, "owner/ebb");
}
