//! Deploy keys: SSH keys that open single projects and no account.

mod races;
mod ssh;

use holdfast_tests::{Client, Server, TestResponse};
use serde_json::{Value, json};

use crate::projects::add_member;
use crate::ssh_keys::{ED25519, OTHER_ED25519};

pub const DEPLOY_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH2vN69p35Yhl7vcQXn2MGk25PezSCgjphznSMPLQ1FP deploy";
pub const OTHER_DEPLOY_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOAfEFB0EK7AjpTMOpI9iUSKG7+EoQf25lj904gVqE8T other";

async fn add_key(client: &Client, project: i64, key: &str, can_push: bool) -> TestResponse {
    let form = [("title", "server"), ("key", key), ("can_push", if can_push { "true" } else { "false" })];
    client.post(&format!("/projects/{project}/deploy_keys"), &form).await
}

/// Like [`add_key`], but checks that the key was added, and returns its id.
async fn added_key(client: &Client, project: i64, key: &str, can_push: bool) -> i64 {
    let added = add_key(client, project, key, can_push).await;
    assert_eq!(added.status, 201, "{}", added.text);
    added.body["id"].as_i64().unwrap()
}

async fn key_ids(client: &Client, project: i64) -> Vec<i64> {
    client.get(&format!("/projects/{project}/deploy_keys")).await.ids()
}

/// Returns the keys and links in the database, as their numbers of rows: keys of users, deploy keys, links.
async fn count_rows(server: &Server) -> [usize; 3] {
    let contents = server.dump_database().await;
    let rows = |table: &str| contents[table].as_array().unwrap().clone();
    let (keys, links) = (rows("ssh_keys"), rows("deploy_key_projects"));
    let deploy_keys = keys.iter().filter(|key| key["user_id"].is_null()).count();
    [keys.len() - deploy_keys, deploy_keys, links.len()]
}

fn taken() -> Value {
    json!({"message": {"fingerprint": ["has already been taken"], "key": ["has already been taken"]}})
}

#[tokio::test]
async fn deploy_keys_are_added_listed_and_removed() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "tools", 0).await;
    let before = server.dump_database().await;
    for (path, other_path) in [("deploy_keys", "keys"), ("keys", "deploy_keys")] {
        let path = format!("/projects/{project}/{path}");
        let form = [("title", "server"), ("key", DEPLOY_KEY), ("can_push", "true")];
        let made = ada.post(&path, &form).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let id = made.body["id"].as_i64().unwrap();
        let created_at = "2026-01-02T03:04:05.678Z";
        let expected = json!({
            "id": id, "title": "server", "key": DEPLOY_KEY, "created_at": created_at, "can_push": true
        });
        assert_eq!(made.body, expected);
        let second = ada.post(&path, &[("title", "second"), ("key", &format!(" {OTHER_DEPLOY_KEY}\n"))]).await;
        assert_eq!((second.status, &second.body["can_push"]), (201, &json!(false)));
        assert_eq!(second.body["key"], OTHER_DEPLOY_KEY);
        for path in [&path, &format!("/projects/ada%2Ftools/{other_path}")] {
            let listed = ada.get(&format!("{path}?per_page=1")).await;
            assert_eq!(listed.status_and_body(), (200, &json!([made.body])));
            assert_eq!(listed.header("x-total"), Some("2"));
            assert_eq!(ada.get(&format!("{path}/{id}")).await.status_and_body(), (200, &made.body));
        }
        let removed = ada.delete(&format!("{path}/{id}")).await;
        assert_eq!(removed.status_and_body(), (200, &made.body));
        let removed = ada.delete(&format!("{path}/{}/disable", second.body["id"])).await;
        assert_eq!(removed.status_and_body(), (200, &second.body));
        let missing = json!({"message": "404 Not found"});
        assert_eq!(ada.get(&format!("{path}/{id}")).await.status_and_body(), (404, &missing));
        for end in ["", "/disable"] {
            assert_eq!(ada.delete(&format!("{path}/{id}{end}")).await.status_and_body(), (404, &missing));
        }
    }
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn invalid_deploy_keys_are_reported_per_field() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "tools", 0).await;
    let before = server.dump_database().await;
    let path = format!("/projects/{project}/deploy_keys");
    let long = "x".repeat(256);
    let too_long = json!({"message": {"title": ["is too long (maximum is 255 characters)"]}});
    let invalid = json!({"message": {"key": ["is invalid"], "fingerprint": ["cannot be generated"]}});
    let cases: [(&[(&str, &str)], Value); 8] = [
        (&[], json!({"error": "title is missing, key is missing"})),
        (&[("title", "t")], json!({"error": "key is missing"})),
        (&[("key", DEPLOY_KEY)], json!({"error": "title is missing"})),
        (&[("title", " "), ("key", DEPLOY_KEY)], json!({"message": {"title": ["can't be blank"]}})),
        (&[("title", &long), ("key", DEPLOY_KEY)], too_long),
        (&[("title", "t"), ("key", "no key")], invalid),
        (&[("title", "t"), ("key", " ")], json!({"message": {"key": ["can't be blank"]}})),
        (&[("title", "t"), ("key", DEPLOY_KEY), ("can_push", "x")], json!({"error": "can_push is invalid"})),
    ];
    for (form, body) in cases {
        assert_eq!(ada.post(&path, form).await.status_and_body(), (400, &body), "{form:?}");
    }
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn a_deploy_key_is_linked_to_several_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let mut projects = [0; 3];
    for (project, name) in projects.iter_mut().zip(["one", "two", "three"]) {
        *project = server.project(&ada, name, 0).await;
    }
    let [first, second, third] = projects;
    let id = added_key(&ada, first, DEPLOY_KEY, true).await;
    // The project keeps what it has, also the missing right to push.
    let again = [("title", "again"), ("key", DEPLOY_KEY), ("can_push", "false")];
    let again = ada.post(&format!("/projects/{first}/deploy_keys"), &again).await;
    assert_eq!((again.status, &again.body["title"], &again.body["can_push"]), (201, &json!("server"), &json!(true)));
    // The right to push belongs to the link: neither of these requests asks for it.
    let other_comment = DEPLOY_KEY.replace("deploy", "mine");
    let linked = ada.post(&format!("/projects/{second}/deploy_keys"), &[("title", "x"), ("key", &other_comment)]).await;
    let enabled = ada.post(&format!("/projects/{third}/keys/{id}/enable"), &[]).await;
    for linked in [&linked, &enabled] {
        assert_eq!((linked.status, &linked.body["id"], &linked.body["can_push"]), (201, &json!(id), &json!(false)));
        assert_eq!((&linked.body["title"], &linked.body["key"]), (&json!("server"), &json!(DEPLOY_KEY)));
    }
    let enabled = ada.post(&format!("/projects/{first}/keys/{id}/enable"), &[]).await;
    assert_eq!((enabled.status, &enabled.body["can_push"]), (201, &json!(true)));
    assert_eq!(count_rows(&server).await, [0, 1, 3]);
    let all = server.admin.get("/deploy_keys").await;
    assert_eq!((all.status, all.ids(), &all.body[0]["can_push"]), (200, vec![id], &json!(true)));

    assert_eq!(ada.delete(&format!("/projects/{first}/deploy_keys/{id}")).await.status, 200);
    assert_eq!(server.admin.get("/deploy_keys").await.body[0]["can_push"], json!(false));
    assert_eq!(ada.delete(&format!("/projects/{second}/deploy_keys/{id}/disable")).await.status, 200);
    assert_eq!(
        [key_ids(&ada, first).await, key_ids(&ada, second).await, key_ids(&ada, third).await],
        [vec![], vec![], vec![id]]
    );
    assert_eq!(ada.delete(&format!("/projects/{third}/deploy_keys/{id}")).await.status, 200);
    assert_eq!(count_rows(&server).await, [0, 0, 0]);
    assert_eq!(server.admin.get("/deploy_keys").await.body, json!([]));
}

/// IDOR (such as Gitea #36344): the id or the text of a key of another project is used to get it into a project of one's
/// own, and to find out about the other project.
#[tokio::test]
async fn only_masters_of_a_project_link_its_deploy_keys_elsewhere() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let team = server.group(&ada, "team", 20).await;
    let project = server.project_in(&ada, "tools", 20, Some(team)).await;
    let id = added_key(&ada, project, DEPLOY_KEY, true).await;
    let not_found = json!({"message": "404 Deploy Key Not Found"});
    let reaches = async |client: &Client, own: i64| {
        let before = server.dump_database().await;
        let [known, unknown] = [id, 99].map(|id| format!("/projects/{own}/deploy_keys/{id}/enable"));
        let enabled = client.post(&known, &[]).await;
        assert_eq!(client.post(&unknown, &[]).await.status_and_body(), (404, &not_found));
        if enabled.status == 201 {
            assert_eq!(client.delete(&format!("/projects/{own}/deploy_keys/{id}")).await.status, 200);
            assert_eq!(added_key(client, own, DEPLOY_KEY, false).await, id);
            assert_eq!(client.delete(&format!("/projects/{own}/deploy_keys/{id}")).await.status, 200);
        } else {
            assert_eq!(enabled.status_and_body(), (404, &not_found));
            assert_eq!(add_key(client, own, DEPLOY_KEY, false).await.status_and_body(), (400, &taken()));
            for path in ["", "/disable"] {
                assert_eq!(client.delete(&format!("/projects/{own}/deploy_keys/{id}{path}")).await.status, 404);
            }
        }
        assert_eq!(server.dump_database().await, before);
        enabled.status == 201
    };
    let (bob_id, bob) = server.user("bob").await;
    let own = server.project(&bob, "own", 0).await;
    assert!(!reaches(&bob, own).await, "the project is public");
    let (project_path, group_path) = (format!("/projects/{project}"), format!("/groups/{team}"));
    for (path, level, expected) in
        [(&project_path, 10, false), (&project_path, 30, false), (&project_path, 40, true), (&group_path, 40, true)]
    {
        add_member(&ada, path, bob_id.get(), level).await;
        assert_eq!(reaches(&bob, own).await, expected, "{path} {level}");
        assert_eq!(ada.delete(&format!("{path}/members/{bob_id}")).await.status, 200);
    }
    let guests = server.group(&bob, "guests", 0).await;
    for (level, expected) in [("30", false), ("40", true)] {
        let share = [("group_id", &*guests.to_string()), ("group_access", level)];
        assert_eq!(server.admin.post(&format!("/projects/{project}/share"), &share).await.status, 201);
        assert_eq!(reaches(&bob, own).await, expected, "a share of {level}");
        assert_eq!(server.admin.delete(&format!("/projects/{project}/share/{guests}")).await.status, 204);
    }
    assert!(!reaches(&bob, own).await);
    assert!(reaches(&server.admin, own).await);
    // A key that is not reachable, one of a user, and one of a user that is sent by that user get the same response.
    assert_eq!(bob.post("/user/keys", &[("title", "t"), ("key", ED25519)]).await.status, 201);
    assert_eq!(ada.post("/user/keys", &[("title", "t"), ("key", OTHER_ED25519)]).await.status, 201);
    for key in [DEPLOY_KEY, ED25519, OTHER_ED25519] {
        assert_eq!(add_key(&bob, own, key, false).await.status_and_body(), (400, &taken()), "{key}");
    }
    // The id of a user's key is no id of a deploy key.
    let key = ada.get("/user/keys").await.body[0]["id"].clone();
    let enabled = server.admin.post(&format!("/projects/{own}/deploy_keys/{key}/enable"), &[]).await;
    assert_eq!(enabled.status_and_body(), (404, &not_found));
}

#[tokio::test]
async fn fingerprints_are_unique_among_keys_of_users_and_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "tools", 0).await;
    let id = added_key(&ada, project, DEPLOY_KEY, false).await;
    let other_comment = DEPLOY_KEY.replace("deploy", "mine");
    for key in [DEPLOY_KEY, &other_comment] {
        let added = ada.post("/user/keys", &[("title", "t"), ("key", key)]).await;
        assert_eq!(added.status_and_body(), (400, &taken()));
    }
    assert_eq!(ada.post("/user/keys", &[("title", "t"), ("key", ED25519)]).await.status, 201);
    assert_eq!(add_key(&ada, project, ED25519, false).await.status_and_body(), (400, &taken()));
    // A deploy key is not among the keys of its user, and is not deleted through them.
    assert_eq!(ada.get(&format!("/user/keys/{id}")).await.status, 404);
    assert_eq!(ada.delete(&format!("/user/keys/{id}")).await.status_and_body(), (200, &json!(null)));
    assert_eq!(server.admin.delete(&format!("/users/2/keys/{id}")).await.status, 404);
    assert_eq!(count_rows(&server).await, [1, 1, 1]);
    assert_eq!(ada.delete(&format!("/projects/{project}/deploy_keys/{id}")).await.status, 200);
    assert_eq!(ada.post("/user/keys", &[("title", "t"), ("key", DEPLOY_KEY)]).await.status, 201);
}

#[tokio::test]
async fn deploy_keys_end_with_their_last_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (gus_id, gus) = server.user("gus").await;
    let group = server.group(&ada, "team", 0).await;
    let [mut first, mut second] = [0; 2];
    for (project, name) in [(&mut first, "one"), (&mut second, "two")] {
        *project = server.project_in(&ada, name, 0, Some(group)).await;
    }
    let own = server.project(&ada, "own", 0).await;
    let shared = added_key(&ada, first, DEPLOY_KEY, false).await;
    added_key(&ada, own, DEPLOY_KEY, false).await;
    added_key(&ada, first, OTHER_DEPLOY_KEY, false).await;
    assert_eq!(ada.delete(&format!("/projects/{first}")).await.status, 200);
    // Until the job has run, a key that only the deleted project has cannot be reached through it.
    assert_eq!(add_key(&ada, second, OTHER_DEPLOY_KEY, false).await.status_and_body(), (400, &taken()));
    server.run_jobs().await;
    assert_eq!(count_rows(&server).await, [0, 1, 1]);
    assert_eq!(key_ids(&ada, own).await, [shared]);
    added_key(&ada, second, OTHER_DEPLOY_KEY, false).await;
    added_key(&ada, second, DEPLOY_KEY, false).await;
    assert_eq!(ada.delete(&format!("/groups/{group}")).await.status, 200);
    server.run_jobs().await;
    assert_eq!((count_rows(&server).await, key_ids(&ada, own).await), ([0, 1, 1], vec![shared]));
    // The key of a deleted user stays in projects of others.
    add_member(&ada, &format!("/projects/{own}"), gus_id.get(), 40).await;
    let kept = added_key(&gus, own, OTHER_DEPLOY_KEY, true).await;
    added_key(&gus, server.project(&gus, "mine", 0).await, ED25519, false).await;
    assert_eq!(server.admin.delete(&format!("/users/{gus_id}")).await.status, 200);
    server.run_jobs().await;
    assert_eq!((count_rows(&server).await, key_ids(&ada, own).await), ([0, 2, 2], vec![shared, kept]));
    let contents = server.dump_database().await;
    let links = contents["deploy_key_projects"].as_array().unwrap();
    assert!(links.iter().any(|link| link["ssh_key_id"] == kept && link["added_by"].is_null()), "{links:?}");
}

#[tokio::test]
async fn forks_have_no_deploy_keys() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, bob) = server.user("bob").await;
    let project = server.project(&ada, "tools", 20).await;
    server.push_first(&ada, "ada/tools").await;
    let id = added_key(&ada, project, DEPLOY_KEY, false).await;
    let fork = bob.post(&format!("/projects/fork/{project}"), &[("namespace", "bob")]).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    server.run_jobs().await;
    assert_eq!(key_ids(&bob, fork.body["id"].as_i64().unwrap()).await, Vec::<i64>::new());
    assert_eq!(key_ids(&ada, project).await, [id]);
}
