//! Projects: create, read, update, move, delete.

use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::{Client, Server, user_attributes};
use serde_json::json;

#[tokio::test]
async fn a_new_project_shows_everything_the_specification_lists() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let made = ada.post("/projects", &[("name", "My Engine")]).await;
    assert_eq!(made.status, 201);
    insta::assert_json_snapshot!(made.body, @r#"
    {
      "archived": false,
      "avatar_url": null,
      "builds_enabled": true,
      "container_registry_enabled": true,
      "created_at": "2026-01-02T03:04:05.678Z",
      "creator_id": 2,
      "default_branch": null,
      "description": null,
      "forks_count": 0,
      "http_url_to_repo": "http://holdfast.test/ada/my-engine.git",
      "id": 1,
      "issues_enabled": true,
      "last_activity_at": "2026-01-02T03:04:05.678Z",
      "lfs_enabled": true,
      "merge_requests_enabled": true,
      "name": "My Engine",
      "name_with_namespace": "User ada / My Engine",
      "namespace": {
        "created_at": "2026-01-02T03:04:05.678Z",
        "description": "",
        "id": 2,
        "name": "ada",
        "owner_id": 2,
        "path": "ada",
        "share_with_group_lock": false,
        "updated_at": "2026-01-02T03:04:05.678Z",
        "visibility_level": 20
      },
      "only_allow_merge_if_all_discussions_are_resolved": false,
      "only_allow_merge_if_build_succeeds": false,
      "open_issues_count": 0,
      "owner": {
        "avatar_url": "http://www.gravatar.com/avatar/3e3417d7ef77d5932a6734b916515ed5?s=80&d=identicon",
        "created_at": "2026-01-02T03:04:05.678Z",
        "id": 2,
        "name": "User ada",
        "state": "active",
        "username": "ada",
        "web_url": "http://holdfast.test/ada"
      },
      "path": "my-engine",
      "path_with_namespace": "ada/my-engine",
      "permissions": {
        "group_access": null,
        "project_access": {
          "access_level": 40,
          "notification_level": 3
        }
      },
      "public": false,
      "public_builds": true,
      "request_access_enabled": false,
      "runners_token": "a39affcd0295c86e0940bd2425d6bc316e54105d",
      "shared_runners_enabled": true,
      "shared_with_groups": [],
      "snippets_enabled": false,
      "ssh_url_to_repo": "git@holdfast.test:ada/my-engine.git",
      "star_count": 0,
      "tag_list": [],
      "visibility_level": 0,
      "web_url": "http://holdfast.test/ada/my-engine",
      "wiki_enabled": true
    }
    "#);
    let shown = ada.get("/projects/ada%2Fmy-engine").await;
    assert_eq!(shown.status_and_body(), (200, &made.body));
    assert_eq!(ada.get("/projects/ADA%2FMY-ENGINE").await.body, made.body);
    let simple = ada.get("/projects?simple=true").await;
    insta::assert_json_snapshot!(simple.body, @r#"
    [
      {
        "http_url_to_repo": "http://holdfast.test/ada/my-engine.git",
        "id": 1,
        "name": "My Engine",
        "name_with_namespace": "User ada / My Engine",
        "path": "my-engine",
        "path_with_namespace": "ada/my-engine",
        "web_url": "http://holdfast.test/ada/my-engine"
      }
    ]
    "#);
}

#[tokio::test]
async fn project_errors_are_reported_per_field() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 10).await.to_string();
    server.project(&ada, "engine", 0).await;
    let long = "x".repeat(2001);
    let cases: &[(&[(&str, &str)], serde_json::Value)] = &[
        (&[("name", "")], json!({"name": ["can't be blank"], "path": ["can't be blank"]})),
        (&[("name", "engine"), ("path", "other")], json!({"name": ["has already been taken"]})),
        (&[("name", "other"), ("path", "ENGINE")], json!({"path": ["has already been taken"]})),
        // The wiki of a project uses this path.
        (&[("name", "other"), ("path", "engine.wiki")], json!({"path": ["has already been taken"]})),
        (
            &[("name", "x"), ("description", &long)],
            json!({"description": ["is too long (maximum is 2000 characters)"]}),
        ),
        (&[("name", "x"), ("namespace_id", "99")], json!({"namespace": ["is not valid"]})),
        (&[("name", "x"), ("namespace_id", "1")], json!({"namespace": ["is not valid"]})),
        (
            &[("name", "x"), ("namespace_id", &group), ("public", "true")],
            json!({"visibility_level": ["public is not allowed in a internal group."]}),
        ),
    ];
    let before = server.dump_database().await;
    for (form, messages) in cases {
        let answer = ada.post("/projects", form).await;
        assert_eq!(answer.status_and_body(), (400, &json!({ "message": messages })), "{form:?}");
    }
    assert_eq!(ada.post("/projects", &[]).await.status_and_body(), (400, &json!({"error": "name is missing"})));
    let wrong = ada.post("/projects", &[("name", "x"), ("visibility_level", "5"), ("builds_enabled", "often")]).await;
    assert_eq!(
        wrong.status_and_body(),
        (400, &json!({"error": "builds_enabled is invalid, visibility_level does not have a valid value"}))
    );
    assert_eq!(server.dump_database().await, before);
}

/// Path traversal by names (Gogs CVE-2026-52813, GitLab CVE-2020-10977): project names cannot contain paths.
#[tokio::test]
async fn project_names_cannot_traverse_paths() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    let before = server.dump_database().await;
    for path in ["..", ".", "../x", "a/b", "-x", "x.git", "x.atom", "a b", "a\u{0}b", "a%2fb", "a\\b", "ä"] {
        let created = ada.post("/projects", &[("name", "x"), ("path", path)]).await;
        let changed = ada.put(&format!("/projects/{project}"), &[("path", path)]).await;
        assert_eq!((created.status, changed.status), (400, 400), "{path:?}");
    }
    assert_eq!(server.dump_database().await, before);
}

#[tokio::test]
async fn the_project_limit_counts_only_the_personal_namespace() {
    let server = Server::start().await;
    let (id, ada) = server.user_with(UserChanges { projects_limit: Some(1), ..user_attributes("ada") }).await;
    let group = server.group(&ada, "team", 20).await;
    assert_eq!(ada.get("/user").await.body["can_create_project"], true);
    let own = server.project(&ada, "one", 0).await;
    assert_eq!(ada.get("/user").await.body["can_create_project"], false);
    let text = "Your project limit is 1 projects! Please contact your administrator to increase it";
    assert_eq!(ada.post("/projects", &[("name", "two")]).await.status_and_body(), (403, &json!({ "error": [text] })));
    let for_ada = server.admin.post(&format!("/projects/user/{id}"), &[("name", "two")]).await;
    assert_eq!(for_ada.status_and_body(), (400, &json!({"message": {"limit_reached": [text]}})));
    server.project_in(&ada, "in-group", 0, Some(group)).await;
    assert_eq!(ada.delete(&format!("/projects/{own}")).await.status_and_body(), (200, &json!(true)));
    server.project(&ada, "two", 0).await;
    let (_, none) = server.user_with(UserChanges { projects_limit: Some(0), ..user_attributes("bob") }).await;
    let refused = none.post("/projects", &[("name", "x")]).await;
    assert!(refused.text.contains("Personal project creation is not allowed"), "{}", refused.text);
}

#[tokio::test]
async fn masters_edit_but_only_owners_rename_or_change_visibility() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let project = server.project(&ada, "engine", 0).await;
    let path = format!("/projects/{project}");
    add_member(&ada, &path, bob_id.get(), 40).await;
    let edited = bob.put(&path, &[("name", "engine"), ("description", "d"), ("wiki_enabled", "false")]).await;
    assert_eq!((edited.status, &edited.body["description"]), (200, &json!("d")));
    assert_eq!(edited.body["wiki_enabled"], false);
    for form in [("name", "motor"), ("visibility_level", "20"), ("public", "true")] {
        assert_eq!(bob.put(&path, &[form]).await.status, 403, "{form:?}");
    }
    assert_eq!(ada.put(&path, &[("name", "Motor"), ("public", "true")]).await.body["visibility_level"], 20);
    // An empty description clears it; missing attributes keep their values.
    let cleared = ada.put(&path, &[("description", "")]).await.body;
    assert_eq!((&cleared["description"], &cleared["name"]), (&json!(""), &json!("Motor")));
}

#[tokio::test]
async fn old_paths_redirect_to_the_project() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (_, eve) = server.user("eve").await;
    let group = server.group(&ada, "team", 20).await;
    let project = server.project_in(&ada, "engine", 0, Some(group)).await;
    let path = format!("/projects/{project}");
    assert_eq!(ada.put(&path, &[("name", "motor"), ("path", "motor")]).await.body["path_with_namespace"], "team/motor");
    assert_eq!(ada.put(&format!("/groups/{group}"), &[("name", "crew"), ("path", "crew")]).await.status, 200);
    for old in ["team%2Fengine", "team%2Fmotor", "crew%2Fengine", "crew%2Fmotor", "TEAM%2FENGINE"] {
        let found = ada.get(&format!("/projects/{old}")).await;
        assert_eq!((found.status, &found.body["path_with_namespace"]), (200, &json!("crew/motor")), "{old}");
        // The former path of a private project has the same response as an unknown path.
        assert_eq!(
            eve.get(&format!("/projects/{old}")).await.status_and_body(),
            (404, &json!({"message": "404 Project Not Found"}))
        );
    }
    assert_eq!(ada.get("/groups/team").await.body["path"], "crew");
    assert_eq!(server.admin.put("/users/2", &[("username", "lovelace")]).await.status, 200);
    let own = server.project(&ada, "notes", 0).await;
    assert_eq!(ada.get("/projects/ada%2Fnotes").await.body["id"], own);

    // A current path takes precedence over a former one.
    let newcomer = server.project_in(&ada, "engine", 0, Some(group)).await;
    assert_eq!(ada.get("/projects/crew%2Fengine").await.body["id"], newcomer);
    let taken = server.group(&ada, "team", 20).await;
    assert_eq!(ada.get("/groups/team").await.body["id"], taken);
    assert_eq!(ada.get("/projects/team%2Fmotor").await.body["id"], project);
    // A project cannot be deleted by its former path.
    assert_eq!(ada.delete("/projects/team%2Fmotor").await.status, 404);
    assert_eq!(ada.delete("/projects/crew%2Fmotor").await.status, 200);
    assert_eq!(ada.get("/projects/team%2Fmotor").await.status, 404);
}

/// An administrator creates a project in any namespace on behalf of a user.
#[tokio::test]
async fn administrators_create_projects_for_other_users() {
    let server = Server::start().await;
    let (id, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 20).await.to_string();
    let path = format!("/projects/user/{id}");
    let own = server.admin.post(&path, &[("name", "own")]).await.body;
    assert_eq!((&own["path_with_namespace"], &own["creator_id"]), (&json!("ada/own"), &json!(id.get())));
    let theirs = server.admin.post(&path, &[("name", "theirs"), ("namespace_id", &group)]).await.body;
    assert_eq!((&theirs["path_with_namespace"], &theirs["creator_id"]), (&json!("team/theirs"), &json!(id.get())));
    assert_eq!(
        server.admin.post("/projects/user/99", &[("name", "x")]).await.status_and_body(),
        (404, &json!({"message": "404 User Not Found"}))
    );
}

#[tokio::test]
async fn a_transfer_moves_the_project_and_redirects_its_old_path() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 10).await;
    let project = server.project(&ada, "engine", 20).await;
    let moved = server.admin.post(&format!("/groups/team/projects/{project}"), &[]).await;
    assert_eq!((moved.status, &moved.body["id"]), (201, &json!(group)));
    let shown = &moved.body["projects"][0];
    assert_eq!(shown["path_with_namespace"], "team/engine");
    assert_eq!(shown["visibility_level"], 10, "no more visible than the group");
    assert_eq!(ada.get("/projects/ada%2Fengine").await.body["id"], project);
    let again = server.admin.post(&format!("/groups/{group}/projects/{project}"), &[]).await;
    assert_eq!(
        again.status_and_body(),
        (400, &json!({"message": "Failed to transfer project {:new_namespace=>[\"is invalid\"]}"}))
    );
    let namesake = server.project(&ada, "engine", 20).await;
    let refused = server.admin.post(&format!("/groups/{group}/projects/{namesake}"), &[]).await;
    assert!(refused.text.contains("Project with same path in target namespace already exists"), "{}", refused.text);
    assert_eq!(server.admin.post(&format!("/groups/999/projects/{namesake}"), &[]).await.status, 404);
    assert_eq!(server.admin.post(&format!("/groups/{group}/projects/999"), &[]).await.status, 404);
}

/// Path traversal by the names in a transfer (Gogs CVE-2026-52813): only an existing group and an existing project are
/// accepted.
#[tokio::test]
async fn transfers_require_existing_groups_and_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 20).await;
    let project = server.project(&ada, "engine", 20).await;
    let before = (server.dump_database().await, list_files(&server));
    let (group, project) = (group.to_string(), project.to_string());
    let encode = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let of_group = |text: &str| [text.to_owned(), format!("../{text}"), format!("{text}/.."), format!("./{text}")];
    let spelled = |id: &str| {
        [format!("+{id}"), format!("0x{id}"), format!("{id}.0"), format!("{id}e0"), format!(" {id}"), format!("{id}\n")]
    };
    let odd = ["..", ".", "", "/", "../..", "..\\..", "-1", "--help", "a\0b", "%2e%2e", "'; --", "*", "\u{202e}maet"];
    let mut groups: Vec<String> = odd.iter().map(|text| (*text).to_owned()).chain(spelled(&group)).collect();
    groups.extend(of_group("team").into_iter().skip(1));
    // The namespace of a user is not a group.
    groups.push("ada".into());
    let mut projects: Vec<String> = odd.iter().map(|text| (*text).to_owned()).chain(spelled(&project)).collect();
    projects.extend(of_group("ada/engine").into_iter().skip(1));
    projects.extend(["engine", "ada/../ada/engine", "ada//engine", "ada\\engine", "ada/engine.git"].map(str::to_owned));
    let attempts = groups.iter().map(|odd| (odd, &project)).chain(projects.iter().map(|odd| (&group, odd)));
    for (group, project) in attempts {
        let path = format!("/groups/{}/projects/{}", encode(group), encode(project));
        let refused = server.admin.post(&path, &[]).await;
        assert!(matches!(refused.status, 400 | 404), "{group:?} {project:?}: {} {}", refused.status, refused.text);
    }
    assert_eq!((server.dump_database().await, list_files(&server)), before);
    // The group and the project can be given by path.
    let path = format!("/groups/{}/projects/{}", encode("team"), encode("ada/engine"));
    assert_eq!(server.admin.post(&path, &[]).await.status, 201);
}

/// Returns the paths of all files and directories of a node, in the object store and in its cache.
fn list_files(server: &Server) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![server.directory.path().to_owned(), server.cache.path().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.display().to_string());
            if path.is_dir() {
                directories.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Path traversal in general: names become parts of file paths. Here only ids do, so no file path contains the name of
/// a user, a group, a project, a branch, a tag or a file, whether by creation, renaming, transfer, fork or push.
#[tokio::test]
async fn stored_file_paths_contain_no_names() {
    let server = Server::start().await;
    let (_, ada) = server.user("zebra-user").await;
    let group = server.group(&ada, "zebra-group", 20).await;
    let project = server.project(&ada, "zebra-project", 20).await;
    let tree = holdfast_tests::WorkTree::new().await;
    tree.commit("zebra-directory/zebra-file", b"content\n", "zebra").await;
    tree.git(["tag", "-a", "-m", "zebra", "zebra-tag"]).await.ok();
    tree.push(&server.git_url(&ada, "zebra-user/zebra-project"), &["main:zebra-branch", "main", "zebra-tag"])
        .await
        .ok();
    let path = format!("/projects/{project}");
    assert_eq!(crate::uploads::upload(&ada, project, "zebra-upload.txt", b"x").await.status, 201);
    let branch = [("branch_name", "zebra-made"), ("ref", "main")];
    assert_eq!(ada.post(&format!("{path}/repository/branches"), &branch).await.status, 200);
    assert_eq!(ada.put(&path, &[("name", "zebra-renamed"), ("path", "zebra-renamed")]).await.status, 200);
    assert_eq!(server.admin.post(&format!("/groups/{group}/projects/{project}"), &[]).await.status, 201);
    let renamed = [("path", "zebra-renamed-group"), ("name", "zebra-renamed-group")];
    assert_eq!(ada.put(&format!("/groups/{group}"), &renamed).await.status, 200);
    let fork = ada.post(&format!("/projects/fork/{project}"), &[("namespace", "zebra-user")]).await;
    assert_eq!(fork.status, 201, "{}", fork.text);
    server.run_jobs().await;
    for path in ["zebra-renamed-group/zebra-renamed", "zebra-user/zebra-renamed"] {
        let (cloned, clone) = holdfast_tests::WorkTree::clone(&server.git_url(&ada, path), &["-b", "zebra-made"]).await;
        cloned.ok();
        clone.commit("zebra-more", path.as_bytes(), "more").await;
        clone.push(&server.git_url(&ada, path), &["zebra-made:zebra-pushed"]).await.ok();
    }
    let archive = ada.request("GET", &format!("{path}/repository/archive.zip")).send().await.unwrap();
    assert_eq!(archive.status(), 200);
    archive.bytes().await.unwrap();
    let found = list_files(&server);
    assert!(found.iter().any(|file| file.ends_with(".pack")) && found.len() > 10, "{found:?}");
    let named: Vec<_> = found.iter().filter(|file| file.contains("zebra")).collect();
    assert!(named.is_empty(), "{named:?}");
}

#[tokio::test]
async fn a_group_is_never_less_visible_than_its_projects() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let group = server.group(&ada, "team", 20).await;
    server.project_in(&ada, "engine", 10, Some(group)).await;
    let path = format!("/groups/{group}");
    let text = "private is not allowed since there are projects with higher visibility.";
    let refused = ada.put(&path, &[("visibility_level", "0")]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({"message": {"visibility_level": [text]}})));
    assert_eq!(ada.put(&path, &[("visibility_level", "10")]).await.status, 200);
}

#[tokio::test]
async fn archived_projects_are_read_only() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "engine", 0).await;
    let path = format!("/projects/{project}");
    assert_eq!(ada.post(&format!("{path}/archive"), &[]).await.body["archived"], true);
    assert_eq!(ada.post(&format!("{path}/archive"), &[]).await.status, 201);
    let upload = crate::uploads::upload(&ada, project, "a.txt", b"a").await;
    let text = "403 Forbidden  - The project is archived. Unarchive it to change its content";
    assert_eq!(upload.status_and_body(), (403, &json!({ "message": text })));
    assert_eq!(ada.post(&format!("{path}/unarchive"), &[]).await.body["archived"], false);
    assert_eq!(crate::uploads::upload(&ada, project, "a.txt", b"a").await.status, 201);
}

#[tokio::test]
async fn stars_are_counted_once_each() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let project = server.project(&ada, "engine", 20).await;
    let path = format!("/projects/{project}/star");
    assert_eq!(ada.post(&path, &[]).await.body["star_count"], 1);
    assert_eq!(bob.post(&path, &[]).await.body["star_count"], 2);
    let again = ada.post(&path, &[]).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    assert_eq!(ada.delete(&path).await.body["star_count"], 1);
    assert_eq!(ada.delete(&path).await.status, 304);
    assert_eq!(bob.get("/projects/starred").await.ids(), [project]);
    server.admin.delete(&format!("/users/{bob_id}")).await;
    assert_eq!(ada.get(&format!("/projects/{project}")).await.body["star_count"], 0);
}

/// A deleted group disappears from every entry point at once. A job that can be interrupted and resumed deletes all its
/// rows and objects.
#[tokio::test]
async fn a_deleted_group_is_hidden_at_once_and_removed_by_a_job() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let before = server.dump_database().await;
    let group = server.group(&ada, "team", 20).await;
    let mut projects = Vec::new();
    for n in 0..5 {
        let project = server.project_in(&ada, &format!("p{n}"), 20, Some(group)).await;
        let path = format!("/projects/{project}");
        assert_eq!(crate::uploads::upload(&ada, project, "a.txt", b"bytes").await.status, 201);
        ada.post(&format!("{path}/hooks"), &[("url", "http://hook.example")]).await;
        add_member(&ada, &path, bob_id.get(), 10).await;
        bob.post(&format!("{path}/star"), &[]).await;
        projects.push(project);
    }
    assert_eq!(ada.delete("/groups/team").await.status, 200);
    let event_count: i64 = sqlx::query_scalar(
        "select count(*) from outbox where kind = 'project_destroy' and payload ->> 'owner_name' = 'team'",
    )
    .fetch_one(&mut server.database().await)
    .await
    .unwrap();
    assert_eq!(event_count, 5);
    for client in [&ada, &bob, &server.admin] {
        for path in ["/groups/team".into(), format!("/projects/{}", projects[0]), "/projects/team%2Fp0".into()] {
            assert_eq!(client.get(&path).await.status, 404, "{path}");
        }
        for list in ["/projects", "/projects/visible", "/projects/owned", "/projects/starred", "/users/2/events"] {
            assert_eq!(client.get(list).await.body, json!([]), "{list}");
        }
    }
    assert_eq!(server.admin.get("/projects/all").await.body, json!([]));
    server.group(&ada, "team", 20).await;
    ada.delete("/groups/team").await;

    server.run_jobs().await;
    let mut after = server.dump_database().await;
    let job = after["jobs"][0].clone();
    assert_eq!((&job["subject"], &job["total"], &job["done"]), (&json!("group team"), &json!(5), &json!(5)));
    assert!(!job["finished_at"].is_null());
    for table in ["jobs", "outbox", "outbox_queue"] {
        after[table] = before[table].clone();
    }
    assert_eq!(after, before);
    let left: Vec<_> = std::fs::read_dir(server.directory.path().join("uploads")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

pub async fn add_member(owner: &Client, path: &str, user: i64, level: i64) {
    let form = [("user_id", &*user.to_string()), ("access_level", &*level.to_string())];
    let added = owner.post(&format!("{path}/members"), &form).await;
    assert_eq!(added.status, 201, "{}", added.text);
}
