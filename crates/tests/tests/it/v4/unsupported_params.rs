//! Parameters that other servers have and this one does not. Ignoring them would do something else than was asked for.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::json;

/// Each parameter with its route and a value that asks for something.
const UNSUPPORTED: &[(&str, &str, &str, &str)] = &[
    ("GET", "/repository/commits", "all", "true"),
    ("GET", "/repository/commits", "author", "ada"),
    ("GET", "/repository/commits", "first_parent", "true"),
    ("GET", "/issues", "my_reaction_emoji", "thumbsup"),
    ("GET", "/merge_requests", "approved", "yes"),
    ("GET", "/merge_requests", "approved_by_ids[]", "5"),
    ("GET", "/merge_requests", "approved_by_usernames[]", "ada"),
    ("GET", "/merge_requests", "deployed_after", "2026-01-01T00:00:00Z"),
    ("GET", "/merge_requests", "deployed_before", "2026-01-01T00:00:00Z"),
    ("GET", "/merge_requests", "environment", "production"),
    ("GET", "/merge_requests", "merge_user_id", "5"),
    ("GET", "/merge_requests", "merge_user_username", "ada"),
    ("GET", "/merge_requests", "my_reaction_emoji", "thumbsup"),
    ("POST", "/issues/1/notes?body=x", "internal", "true"),
    ("POST", "/issues/1/notes?body=x", "confidential", "true"),
    ("POST", "/merge_requests?title=t&source_branch=topic&target_branch=main", "reviewer_ids[]", "5"),
    ("POST", "/merge_requests?title=t&source_branch=topic&target_branch=main", "squash", "true"),
    ("PUT", "/merge_requests/1?title=new", "reviewer_ids[]", "5"),
    ("PUT", "/merge_requests/1/merge", "squash", "true"),
    ("POST", "/protected_branches?name=topic", "allowed_to_push[][user_id]", "5"),
    ("POST", "/protected_branches?name=topic", "allowed_to_merge[][group_id]", "5"),
    ("POST", "/protected_branches?name=topic", "allowed_to_unprotect[][user_id]", "5"),
    ("POST", "/protected_branches?name=topic", "code_owner_approval_required", "true"),
    ("POST", "/protected_tags?name=v*", "allowed_to_create[][access_level]", "0"),
    ("POST", "/repository/commits/topic/cherry_pick?branch=main", "dry_run", "true"),
    ("POST", "/repository/files/new?branch=main&commit_message=m&content=c", "execute_filemode", "true"),
    ("POST", "/repository/files/new?branch=main&commit_message=m&content=c", "force", "true"),
    ("POST", "/repository/files/new?branch=new&commit_message=m&content=c", "start_project", "5"),
    ("POST", "/repository/files/new?branch=new&commit_message=m&content=c", "start_sha", "1234567"),
];

/// Starts a server with Ada's project, which has the branches `main` and `topic` and an issue. Returns the server, Ada and
/// the path of the project.
async fn project_with_topic() -> (Server, Client, String) {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    tree.commit("a", b"a", "first").await;
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    tree.commit("b", b"b", "second").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main", "topic"]).await.ok();
    let api = format!("/api/v4/projects/{project}");
    assert_eq!(ada.post(&format!("{api}/issues"), &[("title", "t")]).await.status, 201);
    (server, ada, api)
}

#[tokio::test]
async fn unsupported_parameters_are_rejected_and_change_nothing() {
    let (server, ada, api) = project_with_topic().await;
    let before = server.dump_database().await;
    for (method, path, name, value) in UNSUPPORTED {
        let request = ada.request(method, &format!("{api}{path}")).query(&[(name, value)]);
        let rejected = ada.send(request).await;
        let text = format!("{} is not supported", name.split('[').next().unwrap());
        assert_eq!(rejected.status_and_body(), (400, &json!({"error": text})), "{method} {path} {name}");
    }
    let executable = json!({"action": "create", "file_path": "new", "content": "c", "execute_filemode": true});
    let body = json!({"branch": "main", "commit_message": "m", "actions": [executable]});
    let rejected = ada.send(ada.request("POST", &format!("{api}/repository/commits")).json(&body)).await;
    let text = "actions has a change with execute_filemode, which is not supported";
    assert_eq!(rejected.status_and_body(), (400, &json!({"error": text})));
    assert_eq!(server.dump_database().await, before);
}

/// Clients send what their callers leave out as false or as an empty value.
#[tokio::test]
async fn values_that_ask_for_nothing_are_accepted() {
    let (server, ada, api) = project_with_topic().await;
    for (method, path, name, _) in UNSUPPORTED.iter().filter(|(method, ..)| *method == "GET") {
        let plain = ada.get(&format!("{api}{path}")).await;
        assert_eq!(plain.status, 200, "{path}");
        for value in ["", "false", "0"] {
            let accepted = ada.send(ada.request(method, &format!("{api}{path}")).query(&[(name, value)])).await;
            assert_eq!(accepted.status_and_body(), plain.status_and_body(), "{path} {name}={value}");
        }
    }
    let action = json!({"action": "create", "file_path": "new", "content": "c", "execute_filemode": false});
    let new_commit = json!({"branch": "main", "commit_message": "m", "actions": [action], "force": false,
        "start_sha": null, "start_project": ""});
    let merge_request = json!({"title": "t", "source_branch": "topic", "target_branch": "main", "squash": false,
        "reviewer_ids": []});
    let rule = json!({"name": "rule", "allowed_to_push": [], "allowed_to_merge": [], "allowed_to_create": [],
        "code_owner_approval_required": false});
    for (method, path, body, status) in [
        ("POST", "/repository/commits", new_commit, 201),
        ("POST", "/repository/commits/topic/cherry_pick", json!({"branch": "main", "dry_run": false}), 201),
        ("POST", "/issues/1/notes", json!({"body": "x", "internal": false, "confidential": false}), 201),
        ("POST", "/merge_requests", merge_request, 201),
        ("PUT", "/merge_requests/1", json!({"title": "t", "squash": false, "reviewer_ids": []}), 200),
        ("PUT", "/merge_requests/1/merge", json!({"squash": false}), 200),
        ("POST", "/protected_tags", rule, 201),
    ] {
        let accepted = ada.send(ada.request(method, &format!("{api}{path}")).json(&body)).await;
        assert_eq!(accepted.status, status, "{method} {path}: {}", accepted.text);
    }
    drop(server);
}

#[tokio::test]
async fn errors_of_changes_say_what_is_wrong() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let before = server.dump_database().await;
    for (action, reason) in [
        (json!({"action": "create", "content": "a"}), "has a change without file_path"),
        (json!({"action": "create", "file_path": "a"}), "has a change without content"),
        (
            json!({"action": "create", "file_path": "a", "content": "%", "encoding": "base64"}),
            "has a change whose content is not what its encoding says (text or base64)",
        ),
        (json!({"action": "move", "file_path": "a"}), "has a move without previous_path"),
        (
            json!({"action": "rename", "file_path": "a"}),
            "has a change whose action is none of create, update, delete and move",
        ),
    ] {
        let body = json!({"branch": "main", "commit_message": "m", "actions": [action]});
        let path = format!("/api/v4/projects/{project}/repository/commits");
        let rejected = ada.send(ada.request("POST", &path).json(&body)).await;
        assert_eq!(rejected.status_and_body(), (400, &json!({"error": format!("actions {reason}")})));
    }
    assert_eq!(server.dump_database().await, before);
}
