//! The page of protected branches and tags.

use holdfast_tests::{Client, Server};
use serde_json::{Value, json};

use crate::projects::add_member;

const PAGE: &str = "/ada/p/settings/branches";

/// Ada's project `ada/p` with the branches `main`, which is protected, and `topic`. Bob is a developer.
async fn project() -> (Server, Client, i64) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob, _) = server.user("bob").await;
    let project = server.project(&ada, "p", 0).await;
    add_member(&ada, &format!("/projects/{project}"), bob.get(), 30).await;
    server.push_first(&ada, "ada/p").await;
    let form = [("branch_name", "topic"), ("ref", "main")];
    let made = ada.post(&format!("/projects/{project}/repository/branches"), &form).await;
    assert_eq!(made.status, 200, "{}", made.text);
    (server, ada, project)
}

/// Returns the rules as the API shows them: their names, and the levels that may push and merge.
async fn branch_rules(ada: &Client, project: i64) -> Vec<(String, i64, i64)> {
    let listed = ada.get(&format!("/api/v4/projects/{project}/protected_branches")).await;
    let level = |levels: &Value| levels[0]["access_level"].as_i64().unwrap();
    let rule = |it: &Value| {
        let name = it["name"].as_str().unwrap().to_owned();
        (name, level(&it["push_access_levels"]), level(&it["merge_access_levels"]))
    };
    listed.body.as_array().unwrap().iter().map(rule).collect()
}

#[tokio::test]
async fn rules_of_branches_are_added_changed_and_removed() {
    let (server, ada, project) = project().await;
    let browser = server.sign_in("ada").await;
    let page = browser.get(PAGE).await;
    assert_eq!((page.status, page.texts("main tbody code")), (200, vec!["main".to_owned()]));
    assert_eq!(page.attributes("main datalist option", "value"), ["main", "topic"]);
    let form = page.form(&format!("main form[action='{PAGE}']"));
    let before = server.dump_database().await;
    for (branch, message) in [
        ("none", "Branch does not exist"),
        ("", "Branch can't be blank"),
        ("top*", "Branch must be the name of one branch, without the wildcard *"),
        ("main", "Branch is protected already: change its rule in the list"),
    ] {
        let rejected = browser.submit(&form.clone().set("branch", branch).set("push", "developers")).await;
        assert_eq!((rejected.status, rejected.texts("#branch-error")), (422, vec![message.to_owned()]));
        let shown = rejected.form(&format!("main form[action='{PAGE}']"));
        assert_eq!(
            (shown.value("branch"), shown.value("push"), shown.value("merge")),
            (branch, "developers", "masters")
        );
    }
    assert_eq!(server.dump_database().await, before);
    let created = browser.submit(&form.set("branch", "topic").set("merge", "developers")).await;
    assert_eq!((created.status, created.location()), (303, Some(PAGE)), "{}", created.text);
    let page = browser.get(PAGE).await;
    assert_eq!(page.texts("[role=status]"), ["The branch is protected."]);
    assert_eq!(branch_rules(&ada, project).await, [("main".into(), 40, 40), ("topic".into(), 40, 30)]);

    let change = page.form("tr:nth-child(2) form[action$='/update']");
    assert_eq!(
        (change.value("branch"), change.value("push"), change.value("merge")),
        ("topic", "masters", "developers")
    );
    assert_eq!(browser.submit(&change.set("push", "developers").set("merge", "masters")).await.location(), Some(PAGE));
    assert_eq!(branch_rules(&ada, project).await[1], ("topic".into(), 30, 40));
    let remove = page.form("tr:nth-child(2) form[action$='/delete']");
    assert_eq!(browser.submit(&remove).await.location(), Some(PAGE));
    assert_eq!(branch_rules(&ada, project).await, [("main".into(), 40, 40)]);
    // Another master has removed it.
    let rejected = browser.submit(&remove).await;
    assert_eq!(
        (rejected.status, rejected.texts(".flash.bad p")),
        (422, vec!["There is no such rule any more.".to_owned()])
    );
    assert_eq!(browser.post(&format!("{PAGE}/update"), &[("branch", "topic"), ("push", "masters")]).await.status, 422);
    assert_eq!(browser.post(&format!("{PAGE}/update"), &[("branch", "main"), ("push", "guests")]).await.status, 422);
    assert_eq!(branch_rules(&ada, project).await, [("main".into(), 40, 40)]);
}

/// Rules with a wildcard come from imports. No form creates them.
#[tokio::test]
async fn rules_with_a_wildcard_are_changed_and_removed() {
    let (server, ada, project) = project().await;
    sqlx::query("insert into protected_branches (project_id, name, push_level, merge_level, created_at) values ($1, 'a/*', 40, 30, now()), ($1, 'gone', 40, 40, now())")
        .bind(project)
        .execute(&mut server.database().await)
        .await
        .unwrap();
    let browser = server.sign_in("ada").await;
    let page = browser.get(PAGE).await;
    let cells = page.texts("main tbody td:first-child");
    assert_eq!(cells, ["a/*for all branches with such a name", "gonethere is no such branch", "main"]);
    let change = page.form("tr:nth-child(1) form[action$='/update']");
    assert_eq!(browser.submit(&change.set("merge", "masters")).await.status, 303);
    assert_eq!(branch_rules(&ada, project).await[0], ("a/*".into(), 40, 40));
    assert_eq!(browser.submit(&page.form("tr:nth-child(1) form[action$='/delete']")).await.status, 303);
    assert_eq!(browser.get(PAGE).await.texts("main tbody code"), ["gone", "main"]);
}

#[tokio::test]
async fn rules_of_tags_are_added_and_removed() {
    let (server, ada, project) = project().await;
    let browser = server.sign_in("ada").await;
    let form = browser.get(PAGE).await.form("main form[action='/ada/p/settings/tags']");
    for (tag, message) in [("", "Tag can't be blank"), ("a b", "Tag is not a name that a tag can have")] {
        let rejected = browser.submit(&form.clone().set("tag", tag).set("create", "nobody")).await;
        assert_eq!((rejected.status, rejected.texts("#tag-error")), (422, vec![message.to_owned()]));
        let shown = rejected.form("main form[action='/ada/p/settings/tags']");
        assert_eq!((shown.value("tag"), shown.value("create")), (tag, "nobody"));
    }
    let rejected = browser.submit(&form.clone().set("tag", "******")).await;
    assert_eq!((rejected.status, rejected.texts(".flash.bad p").len()), (422, 1), "{}", rejected.text);
    for (tag, creators) in [("v*", "developers"), ("frozen/*", "nobody")] {
        let created = browser.submit(&form.clone().set("tag", tag).set("create", creators)).await;
        assert_eq!(created.location(), Some(PAGE), "{}", created.text);
    }
    let rejected = browser.submit(&form.set("tag", "v*")).await;
    assert_eq!(rejected.texts("#tag-error"), ["Tag has a rule already"]);
    let api = format!("/api/v4/projects/{project}/protected_tags");
    let listed = ada.get(&api).await.body;
    assert_eq!(
        (&listed[0]["name"], &listed[0]["create_access_levels"][0]["access_level"]),
        (&json!("frozen/*"), &json!(0))
    );
    assert_eq!((&listed[1]["name"], &listed[1]["create_access_levels"][0]["access_level"]), (&json!("v*"), &json!(30)));
    let page = browser.get(PAGE).await;
    let rows = page.texts("section[aria-label='Protected tags'] td:nth-child(2)");
    assert_eq!(rows, ["Nobody", "Developers and masters"]);
    let remove = page.form("form[action='/ada/p/settings/tags/delete']");
    assert_eq!(browser.submit(&remove).await.location(), Some(PAGE));
    assert_eq!(ada.get(&api).await.body.as_array().unwrap().len(), 1);
    assert_eq!(browser.submit(&remove).await.status, 422);
}

#[tokio::test]
async fn developers_do_not_change_rules() {
    let (server, _, _) = project().await;
    let browser = server.sign_in("bob").await;
    let before = server.dump_database().await;
    assert_eq!(browser.get(PAGE).await.status, 403);
    for path in ["branches", "branches/update", "branches/delete", "tags", "tags/delete"] {
        let form = [("branch", "main"), ("push", "developers"), ("tag", "v*")];
        assert_eq!(browser.post(&format!("/ada/p/settings/{path}"), &form).await.status, 403, "{path}");
    }
    assert_eq!(server.dump_database().await, before);
}
