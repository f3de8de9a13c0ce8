//! What a build may do with git while it runs: read its own project, public ones, and those that let it in and that its
//! user may read.

use holdfast_tests::{Answer, WorkTree};
use serde_json::json;

use super::{Ground, Runner, SIMPLE};

pub const READ: &str = "git-upload-pack";
pub const WRITE: &str = "git-receive-pack";

fn url(ground: &Ground, token: &str, path: &str) -> String {
    format!("http://gitlab-ci-token:{token}@{}/{path}.git", ground.server.address())
}

/// The status of what git asks first.
pub async fn ask(ground: &Ground, token: &str, path: &str, service: &str) -> u16 {
    let url = format!("{}/{path}.git/info/refs?service={service}", ground.server.base);
    let request = reqwest::Client::new().get(url).basic_auth("gitlab-ci-token", Some(token));
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn one_that_runs_reads_its_project() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let address = format!("{}/ada/p.git/info/refs?service={READ}", ground.server.base);
    // First git asks without a name.
    let asked = reqwest::get(&address).await.unwrap();
    assert_eq!(asked.status(), 401);
    assert!(asked.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic realm=\""));
    let token = ground.runners_token().await;
    for wrong in ["", "wrong", &runner.token, &token] {
        assert_eq!(ask(&ground, wrong, "ada/p", READ).await, 401, "{wrong}");
    }
    let job = runner.take().await;
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 200);
    let (cloned, clone) = WorkTree::clone(&url(&ground, &job.token, "ada/p"), &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, ground.sha);
    let (cloned, shallow) = WorkTree::clone(&url(&ground, &job.token, "ada/p"), &["--depth", "1"]).await;
    cloned.ok();
    assert_eq!(shallow.head().await, ground.sha);
    assert_eq!(ask(&ground, &job.token[1..], "ada/p", READ).await, 401);
    // It is a password for that one name only.
    let request = reqwest::Client::new().get(&address).basic_auth("ada", Some(&job.token));
    assert_eq!(request.send().await.unwrap().status(), 401);

    runner.finish(&job, "success").await;
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 401);
    let (cloned, _) = WorkTree::clone(&url(&ground, &job.token, "ada/p"), &[]).await;
    cloned.refused();
}

#[tokio::test]
async fn its_token_ends_with_it_however_it_ends() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    assert_eq!(ground.act(&ground.build("one").await, "cancel").await.status, 201);
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 401);
    ground.start().await;
    let job = runner.take().await;
    ground.server.advance(chrono::TimeDelta::hours(2));
    ground.server.tend().await;
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 401);
    // Where builds are switched off it is worth nothing, whether it runs or not.
    ground.start().await;
    let job = runner.take().await;
    ground.set("builds_enabled", "false").await;
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 401);
    ground.set("builds_enabled", "true").await;
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 200);
    // So it is when its user may do nothing any more.
    assert_eq!(ground.server.admin.put("/users/2/block", &[]).await.status, 200);
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 401);
}

#[tokio::test]
async fn it_does_not_push() {
    let ground = Ground::with(SIMPLE).await;
    let job = ground.runner().await.take().await;
    let other = ground.another_project("q", SIMPLE).await;
    ground.allow(&ground.ada, "ada%2Fq").await;
    ground.server.work().await;
    ground.tree.commit("more", b"x", "More").await;
    let before = ground.server.contents().await;
    for path in ["ada/p", "ada/q"] {
        assert_eq!(ask(&ground, &job.token, path, WRITE).await, 403, "{path}");
        ground.tree.push(&url(&ground, &job.token, path), &["main", "main:other"]).await.refused();
    }
    assert_eq!(ground.server.contents().await, before);
    let listed = ground.ada.get(&format!("/projects/{other}/repository/branches")).await;
    assert_eq!(listed.body.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn it_reads_what_its_user_reads() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let (_, eve) = ground.server.user("eve").await;
    for (path, visibility) in [("hidden", 0), ("inner", 10), ("open", 20)] {
        ground.server.project(&eve, path, visibility).await;
        ground.server.push_first(&eve, &format!("eve/{path}")).await;
    }
    ground.another_project("q", SIMPLE).await;
    let of_ada = runner.take().await;
    let (_, bob) = ground.member("bob", "30").await;
    assert_eq!(bob.post(&ground.path("/pipeline"), &[("ref", "main")]).await.status, 201);
    let of_bob = runner.take().await;
    let expected = [
        ("ada/p", 200, 200),
        // Neither lets builds of ada/p in.
        ("ada/q", 404, 404),
        ("eve/inner", 404, 404),
        ("eve/hidden", 404, 404),
        ("eve/open", 200, 200),
        ("eve/none", 404, 404),
    ];
    for (path, by_ada, by_bob) in expected {
        assert_eq!(ask(&ground, &of_ada.token, path, READ).await, by_ada, "{path}");
        assert_eq!(ask(&ground, &of_bob.token, path, READ).await, by_bob, "{path}");
    }
    let (cloned, _) = WorkTree::clone(&url(&ground, &of_ada.token, "eve/open"), &[]).await;
    cloned.ok();
}

/// By trying to push, a build must not find out which hidden projects there are.
#[tokio::test]
async fn it_is_not_told_what_is_hidden() {
    let ground = Ground::with(SIMPLE).await;
    let (_, eve) = ground.server.user("eve").await;
    ground.server.project(&eve, "hidden", 0).await;
    let job = ground.runner().await.take().await;
    assert_eq!(ask(&ground, &job.token, "eve/none", WRITE).await, 404);
    assert_eq!(ask(&ground, &job.token, "eve/hidden", WRITE).await, 404);
}

/// Whoever can change the CI file of a project could otherwise read everything once an administrator starts it.
#[tokio::test]
async fn started_by_an_administrator_it_is_none() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    runner.finish(&runner.take().await, "success").await;
    ground.another_project("q", SIMPLE).await;
    let (_, eve) = ground.server.user("eve").await;
    ground.server.project(&eve, "inner", 10).await;
    ground.server.push_first(&eve, "eve/inner").await;
    let made = ground.server.admin.post(&ground.path("/pipeline"), &[("ref", "main")]).await;
    assert_eq!((made.status, &made.body["user"]["username"]), (201, &json!("root")));
    let job = runner.take().await;
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 200);
    ground.allow(&ground.server.admin, "eve%2Finner").await;
    ground.allow(&ground.ada, "ada%2Fq").await;
    assert_eq!(ask(&ground, &job.token, "eve/inner", READ).await, 200);
    assert_eq!(ask(&ground, &job.token, "ada/q", READ).await, 404);
    assert_eq!(ground.server.admin.get("/projects/ada%2Fq").await.status, 200, "the administrator himself may");
}

#[tokio::test]
async fn it_is_nobody_to_the_interface() {
    let ground = Ground::with(SIMPLE).await;
    let runner = Runner::shared(&ground.server, json!({})).await;
    let job = runner.take().await;
    let build = ground.server.with_token(&job.token);
    let before = ground.server.contents().await;
    let refused = |answer: &Answer| assert_eq!(answer.both(), (401, &json!({ "message": "401 Unauthorized" })));
    for path in ["/user", "/projects", &ground.path(""), &ground.path("/builds"), &ground.path("/variables")] {
        refused(&build.get(path).await);
        let by_parameter = format!("{path}?private_token={}", job.token);
        refused(&ground.server.anonymous().get(&by_parameter).await);
    }
    refused(&build.post(&ground.path("/pipeline"), &[("ref", "main")]).await);
    refused(&build.post(&ground.path(&format!("/builds/{}/cancel", job.id)), &[]).await);
    refused(&build.delete(&ground.path("")).await);
    // A runner's own token is none either.
    refused(&ground.server.with_token(&runner.token).get("/user").await);
    assert_eq!(ground.server.contents().await, before);
}
