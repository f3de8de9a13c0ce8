//! Deleting merged branches.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::json;

async fn list_merged(client: &Client, project: i64) -> Vec<String> {
    let found = client.get(&format!("/projects/{project}/repository/branches")).await.body;
    found.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// Creates a project in which `done` and `guarded` are merged, `open` is not, and `fresh` equals `main`.
async fn set_up(server: &Server, ada: &Client) -> (i64, WorkTree) {
    let project = server.project(ada, "p", 0).await;
    let tree = WorkTree::new().await;
    tree.commit("f", b"1\n", "one").await;
    tree.git(["branch", "done"]).await.ok();
    tree.git(["branch", "guarded"]).await.ok();
    tree.git(["checkout", "-q", "-b", "open"]).await.ok();
    tree.commit("g", b"2\n", "two").await;
    tree.git(["checkout", "-q", "main"]).await.ok();
    tree.commit("h", b"3\n", "three").await;
    tree.git(["branch", "fresh"]).await.ok();
    tree.push(&server.git_url(ada, "ada/p"), &["main"]).await.ok();
    tree.push(&server.git_url(ada, "ada/p"), &["--all"]).await.ok();
    let guarded = format!("/projects/{project}/repository/branches/guarded/protect");
    assert_eq!(ada.put(&guarded, &[]).await.body["protected"], true);
    (project, tree)
}

#[tokio::test]
async fn merged_branches_are_deleted_in_the_background() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (project, _) = set_up(&server, &ada).await;
    let begun = ada.delete(&format!("/projects/{project}/repository/merged_branches")).await;
    assert_eq!(begun.status, 200);
    assert_eq!(list_merged(&ada, project).await, ["done", "fresh", "guarded", "main", "open"], "it has only begun");
    server.run_jobs().await;
    assert_eq!(list_merged(&ada, project).await, ["fresh", "guarded", "main", "open"]);
    let newest = ada.get(&format!("/projects/{project}/events")).await.body[0].clone();
    assert_eq!(newest["action_name"], "deleted", "{newest}");
    assert_eq!((&newest["data"]["ref"], &newest["author_username"]), (&json!("refs/heads/done"), &json!("ada")));
    let jobs = server.dump_database().await["jobs"].clone();
    assert!(jobs.to_string().contains("delete_merged_branches"), "{jobs}");
}

#[tokio::test]
async fn merged_branches_stay_if_the_user_loses_push_access() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (bob_id, bob) = server.user("bob").await;
    let (project, _) = set_up(&server, &ada).await;
    crate::projects::add_member(&ada, &format!("/projects/{project}"), bob_id.get(), 30).await;
    let path = format!("/projects/{project}/repository/merged_branches");
    assert_eq!(bob.delete(&path).await.status, 200);
    ada.put(&format!("/projects/{project}/members/{bob_id}"), &[("access_level", "20")]).await;
    assert_eq!(bob.delete(&path).await.status, 403);
    server.run_jobs().await;
    assert!(list_merged(&ada, project).await.contains(&"done".to_owned()));
    ada.put(&format!("/projects/{project}/members/{bob_id}"), &[("access_level", "30")]).await;
    assert_eq!(bob.delete(&path).await.status, 200);
    server.admin.put(&format!("/users/{bob_id}/block"), &[]).await;
    server.run_jobs().await;
    assert!(list_merged(&ada, project).await.contains(&"done".to_owned()));
}

#[tokio::test]
async fn many_merged_branches_are_deleted_in_batches() {
    let server = Server::start().await;
    let (_, ada) = server.user("ada").await;
    let (project, tree) = set_up(&server, &ada).await;
    let names: Vec<String> = (0..150).map(|n| format!("done:refs/heads/n{n}")).collect();
    tree.push(&server.git_url(&ada, "ada/p"), &names.iter().map(String::as_str).collect::<Vec<_>>()).await.ok();
    for _ in 0..2 {
        assert_eq!(ada.delete(&format!("/projects/{project}/repository/merged_branches")).await.status, 200);
    }
    server.run_jobs().await;
    assert_eq!(list_merged(&ada, project).await, ["fresh", "guarded", "main", "open"]);
    let jobs = server.dump_database().await["jobs"].clone();
    let mut done: Vec<_> = jobs.as_array().unwrap().iter().map(|job| job["done"].as_i64().unwrap()).collect();
    done.sort_unstable();
    assert_eq!(done, [0, 151], "the second found nothing to do");
}
