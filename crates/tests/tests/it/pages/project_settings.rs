//! The general settings of a project.

use holdfast_tests::{Client, Server};

use crate::projects::add_member;

/// A server with the public project `owner/tide`, in which `master` is a master and `developer` a developer. Returns
/// also the client of the owner and the id of the project.
async fn tide() -> (Server, Client, i64) {
    let server = Server::start().await;
    let (_, owner) = server.user("owner").await;
    let project = server.project(&owner, "tide", 20).await;
    for (name, level) in [("master", 40), ("developer", 30)] {
        let (id, _) = server.user(name).await;
        add_member(&owner, &format!("/projects/{project}"), id.get(), level).await;
    }
    server.push_first(&owner, "owner/tide").await;
    (server, owner, project)
}

const PAGE: &str = "/owner/tide/settings/general";

#[tokio::test]
async fn the_owner_changes_all_settings() {
    let (server, owner, project) = tide().await;
    let browser = server.sign_in("owner").await;
    let form = browser.get(PAGE).await.form(&format!("form[action='{PAGE}']"));
    assert_eq!((form.value("name"), form.value("new_path"), form.value("default_branch")), ("tide", "tide", "main"));
    let page = browser.submit(&form.clone().set("name", "").set("default_branch", "nothing")).await;
    assert_eq!((page.status, page.texts("#errors li")), (422, vec!["Name can't be blank".to_owned()]));
    let page = browser.submit(&form.clone().set("default_branch", "nothing")).await;
    assert_eq!((page.status, page.texts("#errors li")), (422, vec!["Default branch does not exist".to_owned()]));
    let page = browser.submit(&form.clone().set("new_path", "no/path")).await;
    assert_eq!((page.status, page.attributes("#errors a", "href")), (422, vec!["#new_path".to_owned()]));
    let changed = form.set("name", "Tide Watch").set("new_path", "tide-watch").set("description", "Levels");
    let response = browser.submit(&changed).await;
    let address = "/owner/tide-watch/settings/general";
    assert_eq!((response.status, response.location()), (303, Some(address)), "{}", response.text);
    let page = browser.get(address).await;
    assert_eq!(page.texts("[role=status]"), ["The settings were saved."]);
    let found = owner.get(&format!("/projects/{project}")).await.body;
    assert_eq!((&found["name"], &found["description"]), (&"Tide Watch".into(), &"Levels".into()));
    assert_eq!((&found["issues_enabled"], &found["builds_enabled"]), (&true.into(), &true.into()));
    // A box that is not checked switches the feature off.
    let form = [("new_path", "tide-watch"), ("builds_enabled", "1"), ("visibility_level", "0")];
    assert_eq!(browser.post(address, &form).await.status, 303);
    let found = owner.get(&format!("/projects/{project}")).await.body;
    assert_eq!((&found["issues_enabled"], &found["builds_enabled"]), (&false.into(), &true.into()));
    assert_eq!(found["visibility_level"], 0);
    // The old address leads to the new one.
    let response = browser.get(PAGE).await;
    assert_eq!((response.status, response.location()), (308, Some(address)));
}

#[tokio::test]
async fn a_master_is_offered_what_masters_may_change() {
    let (server, owner, project) = tide().await;
    let browser = server.sign_in("master").await;
    let page = browser.get(PAGE).await;
    assert_eq!(page.attributes("main input[name=name], main input[name=visibility_level]", "name"), [""; 0]);
    assert_eq!(page.attributes("main form", "action"), [PAGE]);
    let response = browser.submit(&page.form(&format!("form[action='{PAGE}']")).set("description", "Levels")).await;
    assert_eq!(response.status, 303, "{}", response.text);
    assert_eq!(owner.get(&format!("/projects/{project}")).await.body["description"], "Levels");
    let before = server.dump_database().await;
    let form = [("new_path", "tide"), ("name", "Mine"), ("visibility_level", "0")];
    assert_eq!(browser.post(PAGE, &form).await.status, 403);
    assert_eq!(browser.post("/owner/tide/settings/archive", &[]).await.status, 403);
    // A form without its fields does not switch everything off.
    assert_eq!(browser.post(PAGE, &[]).await.status, 422);
    assert_eq!(server.dump_database().await, before);
    let developer = server.sign_in("developer").await;
    assert_eq!(developer.get(PAGE).await.status, 403);
    assert!(!developer.get("/owner/tide").await.attributes(".tabs a", "href").contains(&PAGE.to_owned()));
}

#[tokio::test]
async fn a_project_is_archived_and_unarchived() {
    let (server, owner, project) = tide().await;
    let browser = server.sign_in("owner").await;
    for (action, is_archived) in [("archive", true), ("unarchive", false)] {
        let form = browser.get(PAGE).await.form(&format!("form[action='/owner/tide/settings/{action}']"));
        let response = browser.submit(&form).await;
        assert_eq!((response.status, response.location()), (303, Some(PAGE)));
        assert_eq!(owner.get(&format!("/projects/{project}")).await.body["archived"], is_archived);
    }
}
