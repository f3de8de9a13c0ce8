use holdfast_tests::Server;
use insta::assert_json_snapshot;
use serde_json::json;

#[tokio::test]
async fn the_creator_owns_the_group() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let form = [("name", "Équipe α"), ("path", "equipe"), ("description", "Nous"), ("visibility_level", "10")];
    let made = ada.post("/groups", &form).await;
    assert_eq!(made.status, 201);
    let id = made.body["id"].clone();
    let mut body = made.body.clone();
    body["id"] = 0.into();
    assert_json_snapshot!(body, @r#"
    {
      "avatar_url": null,
      "description": "Nous",
      "id": 0,
      "lfs_enabled": true,
      "name": "Équipe α",
      "path": "equipe",
      "request_access_enabled": false,
      "visibility_level": 10,
      "web_url": "http://holdfast.test/groups/equipe"
    }
    "#);
    let detail = ada.get(&format!("/groups/{id}")).await.body;
    assert_eq!((&detail["projects"], &detail["shared_projects"]), (&json!([]), &json!([])));
    assert_eq!(ada.get("/groups/EQUIPE").await.body, detail);
    assert_eq!(
        ada.get("/groups/owned").await.body,
        json!([{
            "id": id, "name": "Équipe α", "path": "equipe", "description": "Nous",
        }])
    );
    assert_eq!(ada.get(&format!("/groups/{id}/members")).await.body[0]["access_level"], 50);
}

#[tokio::test]
async fn invalid_groups_are_rejected() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.group(&ada, "team", 20).await;
    let before = server.dump_database().await;
    let create = async |name: &str, path: &str| ada.post("/groups", &[("name", name), ("path", path)]).await;
    let message = |field: &str, text: &str| json!({"message": {field: [text]}});
    assert_eq!(create("x", "Team").await.status_and_body(), (400, &message("path", "has already been taken")));
    assert_eq!(create("team", "x").await.status_and_body(), (400, &message("name", "has already been taken")));
    assert_eq!(create("x", "ADA").await.status_and_body(), (400, &message("path", "has already been taken")));
    assert_eq!(create("x", "api").await.status_and_body(), (400, &message("path", "api is a reserved name")));
    assert_eq!(create("<b>", "x").await.status, 400);
    assert_eq!(create("x", "../x").await.status, 400);
    let missing = ada.post("/groups", &[]).await;
    assert_eq!(missing.status_and_body(), (400, &json!({"error": "name is missing, path is missing"})));
    let level = ada.post("/groups", &[("name", "x"), ("path", "x"), ("visibility_level", "5")]).await;
    assert_eq!(level.status_and_body(), (400, &json!({"error": "visibility_level does not have a valid value"})));
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn private_groups_are_not_found_for_outsiders() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let private = server.group(&ada, "private", 0).await;
    let before = server.dump_database().await;
    let unknown = eve.get("/groups/999999").await;
    for path in [format!("/groups/{private}"), "/groups/private".into(), format!("/groups/{private}/members")] {
        let hidden = eve.get(&path).await;
        assert_eq!((hidden.status, &hidden.text), (unknown.status, &unknown.text), "{path}");
    }
    assert_eq!(eve.put("/groups/private", &[("description", "x")]).await.status, 404);
    assert_eq!(eve.delete("/groups/private").await.status, 404);
    assert_eq!(eve.get("/groups?all_available=true").await.ids(), [] as [i64; 0]);
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn group_lists_show_only_visible_groups() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let external =
        holdfast_app::accounts::user::UserChanges { external: Some(true), ..holdfast_tests::user_attributes("ext") };
    let (ext_id, ext) = server.user_with(external).await;
    let (_, eve) = server.user("eve").await;
    let private = server.group(&ada, "a-private", 0).await;
    let internal = server.group(&ada, "b-internal", 10).await;
    let public = server.group(&ada, "c-public", 20).await;
    let member = [("user_id", &*ext_id.to_string()), ("access_level", "10")];
    assert_eq!(ada.post(&format!("/groups/{private}/members"), &member).await.status, 201);

    assert_eq!(ada.get("/groups").await.ids(), [private, internal, public]);
    assert_eq!(eve.get("/groups").await.ids(), [] as [i64; 0]);
    assert_eq!(eve.get("/groups?all_available=yes").await.ids(), [internal, public]);
    assert_eq!(ext.get("/groups?all_available=1").await.ids(), [private, public]);
    assert_eq!(ext.get("/groups").await.ids(), [private]);
    assert_eq!(server.admin.get("/groups").await.ids(), [private, internal, public]);
    assert_eq!(server.admin.get("/groups?order_by=path&sort=desc").await.ids(), [public, internal, private]);
    assert_eq!(
        server.admin.get(&format!("/groups?skip_groups[]={private}&skip_groups[]={public}")).await.ids(),
        [internal]
    );
    assert_eq!(server.admin.get(&format!("/groups?skip_groups={private},{public}")).await.ids(), [internal]);
    let wrong = server.admin.get("/groups?order_by=id&sort=up").await;
    let text = "order_by does not have a valid value, sort does not have a valid value";
    assert_eq!(wrong.status_and_body(), (400, &json!({ "error": text })));
    let bad_list = server.admin.get("/groups?skip_groups[]=x").await;
    assert_eq!(bad_list.status_and_body(), (400, &json!({"error": "skip_groups is invalid"})));
    // Paging returns the same list.
    let page = eve.get("/groups?all_available=true&per_page=1&page=2").await;
    assert_eq!((page.ids(), page.header("x-total")), (vec![public], Some("2")));
}

#[tokio::test]
async fn an_update_keeps_omitted_attributes() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let id = server.group(&ada, "team", 10).await;
    let path = format!("/groups/{id}");
    let before = ada.get(&path).await.body;
    let mut expected = before;
    expected["description"] = "Only this".into();
    assert_eq!(ada.put(&path, &[("description", "Only this")]).await.status_and_body(), (200, &expected));
    assert_eq!(ada.get(&path).await.body, expected);
    let nothing = ada.put(&path, &[]).await;
    assert_eq!(nothing.status, 400);
    assert!(nothing.body["error"].as_str().unwrap().ends_with("at least one parameter must be provided"));
    // A group may keep its own name and path.
    assert_eq!(ada.put(&path, &[("name", "team"), ("path", "team")]).await.status, 200);
}

#[tokio::test]
async fn search_ignores_case_in_all_scripts() {
    let server = Server::start().await;
    let form = [("name", "\u{c9}quipe \u{391}"), ("path", "Team.One")];
    let id = server.admin.post("/groups", &form).await.body["id"].as_i64().unwrap();
    for term in ["%C3%89QUIPE", "%C3%A9quipe", "%CE%B1", "team.one", "M.O"] {
        assert_eq!(server.admin.get(&format!("/groups?search={term}")).await.ids(), [id], "{term}");
    }
}

/// Concurrent updates of different attributes are both kept.
#[tokio::test]
async fn concurrent_updates_do_not_undo_each_other() {
    let server = Server::start().await;
    let id = server.group(&server.admin, "team", 20).await;
    let path = format!("/groups/{id}");
    for round in 0..10 {
        let (name, text) = (format!("name {round}"), format!("text {round}"));
        let (name, text) = ([("name", name.as_str())], [("description", text.as_str())]);
        let (a, b) = tokio::join!(server.admin.put(&path, &name), server.admin.put(&path, &text));
        assert_eq!((a.status, b.status), (200, 200));
        let now = server.admin.get(&path).await.body;
        assert_eq!((&now["name"], &now["description"]), (&json!(name[0].1), &json!(text[0].1)));
    }
}
