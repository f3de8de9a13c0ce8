//! Limits and invariants of projects under concurrent requests.

use holdfast_app::accounts::user::UserChanges;
use holdfast_tests::ssh::KeyPair;
use holdfast_tests::{Client, Server, WorkTree, user_attributes};
use serde_json::json;

use crate::git_security::{OpenPush, ZERO_ID, packet};

/// Concurrent requests cannot exceed the project limit.
#[tokio::test]
async fn the_project_limit_holds_under_concurrency() {
    let server = Server::start().await;
    let (_, ada) = server.user_with(UserChanges { projects_limit: Some(3), ..user_attributes("ada") }).await;
    let create = |n: usize| {
        let ada = ada.clone();
        tokio::spawn(async move { ada.post("/projects", &[("name", &*format!("p{n}"))]).await.status })
    };
    let tasks: Vec<_> = (0..12).map(create).collect();
    let mut made = 0;
    for task in tasks {
        made += usize::from(task.await.unwrap() == 201);
    }
    assert_eq!(made, 3);
    assert_eq!(ada.get("/projects/owned").await.ids().len(), 3);
}

/// In any order, a project is never more visible than its group.
#[tokio::test]
async fn the_visibility_limit_holds_under_concurrency() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    for round in 0..15 {
        let group = server.group(&ada, &format!("g{round}"), 20).await;
        let project = server.project_in(&ada, "p", 0, Some(group)).await;
        let loose = server.project(&ada, &format!("l{round}"), 20).await;
        let change = |client: Client, method: &'static str, path: String, form: &'static [(&str, &str)]| {
            tokio::spawn(async move { client.send(client.request(method, &path).form(form)).await })
        };
        let answers = [
            change(ada.clone(), "PUT", format!("/projects/{project}"), &[("visibility_level", "20")]),
            change(ada.clone(), "PUT", format!("/groups/{group}"), &[("visibility_level", "0")]),
            change(server.admin.clone(), "POST", format!("/groups/{group}/projects/{loose}"), &[]),
        ];
        for answer in answers {
            let answer = answer.await.unwrap();
            assert!(answer.status < 500, "{}", answer.text);
        }
        let level = ada.get(&format!("/groups/{group}")).await.body["visibility_level"].as_i64().unwrap();
        for project in ada.get(&format!("/groups/{group}/projects")).await.body.as_array().unwrap() {
            assert!(project["visibility_level"].as_i64().unwrap() <= level, "group {level}: {project}");
        }
    }
}

/// Groups and users are deleted while their projects are renamed, moved, filled and created: the requests are
/// serialized in any order, without a server error.
#[tokio::test]
async fn concurrent_deletion_and_updates_are_serialized() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, _) = server.user("bob").await;
    for round in 0..8 {
        let (cat_id, cat) = server.user(&format!("cat{round}")).await;
        let group = server.group(&ada, &format!("g{round}"), 20).await;
        let project = server.project_in(&ada, "p", 20, Some(group)).await;
        let own = server.project(&cat, "own", 20).await;
        cat.post(&format!("/projects/{project}/star"), &[]).await;
        type Request = (Client, &'static str, String, Vec<(&'static str, String)>);
        let requests: Vec<Request> = vec![
            (ada.clone(), "PUT", format!("/projects/{project}"), vec![("path", "q".into()), ("name", "q".into())]),
            (ada.clone(), "DELETE", format!("/groups/{group}"), vec![]),
            (
                ada.clone(),
                "POST",
                "/projects".into(),
                vec![("name", "late".into()), ("namespace_id", group.to_string())],
            ),
            (
                ada.clone(),
                "POST",
                format!("/projects/{project}/members"),
                vec![("user_id", cat_id.to_string()), ("access_level", "30".into())],
            ),
            (cat.clone(), "PUT", format!("/projects/{own}"), vec![("path", "q".into())]),
            (cat.clone(), "POST", "/projects".into(), vec![("name", "late".into())]),
            (
                cat.clone(),
                "POST",
                format!("/projects/{own}/members"),
                vec![("user_id", bob_id.to_string()), ("access_level", "30".into())],
            ),
            (server.admin.clone(), "DELETE", format!("/users/{cat_id}"), vec![]),
        ];
        let tasks: Vec<_> = requests
            .into_iter()
            .map(|(client, method, path, form)| {
                tokio::spawn(async move {
                    (method, path.clone(), client.send(client.request(method, &path).form(&form)).await)
                })
            })
            .collect();
        for task in tasks {
            let (method, path, answer) = task.await.unwrap();
            assert!(answer.status < 500, "{method} {path}: {} {}", answer.status, answer.text);
        }
    }
    server.run_jobs().await;
    assert_eq!(server.admin.get("/projects/all").await.body, json!([]));
    let left = server.dump_database().await;
    assert_eq!(left["projects"], json!([]));
}

/// A push started before the default branch was changed: the deletion of the new default branch is rejected, and that
/// of another branch is accepted.
#[tokio::test]
async fn a_branch_that_became_the_default_is_not_deleted() {
    let server = Server::start().await;
    let ssh = server.ssh().await;
    let (_, ada) = server.user("ada").await;
    let project = format!("/projects/{}", server.project(&ada, "p", 20).await);
    let id = server.push_first(&ada, "ada/p").await;
    let url = server.git_url(&ada, "ada/p");
    let tree = WorkTree::new().await;
    tree.git(["fetch", "-q", &url, "main"]).await.ok();
    tree.push(&url, &["FETCH_HEAD:refs/heads/next", "FETCH_HEAD:refs/heads/old"]).await.ok();
    let key = KeyPair::registered(&ada).await;
    let push = OpenPush::start(&ssh, &key, "ada/p").await;
    let changed = ada.put(&project, &[("name", "p"), ("default_branch", "next")]).await;
    assert_eq!((changed.status, &changed.body["default_branch"]), (200, &json!("next")));
    let mut commands = packet(&format!("{id} {ZERO_ID} refs/heads/next\0 report-status"));
    commands.extend(packet(&format!("{id} {ZERO_ID} refs/heads/old")));
    commands.extend_from_slice(b"0000");
    let report = push.finish(&commands).await;
    assert!(report.contains("ng refs/heads/next The default branch cannot be deleted."), "{report}");
    assert!(report.contains("ok refs/heads/old\n"), "{report}");
    let refs = tree.git(["ls-remote", "--symref", &url]).await.ok().stdout;
    assert_eq!(refs, format!("ref: refs/heads/next\tHEAD\n{id}\tHEAD\n{id}\trefs/heads/main\n{id}\trefs/heads/next\n"));
}
