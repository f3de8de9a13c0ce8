use holdfast_tests::{PASSWORD, Server, user_attributes};
use insta::assert_json_snapshot;
use serde_json::json;

#[tokio::test]
async fn the_current_user_is_shown_in_full() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let answer = ada.get("/user").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_json_snapshot!(answer.body, @r#"
    {
      "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
      "bio": null,
      "can_create_group": true,
      "can_create_project": true,
      "color_scheme_id": 1,
      "confirmed_at": "2026-01-02T03:04:05.678Z",
      "created_at": "2026-01-02T03:04:05.678Z",
      "current_sign_in_at": null,
      "email": "ada@example.com",
      "external": false,
      "id": 2,
      "identities": [],
      "is_admin": false,
      "last_sign_in_at": null,
      "linkedin": "",
      "location": null,
      "name": "User ada",
      "organization": "",
      "projects_limit": 100,
      "skype": "",
      "state": "active",
      "theme_id": 2,
      "twitter": "",
      "two_factor_enabled": false,
      "username": "ada",
      "web_url": "http://holdfast.test/ada",
      "website_url": ""
    }
    "#);
}

#[tokio::test]
async fn other_users_see_a_profile_and_a_summary_in_lists() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    assert_json_snapshot!(ada.get("/users/1").await.body, @r#"
    {
      "avatar_url": "http://www.gravatar.com/avatar/04edfc0ef6c6cf6d6b88fbc69f9f9071?s=80&d=identicon",
      "bio": null,
      "created_at": "2026-01-02T03:04:05.678Z",
      "id": 1,
      "is_admin": true,
      "linkedin": "",
      "location": null,
      "name": "User root",
      "organization": "",
      "skype": "",
      "state": "active",
      "twitter": "",
      "username": "root",
      "web_url": "http://holdfast.test/root",
      "website_url": ""
    }
    "#);
    assert_json_snapshot!(ada.get("/users?username=root").await.body, @r#"
    [
      {
        "avatar_url": "http://www.gravatar.com/avatar/04edfc0ef6c6cf6d6b88fbc69f9f9071?s=80&d=identicon",
        "id": 1,
        "name": "User root",
        "state": "active",
        "username": "root",
        "web_url": "http://holdfast.test/root"
      }
    ]
    "#);
}

#[tokio::test]
async fn administrators_see_all_user_attributes() {
    let server = Server::start().await;
    server.user("ada").await;
    let full = server.admin.get("/users/2").await.body;
    assert_eq!(full["email"], "ada@example.com");
    assert_eq!(server.admin.get("/users?search=ada").await.body, json!([full]));
}

#[tokio::test]
async fn creation_accepts_json_form_query_and_multipart() {
    let server = Server::start().await;
    let fields = |username: &str| {
        [
            ("username".to_owned(), username.to_owned()),
            ("email".to_owned(), format!("{username}@example.com")),
            ("name".to_owned(), "Somebody".to_owned()),
            ("password".to_owned(), PASSWORD.to_owned()),
            ("admin".to_owned(), "true".to_owned()),
            ("bio".to_owned(), "naïve ☃".to_owned()),
        ]
    };
    let request = || server.admin.request("POST", "/users");
    let json: serde_json::Map<_, _> = fields("json").into_iter().map(|(name, value)| (name, value.into())).collect();
    let multipart = fields("multipart")
        .into_iter()
        .fold(reqwest::multipart::Form::new(), |form, (name, value)| form.text(name, value));
    let requests = [
        request().json(&json),
        request().form(&fields("form")),
        request().query(&fields("query")),
        request().multipart(multipart),
    ];
    for sent in requests {
        let answer = server.admin.send(sent).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        assert_eq!(answer.body["is_admin"], true);
        assert_eq!(answer.body["bio"], "naïve ☃");
    }
}

#[tokio::test]
async fn all_missing_parameters_are_reported() {
    let server = Server::start().await;
    let before = server.dump_database().await;
    let answer = server.admin.post("/users", &[("email", "x@example.com")]).await;
    assert_eq!(
        answer.status_and_body(),
        (400, &json!({"error": "password is missing, name is missing, username is missing"}))
    );
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn all_invalid_attributes_are_reported() {
    let server = Server::start().await;
    let before = server.dump_database().await;
    let form = [
        ("email", "no address"),
        ("password", "short"),
        ("username", "../etc"),
        ("name", " "),
        ("projects_limit", "-1"),
        ("provider", "ldapmain"),
    ];
    let answer = server.admin.post("/users", &form).await;
    assert_eq!(answer.status, 400);
    assert_json_snapshot!(answer.body, @r#"
    {
      "message": {
        "email": [
          "is invalid"
        ],
        "extern_uid": [
          "can't be blank"
        ],
        "name": [
          "can't be blank"
        ],
        "password": [
          "is too short (minimum is 8 characters)"
        ],
        "projects_limit": [
          "must be greater than or equal to 0"
        ],
        "username": [
          "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."
        ]
      }
    }
    "#);
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn a_taken_address_is_reported_before_a_taken_username() {
    let server = Server::start().await;
    server.user("ada").await;
    let create = async |username: &str, email: &str| {
        let form = [("username", username), ("email", email), ("name", "x"), ("password", PASSWORD)];
        server.admin.post("/users", &form).await
    };
    let before = server.dump_database().await;
    let taken_email = json!({"message": "Email has already been taken"});
    assert_eq!(create("ADA", "Ada@Example.com").await.status_and_body(), (409, &taken_email));
    assert_eq!(create("grace", "ada@example.com").await.status_and_body(), (409, &taken_email));
    let taken_username = json!({"message": "Username has already been taken"});
    assert_eq!(create("ADA", "other@example.com").await.status_and_body(), (409, &taken_username));
    assert_eq!(server.dump_database().await, before);
    server.group(&server.admin, "team", 20).await;
    let taken_by_group = json!({"message": {"username": ["has already been taken"]}});
    assert_eq!(create("Team", "team@example.com").await.status_and_body(), (400, &taken_by_group));
}

#[tokio::test]
async fn an_update_changes_only_given_attributes() {
    let server = Server::start().await;
    server.user("ada").await;
    let before = server.admin.get("/users/2").await.body;
    let answer = server.admin.put("/users/2", &[("location", "Town"), ("skype", "ada.l")]).await;
    assert_eq!(answer.status, 200);
    let mut expected = before;
    expected["location"] = "Town".into();
    expected["skype"] = "ada.l".into();
    assert_eq!(answer.body, expected);
    assert_eq!(server.admin.get("/users/2").await.body, expected);
    // An empty text clears an attribute, and so does null.
    let cleared =
        server.admin.send(server.admin.request("PUT", "/users/2").json(&json!({"location": null, "skype": ""})));
    let cleared = cleared.await.body;
    assert_eq!((&cleared["location"], &cleared["skype"]), (&json!(null), &json!("")));
}

#[tokio::test]
async fn a_conflicting_update_is_not_found_and_changes_nothing() {
    let server = Server::start().await;
    server.user("ada").await;
    server.user("grace").await;
    server.group(&server.admin, "team", 0).await;
    let before = server.dump_database().await;
    for form in [("email", "ada@example.com"), ("username", "ADA"), ("username", "team")] {
        let answer = server.admin.put("/users/3", &[form, ("bio", "changed")]).await;
        assert_eq!(answer.status, 404, "{form:?}");
    }
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn a_new_username_moves_the_namespace() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    assert_eq!(server.admin.put("/users/2", &[("username", "lovelace")]).await.status, 200);
    let namespaces = ada.get("/namespaces").await.body;
    assert_eq!(namespaces[0]["path"], "lovelace");
    assert_eq!(namespaces[0]["name"], "lovelace");
    // The old name is free again.
    server.group(&ada, "ada", 20).await;
}

#[tokio::test]
async fn a_secondary_address_can_become_the_primary_one() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    assert_eq!(ada.post("/user/emails", &[("email", "work@example.com")]).await.status, 201);
    assert_eq!(server.admin.put("/users/2", &[("email", "work@example.com")]).await.status, 200);
    assert_eq!(ada.get("/user").await.body["email"], "work@example.com");
    assert_eq!(ada.get("/user/emails").await.body[0]["email"], "ada@example.com");
}

#[tokio::test]
async fn the_only_owner_of_a_group_is_not_deleted() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    server.user("grace").await;
    let group = server.group(&ada, "team", 20).await;
    let before = server.dump_database().await;
    let refused = server.admin.delete("/users/2").await;
    assert_eq!(refused.status, 409);
    assert!(refused.body["message"].as_str().unwrap().contains("team"), "{}", refused.body);
    assert_eq!(server.dump_database().await, before);
    let members = format!("/groups/{group}/members");
    assert_eq!(ada.post(&members, &[("user_id", "3"), ("access_level", "50")]).await.status, 201);
    assert_eq!(server.admin.delete("/users/2").await.status, 200);
    assert_eq!(server.admin.get(&members).await.ids(), [3]);
}

#[tokio::test]
async fn blocking_returns_whether_the_state_changed() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let put = async |path: &str| server.admin.put(path, &[]).await;
    assert_eq!(put("/users/2/block").await.status_and_body(), (200, &json!(true)));
    assert_eq!(ada.get("/user").await.status, 401);
    assert_eq!(put("/users/2/block").await.status_and_body(), (200, &json!(false)));
    assert_eq!(put("/users/2/unblock").await.status_and_body(), (200, &json!(true)));
    assert_eq!(ada.get("/user").await.status, 200);
    assert_eq!(put("/users/2/unblock").await.status_and_body(), (200, &json!(false)));
    assert_eq!(put("/users/99/block").await.status_and_body(), (404, &json!({"message": "404 User Not Found"})));
}

#[tokio::test]
async fn directory_blocks_can_only_be_lifted_by_the_directory() {
    use holdfast_app::{Actor, accounts::user};
    let server = Server::start().await;
    let (id, _) = server.user("ada").await;
    user::set_directory_block(&server.app, &Actor::Operator, id, true).await.unwrap();
    for (path, reason) in [
        ("/users/2/block", "403 Forbidden  - LDAP blocked users cannot be modified by the API"),
        ("/users/2/unblock", "403 Forbidden  - LDAP blocked users cannot be unblocked by the API"),
    ] {
        assert_eq!(server.admin.put(path, &[]).await.status_and_body(), (403, &json!({"message": reason})));
    }
    assert_eq!(server.admin.get("/users/2").await.body["state"], "blocked");
    assert_eq!(server.admin.get("/users?blocked=true").await.ids(), [2]);
}

#[tokio::test]
async fn external_users_create_nothing_unless_allowed() {
    let server = Server::start().await;
    let external = holdfast_app::accounts::user::UserChanges { external: Some(true), ..user_attributes("guest") };
    let (_, guest) = server.user_with(external).await;
    let body = guest.get("/user").await.body;
    assert_eq!((&body["can_create_group"], &body["projects_limit"]), (&json!(false), &json!(0)));
    let form = [("name", "x"), ("path", "x")];
    assert_eq!(guest.post("/groups", &form).await.status, 403);
    assert_eq!(server.admin.get("/users?external=true").await.ids(), [2]);
    // Only administrators can filter by external users.
    let (_, ada) = server.user("ada").await;
    assert_eq!(ada.get("/users?external=true").await.ids(), [3, 2, 1]);
}

#[tokio::test]
async fn search_matches_parts_of_username_and_address_literally() {
    let server = Server::start().await;
    server.user("ada_l").await;
    server.user("adaxl").await;
    for (term, found) in
        [("ADA", vec![3, 2]), ("a_l", vec![2]), ("l%40example", vec![3, 2]), ("%25", vec![]), ("User", vec![])]
    {
        assert_eq!(server.admin.get(&format!("/users?search={term}")).await.ids(), found, "{term}");
    }
    // A search matches neither across both fields nor by name.
    assert_eq!(server.admin.get("/users?search=l%0Aada").await.ids(), [] as [i64; 0]);
}

#[tokio::test]
async fn empty_parameters_count_as_absent() {
    let server = Server::start().await;
    let form = [
        ("username", "ada"),
        ("email", "ada@example.com"),
        ("name", "Ada"),
        ("password", PASSWORD),
        ("projects_limit", ""),
        ("can_create_group", ""),
        ("admin", ""),
    ];
    let made = server.admin.post("/users", &form).await.body;
    assert_eq!(
        (&made["projects_limit"], &made["can_create_group"], &made["is_admin"]),
        (&json!(100), &json!(true), &json!(false))
    );
    assert_eq!(server.admin.get("/users?username=&search=").await.ids(), [2, 1]);
}

#[tokio::test]
async fn the_directory_lifts_only_its_own_blocks() {
    use holdfast_app::{Actor, accounts::user};
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    server.admin.put("/users/2/block", &[]).await;
    assert!(!user::set_directory_block(&server.app, &Actor::Operator, id, false).await.unwrap());
    assert_eq!(ada.get("/user").await.status, 401);
    server.admin.put("/users/2/unblock", &[]).await;
    assert!(user::set_directory_block(&server.app, &Actor::Operator, id, true).await.unwrap());
    assert!(user::set_directory_block(&server.app, &Actor::Operator, id, false).await.unwrap());
    assert_eq!(ada.get("/user").await.status, 200);
}

/// A line break or a bidirectional control character makes one name look like another.
#[tokio::test]
async fn control_characters_in_profile_fields_are_rejected() {
    let server = Server::start().await;
    server.user("ada").await;
    let before = server.dump_database().await;
    for text in ["a\nb", "a\rb", "a\tb", "a\u{1b}[31m", "a\u{202e}b", "a\u{2066}b"] {
        for field in ["name", "location", "organization", "website_url"] {
            let answer = server.admin.put("/users/2", &[(field, text)]).await;
            assert_eq!(answer.status_and_body(), (400, &json!({"message": {field: ["is invalid"]}})), "{text:?}");
        }
        assert_eq!(server.admin.post("/user/personal_access_tokens", &[("name", text)]).await.status, 400);
    }
    assert_eq!(server.dump_database().await, before);
    assert_eq!(server.admin.put("/users/2", &[("bio", "two\nlines"), ("password", "")]).await.status, 200);
}

/// A user is deleted while something is being added to the account.
#[tokio::test]
async fn additions_to_a_concurrently_deleted_user_are_not_found() {
    let server = Server::start().await;
    server.user("ada").await;
    for round in 0..10 {
        let (id, eve) = server.user(&format!("eve{round}")).await;
        let key = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI", &format!("{round:043}")].concat();
        let path = format!("/users/{id}");
        let form = [("title", "t"), ("key", key.as_str())];
        let (deleted, added) = tokio::join!(server.admin.delete(&path), eve.post("/user/keys", &form));
        assert_eq!(deleted.status, 200);
        assert!([201, 400, 401, 404].contains(&added.status), "{}", added.text);
    }
}
