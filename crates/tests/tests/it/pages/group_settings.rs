//! The settings of a group, and its deletion.

use chrono::TimeDelta;
use holdfast_tests::{Client, PASSWORD, Server};

use crate::projects::add_member;

const PAGE: &str = "/groups/harbor/settings";
const DELETE: &str = "/groups/harbor/settings/delete_group";

/// A server with the public group `harbor` of `owner`, its master `master`, and its public project `tide`.
async fn harbor() -> (Server, Client, i64) {
    let server = Server::start().await;
    let (_, owner) = server.user("owner").await;
    let group = server.group(&owner, "harbor", 20).await;
    let (master, _) = server.user("master").await;
    add_member(&owner, &format!("/groups/{group}"), master.get(), 40).await;
    server.project_in(&owner, "tide", 20, Some(group)).await;
    (server, owner, group)
}

#[tokio::test]
async fn the_owner_changes_the_settings_of_a_group() {
    let (server, owner, group) = harbor().await;
    let browser = server.sign_in("owner").await;
    assert!(browser.get("/groups/harbor").await.attributes(".tabs a", "href").contains(&PAGE.to_owned()));
    let page = browser.get(PAGE).await;
    let form = page.form(&format!("form[action='{PAGE}']"));
    assert_eq!((form.value("name"), form.value("path")), ("harbor", "harbor"));
    assert_eq!(page.attributes("input[name=visibility_level][checked]", "value"), ["20"]);
    for (name, value, message) in
        [("name", "", "Name can't be blank"), ("path", "owner", "Path has already been taken")]
    {
        let rejected = browser.submit(&form.clone().set(name, value)).await;
        assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
        assert_eq!(rejected.form(&format!("form[action='{PAGE}']")).value(name), value);
    }
    let changed = form.set("name", "Port").set("path", "port").set("description", "Ships\r\nand boats");
    let response = browser.submit(&changed.check("request_access_enabled")).await;
    let address = "/groups/port/settings";
    assert_eq!((response.status, response.location()), (303, Some(address)), "{}", response.text);
    assert_eq!(browser.get(address).await.texts("[role=status]"), ["The settings were saved."]);
    let found = owner.get(&format!("/groups/{group}")).await.body;
    assert_eq!(
        (&found["name"], &found["path"], &found["request_access_enabled"]),
        (&"Port".into(), &"port".into(), &true.into())
    );
    // The old address leads to the new one.
    let moved = browser.get(PAGE).await;
    assert_eq!((moved.status, moved.location()), (308, Some(address)));
}

/// The page says which visibilities the projects of the group do not allow.
#[tokio::test]
async fn a_group_is_not_less_visible_than_its_projects() {
    let (server, owner, group) = harbor().await;
    server.project_in(&owner, "wind", 10, Some(group)).await;
    let browser = server.sign_in("owner").await;
    let page = browser.get(PAGE).await;
    let limits: Vec<_> = page.texts("main p").into_iter().filter(|text| text.contains("is possible when")).collect();
    assert_eq!(
        limits,
        [
            "Private is possible when 2 projects have become less visible.",
            "Internal is possible when 1 project has become less visible."
        ]
    );
    let form = [("name", "harbor"), ("path", "harbor"), ("visibility_level", "10")];
    let rejected = browser.post(PAGE, &form).await;
    assert_eq!((rejected.status, rejected.texts("#errors a")), (422, vec!["Visibility".to_owned()]));
    assert_eq!(rejected.attributes("input[name=visibility_level][checked]", "value"), ["10"]);
    let path = format!("/groups/{group}");
    assert_eq!(owner.get(&path).await.body["visibility_level"], 20);
    let project = [("name", "tide"), ("visibility_level", "0")];
    assert_eq!(owner.put("/projects/harbor%2Ftide", &project).await.status, 200);
    assert_eq!(browser.post(PAGE, &form).await.status, 303);
    assert_eq!(owner.get(&path).await.body["visibility_level"], 10);
}

#[tokio::test]
async fn only_owners_change_and_delete_a_group() {
    let (server, ..) = harbor().await;
    server.user("stranger").await;
    for name in ["master", "stranger"] {
        let browser = server.sign_in(name).await;
        assert!(!browser.get("/groups/harbor").await.attributes("a", "href").contains(&PAGE.to_owned()));
        let before = server.dump_database().await;
        assert_eq!(browser.get(PAGE).await.status, 403);
        assert_eq!(browser.get(DELETE).await.status, 403);
        assert_eq!(browser.post(PAGE, &[("name", "Mine"), ("path", "mine")]).await.status, 403);
        assert_eq!(browser.post(DELETE, &[("confirm_path", "harbor")]).await.status, 403);
        assert_eq!(server.dump_database().await, before);
    }
    // A master creates projects in the group.
    let page = server.sign_in("master").await.get("/groups/harbor").await;
    assert_eq!(page.attributes("main .head a", "href").len(), 1, "{}", page.text);
}

#[tokio::test]
async fn a_group_is_deleted_after_its_path_was_typed() {
    let (server, owner, group) = harbor().await;
    let browser = server.sign_in("owner").await;
    assert!(browser.get(PAGE).await.attributes(".danger-zone a", "href").contains(&DELETE.to_owned()));
    let page = browser.get(DELETE).await;
    assert!(page.texts("main p")[0].contains("1 project is deleted with it"), "{}", page.text);
    assert_eq!(page.attributes("input[name=confirm_path]", "placeholder"), ["harbor"]);
    let form = page.form(&format!("form[action='{DELETE}']"));
    let before = server.dump_database().await;
    for typed in ["", "harbo", "HARBOR"] {
        let rejected = browser.submit(&form.clone().set("confirm_path", typed)).await;
        let message = "Path of the group is not the path of this group";
        assert_eq!((rejected.status, rejected.texts("#errors li")), (422, vec![message.to_owned()]));
    }
    assert_eq!(server.dump_database().await, before);
    let deleted = browser.submit(&form.set("confirm_path", "harbor")).await;
    assert_eq!((deleted.status, deleted.location()), (303, Some("/groups")), "{}", deleted.text);
    assert_eq!(browser.get("/groups").await.texts("[role=status]"), ["The group and its projects were deleted."]);
    assert_eq!(owner.get(&format!("/groups/{group}")).await.status, 404);
    assert_eq!(owner.get("/projects/harbor%2Ftide").await.status, 404);
}

/// A stolen cookie must not be enough to delete a group.
#[tokio::test]
async fn a_group_is_deleted_only_after_a_recent_confirmation() {
    let (server, owner, group) = harbor().await;
    let browser = server.sign_in("owner").await;
    server.advance(TimeDelta::hours(1));
    let page = browser.get(DELETE).await;
    let confirm = "/sign_in/confirm?to=%2Fgroups%2Fharbor%2Fsettings%2Fdelete_group";
    assert_eq!((page.status, page.location()), (303, Some(confirm)));
    let sent = browser.post(DELETE, &[("confirm_path", "harbor")]).await;
    assert!(sent.location().unwrap_or_default().starts_with("/sign_in/confirm"), "{}", sent.status);
    assert_eq!(owner.get(&format!("/groups/{group}")).await.status, 200);
    let form = browser.get(confirm).await.form("form[action='/sign_in/confirm']");
    assert_eq!(browser.submit(&form.set("password", PASSWORD)).await.location(), Some(DELETE));
    assert_eq!(browser.get(DELETE).await.status, 200);
}
