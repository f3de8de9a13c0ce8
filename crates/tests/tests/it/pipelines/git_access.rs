//! Git access of a running build: it reads its own project, public projects, and those that allow it and that its user
//! can read.

use holdfast_tests::{TestResponse, WorkTree};
use serde_json::json;

use super::{CiFixture, Runner, SIMPLE};

pub const READ: &str = "git-upload-pack";
pub const WRITE: &str = "git-receive-pack";

fn git_url(fixture: &CiFixture, token: &str, path: &str) -> String {
    format!("http://gitlab-ci-token:{token}@{}/{path}.git", fixture.server.address())
}

/// Returns the status of the first request of git.
pub async fn request_status(fixture: &CiFixture, token: &str, path: &str, service: &str) -> u16 {
    let url = format!("{}/{path}.git/info/refs?service={service}", fixture.server.base_url);
    let request = reqwest::Client::new().get(url).basic_auth("gitlab-ci-token", Some(token));
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn running_builds_read_their_own_project() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let address = format!("{}/ada/p.git/info/refs?service={READ}", fixture.server.base_url);
    // git first sends a request without credentials.
    let asked = reqwest::get(&address).await.unwrap();
    assert_eq!(asked.status(), 401);
    assert!(asked.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic realm=\""));
    let token = fixture.registration_token().await;
    for wrong in ["", "wrong", &runner.token, &token] {
        assert_eq!(request_status(&fixture, wrong, "ada/p", READ).await, 401, "{wrong}");
    }
    let job = runner.claim().await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 200);
    let (cloned, clone) = WorkTree::clone(&git_url(&fixture, &job.token, "ada/p"), &[]).await;
    cloned.ok();
    assert_eq!(clone.head().await, fixture.sha);
    let (cloned, shallow) = WorkTree::clone(&git_url(&fixture, &job.token, "ada/p"), &["--depth", "1"]).await;
    cloned.ok();
    assert_eq!(shallow.head().await, fixture.sha);
    assert_eq!(request_status(&fixture, &job.token[1..], "ada/p", READ).await, 401);
    // The token is a password only for the user name `gitlab-ci-token`.
    let request = reqwest::Client::new().get(&address).basic_auth("ada", Some(&job.token));
    assert_eq!(request.send().await.unwrap().status(), 401);

    runner.finish(&job, "success").await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 401);
    let (cloned, _) = WorkTree::clone(&git_url(&fixture, &job.token, "ada/p"), &[]).await;
    cloned.expect_failure();
}

#[tokio::test]
async fn build_tokens_end_with_the_build() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    assert_eq!(fixture.build_action(&fixture.build("one").await, "cancel").await.status, 201);
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 401);
    fixture.start_pipeline().await;
    let job = runner.claim().await;
    fixture.server.advance(chrono::TimeDelta::hours(2));
    fixture.server.fail_stale_builds().await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 401);
    // If builds are disabled, the token is rejected, whether the build runs or not.
    fixture.start_pipeline().await;
    let job = runner.claim().await;
    fixture.update_setting("builds_enabled", "false").await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 401);
    fixture.update_setting("builds_enabled", "true").await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 200);
    // It is also rejected when its user is blocked.
    assert_eq!(fixture.server.admin.put("/users/2/block", &[]).await.status, 200);
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 401);
}

/// After a 401, git would ask for a password and not show the reason.
#[tokio::test]
async fn builds_of_deleted_users_get_the_reason_why_they_are_refused() {
    let ground = CiFixture::with_file(SIMPLE).await;
    let runner = ground.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    let (id, max) = ground.add_member("max", "30").await;
    assert_eq!(max.post(&ground.path("/pipeline"), &[("ref", "main")]).await.status, 201);
    let job = runner.claim().await;
    assert_eq!(request_status(&ground, &job.token, "ada/p", READ).await, 200);
    assert_eq!(ground.server.admin.delete(&format!("/users/{id}")).await.status, 200);
    assert_eq!(request_status(&ground, &job.token, "ada/p", READ).await, 403);
    let (cloned, _) = WorkTree::clone(&git_url(&ground, &job.token, "ada/p"), &[]).await;
    let refused = cloned.expect_failure();
    assert!(refused.stderr.contains("The user who started this build was deleted. Retry the build"), "{refused:?}");
    // The reason is given only to the holder of the token.
    assert_eq!(request_status(&ground, &job.token[1..], "ada/p", READ).await, 401);
    runner.finish(&job, "failed").await;
    assert_eq!(ground.build_action(&ground.build("one").await, "retry").await.status, 201);
    let job = runner.claim().await;
    assert_eq!(request_status(&ground, &job.token, "ada/p", READ).await, 200);
}

#[tokio::test]
async fn builds_cannot_push() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let job = fixture.runner().await.claim().await;
    let other = fixture.another_project("q", SIMPLE).await;
    fixture.allow_job_tokens(&fixture.ada, "ada%2Fq").await;
    fixture.server.run_jobs().await;
    fixture.tree.commit("more", b"x", "More").await;
    let before = fixture.server.dump_database().await;
    for path in ["ada/p", "ada/q"] {
        assert_eq!(request_status(&fixture, &job.token, path, WRITE).await, 403, "{path}");
        fixture.tree.push(&git_url(&fixture, &job.token, path), &["main", "main:other"]).await.expect_failure();
    }
    assert_eq!(fixture.server.dump_database().await, before);
    let listed = fixture.ada.get(&format!("/projects/{other}/repository/branches")).await;
    assert_eq!(listed.body.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn builds_read_only_projects_readable_by_their_user() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let (_, eve) = fixture.server.user("eve").await;
    for (path, visibility) in [("hidden", 0), ("inner", 10), ("open", 20)] {
        fixture.server.project(&eve, path, visibility).await;
        fixture.server.push_first(&eve, &format!("eve/{path}")).await;
    }
    fixture.another_project("q", SIMPLE).await;
    let of_ada = runner.claim().await;
    let (_, bob) = fixture.add_member("bob", "30").await;
    assert_eq!(bob.post(&fixture.path("/pipeline"), &[("ref", "main")]).await.status, 201);
    let of_bob = runner.claim().await;
    let expected = [
        ("ada/p", 200, 200),
        // Neither project allows builds of ada/p.
        ("ada/q", 404, 404),
        ("eve/inner", 404, 404),
        ("eve/hidden", 404, 404),
        ("eve/open", 200, 200),
        ("eve/none", 404, 404),
    ];
    for (path, by_ada, by_bob) in expected {
        assert_eq!(request_status(&fixture, &of_ada.token, path, READ).await, by_ada, "{path}");
        assert_eq!(request_status(&fixture, &of_bob.token, path, READ).await, by_bob, "{path}");
    }
    let (cloned, _) = WorkTree::clone(&git_url(&fixture, &of_ada.token, "eve/open"), &[]).await;
    cloned.ok();
}

/// The response to a push must not reveal which private projects exist.
#[tokio::test]
async fn builds_cannot_probe_for_hidden_projects() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, eve) = fixture.server.user("eve").await;
    fixture.server.project(&eve, "hidden", 0).await;
    let job = fixture.runner().await.claim().await;
    assert_eq!(request_status(&fixture, &job.token, "eve/none", WRITE).await, 404);
    assert_eq!(request_status(&fixture, &job.token, "eve/hidden", WRITE).await, 404);
}

/// Privilege escalation: a user who can change the CI file of a project could otherwise read everything once an
/// administrator starts it.
#[tokio::test]
async fn builds_of_administrators_have_no_administrator_access() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    fixture.another_project("q", SIMPLE).await;
    let (_, eve) = fixture.server.user("eve").await;
    fixture.server.project(&eve, "inner", 10).await;
    fixture.server.push_first(&eve, "eve/inner").await;
    let made = fixture.server.admin.post(&fixture.path("/pipeline"), &[("ref", "main")]).await;
    assert_eq!((made.status, &made.body["user"]["username"]), (201, &json!("root")));
    let job = runner.claim().await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 200);
    fixture.allow_job_tokens(&fixture.server.admin, "eve%2Finner").await;
    fixture.allow_job_tokens(&fixture.ada, "ada%2Fq").await;
    assert_eq!(request_status(&fixture, &job.token, "eve/inner", READ).await, 200);
    assert_eq!(request_status(&fixture, &job.token, "ada/q", READ).await, 404);
    assert_eq!(fixture.server.admin.get("/projects/ada%2Fq").await.status, 200, "the administrator himself may");
}

#[tokio::test]
async fn build_tokens_are_unauthenticated_in_the_api() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = Runner::register_shared(&fixture.server, json!({})).await;
    let job = runner.claim().await;
    let build = fixture.server.with_token(&job.token);
    let before = fixture.server.dump_database().await;
    let refused =
        |answer: &TestResponse| assert_eq!(answer.status_and_body(), (401, &json!({ "message": "401 Unauthorized" })));
    for path in ["/user", "/projects", &fixture.path(""), &fixture.path("/builds"), &fixture.path("/variables")] {
        refused(&build.get(path).await);
        let by_parameter = format!("{path}?private_token={}", job.token);
        refused(&fixture.server.anonymous().get(&by_parameter).await);
    }
    refused(&build.post(&fixture.path("/pipeline"), &[("ref", "main")]).await);
    refused(&build.post(&fixture.path(&format!("/builds/{}/cancel", job.id)), &[]).await);
    refused(&build.delete(&fixture.path("")).await);
    // The token of a runner is no API token either.
    refused(&fixture.server.with_token(&runner.token).get("/user").await);
    assert_eq!(fixture.server.dump_database().await, before);
}
