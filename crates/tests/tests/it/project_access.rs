//! The ways to get access to a project, and how access ends.

use chrono::TimeDelta;
use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::{Client, Server, user_attributes};
use serde_json::json;

use crate::projects::add_member;

/// Returns whether a client can see, edit and delete a project.
async fn read_permissions(client: &Client, project: i64) -> (bool, bool, bool) {
    let path = format!("/projects/{project}");
    let sees = client.get(&path).await.status == 200;
    let edits = client.get(&format!("{path}/hooks")).await.status == 200;
    let owns = client.post(&format!("{path}/unarchive"), &[]).await.status == 201;
    (sees, edits, owns)
}

#[tokio::test]
async fn the_highest_access_level_applies() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (_, eve) = server.user_with(UserChanges { external: Some(true), ..user_attributes("eve") }).await;
    let group = server.group(&ada, "team", 10).await;
    let other = server.group(&ada, "other", 0).await;
    let project = server.project_in(&ada, "engine", 0, Some(group)).await;
    let path = format!("/projects/{project}");
    assert_eq!(read_permissions(&ada, project).await, (true, true, true), "owner of the group");
    assert_eq!(read_permissions(&server.admin, project).await, (true, true, true));
    assert_eq!(read_permissions(&bob, project).await, (false, false, false));
    assert_eq!(read_permissions(&eve, project).await, (false, false, false));

    // Each way alone, and then all together.
    let member = |level: &'static str| [("user_id", bob_id.to_string()), ("access_level", level.to_owned())];
    let post = async |path: String, form: [(&str, String); 2]| {
        let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(ada.post(&path, &form).await.status, 201, "{path}");
    };
    post(format!("{path}/members"), member("10")).await;
    assert_eq!(read_permissions(&bob, project).await, (true, false, false));
    post(format!("/groups/{other}/members"), member("50")).await;
    let share = [("group_id", other.to_string()), ("group_access", "40".into())];
    post(format!("{path}/share"), share).await;
    assert_eq!(
        read_permissions(&bob, project).await,
        (true, true, false),
        "owner there, but shared with masters at the most"
    );
    assert_eq!(ada.delete(&format!("{path}/share/{other}")).await.status, 204);
    assert_eq!(read_permissions(&bob, project).await, (true, false, false));
    post(format!("/groups/{group}/members"), member("50")).await;
    assert_eq!(read_permissions(&bob, project).await, (true, true, true), "owner of the owning group");
    let shown = bob.get(&path).await.body["permissions"].clone();
    let level = |level: i64| json!({"access_level": level, "notification_level": 3});
    assert_eq!(shown, json!({"project_access": level(10), "group_access": level(50)}));
    assert_eq!(ada.delete(&format!("/groups/{group}/members/{bob_id}")).await.status, 200);
    assert_eq!(ada.delete(&format!("{path}/members/{bob_id}")).await.status, 200);
    assert_eq!(read_permissions(&bob, project).await, (false, false, false), "revoked at once");

    // Internal projects are visible to users, but not to external ones.
    assert_eq!(ada.put(&path, &[("visibility_level", "10")]).await.status, 200);
    assert_eq!(read_permissions(&bob, project).await, (true, false, false));
    assert_eq!(read_permissions(&eve, project).await, (false, false, false));
}

#[tokio::test]
async fn every_kind_of_access_ends_on_its_expiry_date() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (_, cat) = server.user("cat").await;
    let project = server.project(&ada, "engine", 0).await;
    let path = format!("/projects/{project}");
    let group = server.group(&cat, "cats", 20).await.to_string();
    let form = [("user_id", &*bob_id.to_string()), ("access_level", "30"), ("expires_at", "2026-01-04")];
    assert_eq!(ada.post(&format!("{path}/members"), &form).await.body["expires_at"], "2026-01-04");
    let share = [("group_id", &*group), ("group_access", "30"), ("expires_at", "2026-01-04")];
    assert_eq!(ada.post(&format!("{path}/share"), &share).await.body["expires_at"], "2026-01-04");
    let past = [("group_id", &*group), ("group_access", "30"), ("expires_at", "2026-01-02")];
    assert_eq!(ada.post(&format!("{path}/share"), &past).await.status, 400);
    server.advance(TimeDelta::days(1));
    assert_eq!((bob.get(&path).await.status, cat.get(&path).await.status), (200, 200));
    assert_eq!((bob.get("/projects").await.ids(), cat.get("/projects").await.ids()), (vec![project], vec![project]));
    server.advance(TimeDelta::days(1));
    assert_eq!((bob.get(&path).await.status, cat.get(&path).await.status), (404, 404));
    assert_eq!((bob.get("/projects").await.body, cat.get("/projects").await.body), (json!([]), json!([])));
    assert_eq!(ada.get(&path).await.body["shared_with_groups"], json!([]));
    assert_eq!(cat.get("/groups/cats").await.body["shared_projects"], json!([]));
    assert_eq!(ada.get(&format!("{path}/members/{bob_id}")).await.status, 404);

    // The daily sweep adds an event for the expired membership, once.
    sqlx::query("select graphile_worker.add_job('sweep', '{}'::json)")
        .execute(&mut server.database().await)
        .await
        .unwrap();
    server.run_jobs().await;
    let feed = ada.get(&format!("{path}/events")).await.body;
    assert_eq!(feed[0]["action_name"], "removed due to membership expiration from");
    assert_eq!(feed[0]["author_username"], "bob");
    // An expired share can be created again.
    assert_eq!(ada.post(&format!("{path}/share"), &share[..2]).await.status, 201);
    assert_eq!(cat.get(&path).await.status, 200);
}

#[tokio::test]
async fn project_members_can_be_added_updated_and_removed() {
    let server = Server::start().await;
    let (ada_id, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let project = server.project(&ada, "engine", 20).await;
    let path = format!("/projects/{project}/members");
    assert_eq!(ada.get(&path).await.ids(), [ada_id.get()], "the owner is a master of its project");
    add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    let again = ada.post(&path, &[("user_id", &*bob_id.to_string()), ("access_level", "40")]).await;
    assert_eq!((again.status, &again.body["access_level"]), (201, &json!(30)), "unchanged");
    let one = format!("{path}/{bob_id}");
    assert_eq!(ada.put(&one, &[("access_level", "40")]).await.body["access_level"], 40);
    for level in ["50", "0", "15"] {
        let refused = ada.put(&one, &[("access_level", level)]).await;
        assert_eq!(refused.status_and_body(), (422, &json!({"message": "Access level is not known"})));
    }
    assert_eq!(ada.post(&path, &[("user_id", "99"), ("access_level", "30")]).await.status, 404);
    assert_eq!(ada.get(&format!("{path}?query=bob")).await.ids(), [bob_id.get()]);
    assert_eq!(bob.delete(&one).await.body["access_level"], 40, "everybody may leave");
    let gone = ada.delete(&one).await;
    assert_eq!(gone.status_and_body(), (200, &json!({"message": "Access revoked", "id": bob_id.get()})));
    let feed = ada.get(&format!("/projects/{project}/events")).await.body;
    let actions: Vec<_> = feed.as_array().unwrap().iter().map(|event| event["action_name"].clone()).collect();
    assert_eq!(actions, ["left", "joined", "created"]);
}

#[tokio::test]
async fn access_can_be_requested() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (cat_id, cat) = server.user("cat").await;
    let project = server.project(&ada, "engine", 20).await;
    server.group(&ada, "team", 20).await;
    for source in [format!("/projects/{project}"), "/groups/team".into()] {
        let requests = format!("{source}/access_requests");
        assert_eq!(bob.post(&requests, &[]).await.status, 403, "not switched on");
        ada.put(&source, &[("request_access_enabled", "true")]).await;
        let asked = bob.post(&requests, &[]).await;
        assert_eq!((asked.status, &asked.body["username"]), (201, &json!("bob")));
        assert_eq!(bob.post(&requests, &[]).await.status, 400, "asked already");
        assert_eq!(cat.post(&requests, &[]).await.status, 201);
        assert_eq!(ada.post(&requests, &[]).await.status, 403, "in already");
        assert_eq!(ada.get(&requests).await.ids(), [bob_id.get(), cat_id.get()]);
        assert_eq!(bob.get(&requests).await.status, 403);
        assert_eq!(bob.put(&format!("{requests}/{bob_id}/approve"), &[]).await.status, 403);
        let approved = ada.put(&format!("{requests}/{bob_id}/approve"), &[]).await;
        assert_eq!((approved.status, &approved.body["access_level"]), (201, &json!(30)));
        assert_eq!(ada.put(&format!("{requests}/{bob_id}/approve"), &[]).await.status, 404);
        assert_eq!(cat.delete(&format!("{requests}/{cat_id}")).await.status, 200, "withdrawn");
        assert_eq!(ada.delete(&format!("{requests}/{cat_id}")).await.status, 404);
        assert_eq!(ada.get(&requests).await.body, json!([]));
        // Adding a member accepts the pending access request.
        cat.post(&requests, &[]).await;
        let form = [("user_id", &*cat_id.to_string()), ("access_level", "10")];
        assert_eq!(ada.post(&format!("{source}/members"), &form).await.status, 201);
        assert_eq!(ada.get(&requests).await.body, json!([]));
    }
}

#[tokio::test]
async fn sharing_with_groups_is_validated() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let team = server.group(&ada, "team", 0).await.to_string();
    let hidden = server.group(&bob, "hidden", 0).await.to_string();
    let project = server.project(&ada, "engine", 20).await;
    let in_team = server.project_in(&ada, "inner", 0, Some(team.parse().unwrap())).await;
    let path = format!("/projects/{project}/share");
    let share = async |path: &str, group: &str, level: &str| {
        ada.post(path, &[("group_id", group), ("group_access", level)]).await
    };
    let not_found = json!({"message": "404 Group Not Found"});
    assert_eq!(share(&path, &hidden, "30").await.status_and_body(), (404, &not_found), "as if there were none");
    assert_eq!(share(&path, "999", "30").await.status_and_body(), (404, &not_found));
    for level in ["50", "0", "35"] {
        let error = json!({"error": "group_access does not have a valid value"});
        assert_eq!(share(&path, &team, level).await.status_and_body(), (400, &error));
    }
    let own = share(&format!("/projects/{in_team}/share"), &team, "30").await;
    assert_eq!(
        own.status_and_body(),
        (409, &json!({"message": "Project cannot be shared with the project it is in."}))
    );
    assert_eq!(share(&path, &team, "30").await.status, 201);
    let twice = share(&path, &team, "30").await;
    assert_eq!(twice.status_and_body(), (409, &json!({"message": "Group already shared with this group"})));
    // The name of a private group is shown only to members of the project or of the group.
    let shares =
        async |client: &Client| client.get(&format!("/projects/{project}")).await.body["shared_with_groups"].clone();
    assert_eq!(shares(&ada).await[0]["group_name"], "team");
    assert_eq!(shares(&bob).await, json!([]));
    assert_eq!(shares(&server.anonymous()).await, json!([]));
    assert_eq!(bob.get("/groups/team").await.status, 404);
    assert_eq!(ada.get("/groups/team").await.body["shared_projects"][0]["id"], project);
}

/// A member of a project can see the group that it belongs to, and nothing else of it.
#[tokio::test]
async fn a_member_of_a_project_sees_its_group() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let group = server.group(&ada, "team", 0).await;
    let project = server.project_in(&ada, "engine", 0, Some(group)).await;
    server.project_in(&ada, "secret", 0, Some(group)).await;
    assert_eq!(bob.get("/groups/team").await.status, 404);
    add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 10).await;
    let seen = bob.get("/groups/team").await;
    assert_eq!(seen.status, 200);
    assert_eq!(seen.body["projects"].as_array().unwrap().len(), 1);
    assert_eq!(bob.get("/groups/team/projects").await.ids(), [project]);
    assert_eq!(bob.get("/groups?all_available=true").await.ids(), [group]);
    assert_eq!(bob.get("/groups").await.body, json!([]));
    assert_eq!(bob.get("/groups/team/members").await.status, 403);
}
