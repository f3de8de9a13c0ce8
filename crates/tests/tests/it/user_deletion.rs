//! Deleting users: their own data is deleted, and their contributions to other projects move to the ghost account.

use holdfast_domain::ids::UserId;
use holdfast_tests::{Client, PASSWORD, Server};
use serde_json::{Value, json};

use crate::projects::add_member;

#[tokio::test]
async fn deletion_is_idempotent_and_removes_owned_data() {
    let server = Server::start().await;
    let before = server.dump_database().await;
    let (id, ada) = server.user("ada").await;
    ada.post("/user/emails", &[("email", "work@example.com")]).await;
    let project = server.project(&ada, "engine", 20).await;
    server.admin.post(&format!("/projects/{project}/star"), &[]).await;
    let path = format!("/users/{id}");
    let deleted = server.admin.delete(&path).await;
    assert_eq!((deleted.status, &deleted.body["username"]), (200, &json!("ada")));
    assert_eq!(server.admin.get(&format!("/projects/{project}")).await.status, 404);
    server.run_jobs().await;
    let mut after = server.dump_database().await;
    // Jobs and outbox rows remain and are not compared. The first deletion creates the ghost account.
    for table in ["jobs", "outbox", "outbox_queue"] {
        after[table] = before[table].clone();
    }
    let users = after["users"].as_array_mut().unwrap();
    assert_eq!(users.pop().map(|ghost| ghost["ghost"].clone()), Some(json!(true)));
    assert_eq!(after, before);
    assert_eq!(server.admin.delete(&path).await.status_and_body(), (200, &json!(null)));
    assert_eq!(ada.get("/user").await.status, 401);
}

/// A project of ada's with an issue by gus that has a note of ada's, and an issue by ada that has a note of gus's and
/// is assigned to gus.
struct DeletionFixture {
    server: Server,
    ada: Client,
    gus: UserId,
    project: i64,
    issues: [i64; 2],
}

impl DeletionFixture {
    async fn new() -> Self {
        let server = Server::start().await;
        let (_, ada) = server.user("ada").await;
        let (gus, client) = server.user("gus").await;
        let project = server.project(&ada, "engine", 20).await;
        add_member(&ada, &format!("/projects/{project}"), gus.get(), 40).await;
        server.push_first(&client, "ada/engine").await;
        let mut issues = [0; 2];
        for (issue, (author, other)) in issues.iter_mut().zip([(&client, &ada), (&ada, &client)]) {
            let form = [("title", "Title"), ("description", "Text"), ("assignee_id", &*gus.to_string())];
            let made = author.post(&format!("/projects/{project}/issues"), &form).await;
            assert_eq!(made.status, 201, "{}", made.text);
            *issue = made.body["id"].as_i64().unwrap();
            let path = format!("/projects/{project}/issues/{issue}/notes");
            assert_eq!(other.post(&path, &[("body", "a long answer")]).await.status, 201);
        }
        Self { server, ada, gus, project, issues }
    }

    /// Returns the authors that are shown for the issues, for the notes on each, and for the events.
    async fn authors(&self) -> Value {
        let names = |answer: &Value| answer.as_array().unwrap().iter().map(|it| it["author"]["name"].clone()).collect();
        let path = format!("/projects/{}", self.project);
        let issues = self.ada.get(&format!("{path}/issues")).await;
        assert_eq!(issues.header("x-total"), Some("2"));
        let mut shown: Vec<Vec<Value>> = vec![names(&issues.body)];
        for issue in self.issues {
            let one = self.ada.get(&format!("{path}/issues/{issue}")).await;
            assert_eq!((one.status, &one.body["description"]), (200, &json!("Text")));
            assert_eq!(one.body["user_notes_count"], 1);
            shown.push(names(&self.ada.get(&format!("{path}/issues/{issue}/notes")).await.body));
        }
        let events = self.ada.get(&format!("{path}/events")).await;
        let pushers = events.body.as_array().unwrap().iter().filter(|it| it["data"] != json!(null));
        shown.push(pushers.map(|it| it["data"]["user_name"].clone()).collect());
        shown.push(names(&events.body));
        json!(shown)
    }
}

/// An administrator deletes a user who opened issues in projects of others. Notes of others on these issues were
/// deleted with them, and so was the evidence of what the user had written. Now everything remains, and the ghost
/// account is its author from the response on.
#[tokio::test]
async fn content_of_a_deleted_user_belongs_to_the_ghost_account() {
    let fixture = DeletionFixture::new().await;
    let before = fixture.authors().await.to_string();
    assert!(before.contains("User gus"), "{before}");
    let expected: Value = serde_json::from_str(&before.replace("User gus", "Ghost User")).unwrap();
    let counted =
        |contents: &Value| ["issues", "notes", "events"].map(|table| contents[table].as_array().unwrap().len());
    let rows = counted(&fixture.server.dump_database().await);

    assert_eq!(fixture.server.admin.delete(&format!("/users/{}", fixture.gus)).await.status, 200);
    assert_eq!(fixture.authors().await, expected, "before the job");
    let assignee = async |issue: i64| {
        fixture.ada.get(&format!("/projects/{}/issues/{issue}", fixture.project)).await.body["assignee"].clone()
    };
    assert_eq!(assignee(fixture.issues[0]).await, json!(null));
    // An issue that is moved meanwhile keeps all its notes.
    let other = fixture.server.project(&fixture.ada, "other", 20).await;
    let path = format!("/projects/{}/issues/{}/move", fixture.project, fixture.issues[1]);
    let moved = fixture.ada.post(&path, &[("to_project_id", &*other.to_string())]).await;
    assert_eq!(moved.status, 201, "{}", moved.text);
    let notes = fixture.ada.get(&format!("/projects/{other}/issues/{}/notes", moved.body["id"])).await.body;
    assert_eq!((&notes[0]["author"]["username"], &notes[0]["body"]), (&json!("ghost"), &json!("a long answer")));
    fixture.server.admin.delete(&format!("/projects/{other}")).await;

    fixture.server.run_jobs().await;
    let contents = fixture.server.dump_database().await;
    // The move closed the issue and created two system notes and two events, one of which is in the deleted project.
    assert_eq!(counted(&contents), [rows[0], rows[1] + 2, rows[2] + 1]);
    let text = ["issues", "notes", "events", "event_authors"].map(|table| contents[table].to_string()).concat();
    assert!(!text.contains("gus"), "{text}");
    for table in ["issues", "notes", "events", "event_authors"] {
        for row in contents[table].as_array().unwrap() {
            assert_ne!(row["author_id"], json!(fixture.gus), "{table}");
            assert_ne!(row["assignee_id"], json!(fixture.gus), "{table}");
        }
    }
    let ghost = fixture.ada.get(&format!("/projects/{}/issues/{}", fixture.project, fixture.issues[0])).await.body;
    let feed = fixture.ada.get(&format!("/users/{}/events", ghost["author"]["id"])).await;
    assert!(feed.status == 200 && feed.body.as_array().unwrap().len() > 2, "{}", feed.text);
}

/// A job that a node of the previous version has enqueued, which would have deleted everything.
#[tokio::test]
async fn a_removal_that_was_queued_before_an_upgrade_deletes_nothing() {
    let fixture = DeletionFixture::new().await;
    let mut database = fixture.server.database().await;
    for statement in [
        "insert into jobs (id, task, subject, total, requested_at) values (99, 'remove_author', 'user ' || $1::bigint, 0, now())",
        "select graphile_worker.add_job('remove_author', json_build_object('job', 99, 'author', $1::bigint))",
        "delete from users where id = $1::bigint",
    ] {
        sqlx::query(statement).bind(fixture.gus.get()).execute(&mut database).await.unwrap();
    }
    fixture.server.run_jobs().await;
    let shown = fixture.authors().await.to_string();
    assert!(shown.contains("Ghost User") && shown.contains("User ada"), "{shown}");
}

/// The ghost account cannot be used or changed, because it stands for all deleted users.
#[tokio::test]
async fn the_ghost_account_cannot_be_used_or_changed() {
    let fixture = DeletionFixture::new().await;
    let (server, admin) = (&fixture.server, &fixture.server.admin);
    admin.delete(&format!("/users/{}", fixture.gus)).await;
    server.run_jobs().await;
    let id =
        fixture.ada.get(&format!("/projects/{}/issues/{}", fixture.project, fixture.issues[0])).await.body["author"]["id"]
            .as_i64()
            .unwrap();
    let shown = fixture.ada.get(&format!("/users/{id}")).await;
    assert_eq!(
        (shown.status, &shown.body["username"], &shown.body["state"]),
        (200, &json!("ghost"), &json!("blocked"))
    );
    for list in ["/users", "/users?blocked=true", "/users?search=ghost", "/users?username=ghost"] {
        let listed = admin.get(list).await;
        assert!(!listed.ids().contains(&id), "{list}");
    }

    let group = server.group(&fixture.ada, "team", 20).await;
    let before = server.dump_database().await;
    let user = id.to_string();
    let member = [("user_id", &*user), ("access_level", "30")];
    let (project, issue) = (fixture.project, fixture.issues[0]);
    let missing = json!({ "message": "404 User Not Found" });
    for (method, path, form) in [
        ("PUT", format!("/users/{id}"), &[("password", "another password")][..]),
        ("PUT", format!("/users/{id}/block"), &[]),
        ("PUT", format!("/users/{id}/unblock"), &[]),
        ("POST", format!("/users/{id}/keys"), &[("title", "t"), ("key", crate::ssh_keys::OTHER_ED25519)]),
        ("POST", format!("/users/{id}/emails"), &[("email", "ghost@example.com")]),
        ("POST", format!("/projects/user/{id}"), &[("name", "haunted")]),
        ("POST", format!("/projects/{project}/members"), &member),
        ("POST", format!("/groups/{group}/members"), &member),
    ] {
        let answer = admin.send(admin.request(method, &path).form(form)).await;
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text);
    }
    assert_eq!(admin.post(&format!("/projects/{project}/members"), &member).await.status_and_body(), (404, &missing));
    assert_eq!(admin.delete(&format!("/users/{id}")).await.status_and_body(), (200, &json!(null)));
    for sudo in [&*user, "ghost"] {
        assert_eq!(admin.get(&format!("/user?sudo={sudo}")).await.status, 404);
    }
    let form = [("assignee_id", &*user)];
    assert_eq!(fixture.ada.put(&format!("/projects/{project}/issues/{issue}"), &form).await.status, 400);
    for password in ["", "ghost", PASSWORD] {
        let form = [("login", "ghost"), ("password", password)];
        assert_ne!(server.anonymous().post("/session", &form).await.status, 201);
    }
    let form = [("username", "Ghost"), ("email", "g@example.com"), ("name", "G"), ("password", PASSWORD)];
    let taken = json!({ "message": "Username has already been taken" });
    assert_eq!(admin.post("/users", &form).await.status_and_body(), (409, &taken));
    assert_eq!(server.dump_database().await, before);
}

/// A user already has the name of the ghost account.
#[tokio::test]
async fn the_ghost_account_gets_a_free_username() {
    let fixture = DeletionFixture::new().await;
    let (id, client) = fixture.server.user("Ghost").await;
    fixture.server.group(&fixture.ada, "ghost1", 20).await;
    fixture.server.admin.delete(&format!("/users/{}", fixture.gus)).await;
    let issue = fixture.ada.get(&format!("/projects/{}/issues/{}", fixture.project, fixture.issues[0])).await.body;
    assert_eq!(issue["author"]["username"], "ghost2");
    assert_eq!(client.get("/user").await.body["id"], json!(id));
    // There is only one ghost account.
    fixture.server.admin.delete(&format!("/users/{id}")).await;
    fixture.server.run_jobs().await;
    let ghosts: i64 = sqlx::query_scalar("select count(*) from users where ghost")
        .fetch_one(&mut fixture.server.database().await)
        .await
        .unwrap();
    assert_eq!(ghosts, 1);
}
