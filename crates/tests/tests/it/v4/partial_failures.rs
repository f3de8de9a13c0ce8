//! Failures after a change was committed: the response does not hide that the change was made.

use std::os::unix::fs::PermissionsExt;

use holdfast_tests::{Server, Setup, WorkTree, log};
use serde_json::{Value, json};
use sqlx::Executor;

/// Git cannot compare the branches of merge requests, nor test whether it can merge them.
#[tokio::test]
async fn changed_merge_requests_are_returned_although_git_fails() {
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("git");
    let script = "#!/bin/sh\n\
        case \" $* \" in *\" diff-tree \"*\" --shortstat \"*|*\" merge-tree \"*) echo broken >&2; exit 128;; esac\n\
        exec git \"$@\"\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut setup = Setup::default();
    setup.settings.git.program = program;
    let server = Server::start_with(setup).await;
    let (_, ada) = server.user("ada").await;
    let project = server.project(&ada, "p", 0).await;
    let tree = WorkTree::new().await;
    tree.commit("a.txt", b"one\n", "first").await;
    tree.git(["checkout", "-q", "-b", "topic"]).await.ok();
    let topic = tree.commit("b.txt", b"two\n", "second").await;
    tree.push(&server.git_url(&ada, "ada/p"), &["main"]).await.ok();
    tree.push(&server.git_url(&ada, "ada/p"), &["topic"]).await.ok();

    let assert_unknown = |body: &Value, title: &str| {
        assert_eq!((&body["title"], &body["sha"]), (&json!(title), &json!(topic)));
        assert_eq!((&body["changes_count"], &body["diff_refs"]["base_sha"]), (&Value::Null, &Value::Null));
        assert_eq!(body["diff_refs"]["head_sha"], json!(topic));
        let statuses = (&body["merge_status"], &body["detailed_merge_status"], &body["has_conflicts"]);
        assert_eq!(statuses, (&json!("unchecked"), &json!("unchecked"), &json!(false)));
    };
    let all = format!("/api/v4/projects/{project}/merge_requests");
    let form = [("title", "one"), ("source_branch", "topic"), ("target_branch", "main")];
    let created = ada.post(&all, &form).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert_unknown(&created.body, "one");
    let path = format!("{all}/{}", created.body["iid"]);
    let updated = ada.put(&path, &[("title", "two")]).await;
    assert_eq!(updated.status, 200, "{}", updated.text);
    assert_unknown(&updated.body, "two");
    let unsubscribed = ada.post(&format!("{path}/unsubscribe"), &[]).await;
    assert_eq!((unsubscribed.status, &unsubscribed.body["subscribed"]), (201, &json!(false)));

    // Nothing was changed by a request that only reads, so that it reports the failure.
    assert_eq!(ada.get(&path).await.status, 500);
    let listed = ada.get(&all).await;
    assert_eq!((listed.ids().len(), &listed.body[0]["title"]), (1, &json!("two")));
    let warning = format!("merge_request={}", created.body["id"]);
    let is_warned =
        |line: &str| line.contains("merge request changed, reading its branches failed") && line.contains(&warning);
    assert!(log::captured().lines().any(is_warned));
}

/// The project exists when its first commit fails. A client that got an error would create it again.
#[tokio::test]
async fn projects_are_returned_although_their_first_commit_fails() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let create = async |name: &str| {
        let created = ada.post("/api/v4/projects", &[("name", name), ("initialize_with_readme", "true")]).await;
        assert_eq!(created.status, 201, "{}", created.text);
        created.body
    };
    let first = create("first").await;
    assert_eq!((&first["default_branch"], &first["empty_repo"]), (&json!("main"), &json!(false)));

    let full = "
        create function no_room() returns trigger language plpgsql as
          $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
        create trigger no_room before insert on refs for each row execute function no_room();";
    server.database().await.execute(full).await.unwrap();
    let second = create("second").await;
    assert_eq!((&second["default_branch"], &second["empty_repo"]), (&Value::Null, &json!(true)));
    let path = format!("/api/v4/projects/{}", second["id"]);
    let shown = ada.get(&path).await;
    assert_eq!((shown.status, &shown.body["path"]), (200, &json!("second")));
    assert_eq!(ada.get(&format!("{path}/repository/branches")).await.body, json!([]));
    let warning = format!("project={}", second["id"]);
    let is_warned = |line: &str| {
        let names_cause = line.contains(&warning) && line.contains("No space left on device");
        line.contains("project created, its first commit failed") && names_cause
    };
    assert!(log::captured().lines().any(is_warned));

    server.database().await.execute("drop trigger no_room on refs").await.unwrap();
    server.push_first(&ada, "ada/second").await;
    let shown = ada.get(&path).await.body;
    assert_eq!((&shown["default_branch"], &shown["empty_repo"]), (&json!("main"), &json!(false)));
    assert_eq!(ada.get("/api/v4/projects?owned=true").await.ids().len(), 2);
}
