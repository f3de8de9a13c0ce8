use holdfast_tests::Server;
use insta::assert_json_snapshot;
use serde_json::json;

pub const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti ada@home";
pub const OTHER_ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ work";

#[tokio::test]
async fn ssh_keys_are_unique_in_the_instance() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let made = ada.post("/user/keys", &[("title", "home"), ("key", ED25519)]).await;
    assert_eq!(made.status, 201);
    assert_json_snapshot!(made.body, @r#"
    {
      "created_at": "2026-01-02T03:04:05.678Z",
      "id": 1,
      "key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti ada@home",
      "title": "home"
    }
    "#);
    let taken = json!({"message": {"fingerprint": ["has already been taken"], "key": ["has already been taken"]}});
    let other_comment = ED25519.replace("ada@home", "mine");
    for client in [&ada, &eve] {
        assert_eq!(
            client.post("/user/keys", &[("title", "t"), ("key", &other_comment)]).await.status_and_body(),
            (400, &taken)
        );
    }
    // When an administrator adds a key for a user, every error is 404.
    for (path, key) in [("/users/3/keys", ED25519), ("/users/3/keys", "nonsense"), ("/users/99/keys", OTHER_ED25519)] {
        assert_eq!(server.admin.post(path, &[("title", "t"), ("key", key)]).await.status, 404, "{path} {key}");
    }
}

#[tokio::test]
async fn invalid_ssh_keys_are_reported_per_field() {
    let server = Server::start().await;
    let invalid = json!({"message": {"key": ["is invalid"], "fingerprint": ["cannot be generated"]}});
    let add = async |title: &str, key: &str| server.admin.post("/user/keys", &[("title", title), ("key", key)]).await;
    assert_eq!(add("t", "this is no key").await.status_and_body(), (400, &invalid));
    assert_eq!(add(" ", ED25519).await.status_and_body(), (400, &json!({"message": {"title": ["can't be blank"]}})));
    let two = format!("{ED25519}\n{OTHER_ED25519}");
    assert_eq!(
        add("t", &two).await.status_and_body(),
        (400, &json!({"message": {"key": ["should be a single line"]}}))
    );
    assert_eq!(server.admin.get("/user/keys").await.body, json!([]));
}

/// IDOR (such as Gogs GHSA-cv22-72px-f4gh): a key of another user is requested by its id alone.
#[tokio::test]
async fn ssh_keys_of_other_users_are_not_accessible() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let id = ada.post("/user/keys", &[("title", "t"), ("key", ED25519)]).await.body["id"].as_i64().unwrap();
    assert_eq!(
        eve.get(&format!("/user/keys/{id}")).await.status_and_body(),
        (404, &json!({"message": "404 Not found"}))
    );
    assert_eq!(eve.delete(&format!("/user/keys/{id}")).await.status_and_body(), (200, &json!(null)));
    let wrong_user = server.admin.delete(&format!("/users/3/keys/{id}")).await;
    assert_eq!(wrong_user.status_and_body(), (404, &json!({"message": "404 Key Not Found"})));
    assert_eq!(ada.get(&format!("/user/keys/{id}")).await.status, 200);
    assert_eq!(server.admin.delete(&format!("/users/2/keys/{id}")).await.body["id"], id);
    assert_eq!(ada.delete(&format!("/user/keys/{id}")).await.status_and_body(), (200, &json!(null)));
}
