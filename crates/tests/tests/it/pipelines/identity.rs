//! The permissions of a build: those of its pipeline's user, restricted to what the target project allows.

use holdfast_domain::ids::UserId;
use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use super::git_access::{READ, WRITE, request_status};
use super::{CiFixture, Job, Runner};

/// A failing build, and a manual one.
const FILE: &str = "
fails: {script: exit 1}
by_hand: {script: echo, stage: deploy, when: manual}
";

fn job_user(job: &Job) -> (Option<&str>, Option<&str>) {
    (job.value("GITLAB_USER_ID"), job.value("GITLAB_USER_EMAIL"))
}

async fn push(server: &Server, client: &Client, file: &str, refspec: &str) {
    let tree = WorkTree::new().await;
    tree.commit(".gitlab-ci.yml", file.as_bytes(), "Build").await;
    tree.push(&server.git_url(client, "ada/p"), &[refspec]).await.ok();
    server.run_jobs().await;
}

/// Mallory, a master of ada's project, reads the token of ada's trigger in the list, pushes a script of her own, starts
/// it with the token and claims the build with a runner of her own, to read ada's private projects with the token of
/// the build.
#[tokio::test]
async fn a_master_cannot_use_the_trigger_of_another_to_read_their_projects() {
    let fixture = CiFixture::with_file("a: {script: x, only: [tags]}\n").await;
    fixture.server.project(&fixture.ada, "secret", 0).await;
    fixture.server.push_first(&fixture.ada, "ada/secret").await;
    let (_, mallory) = fixture.add_member("mallory", "40").await;
    let made = fixture.ada.post(&fixture.path("/triggers"), &[]).await;
    let token = made.body["token"].as_str().unwrap();

    let listed = mallory.get(&fixture.path("/triggers")).await;
    assert_eq!(listed.status, 200);
    assert_eq!(listed.body[0]["owner"]["username"], "ada");
    assert_eq!(listed.body[0]["token"], token[..4]);
    assert!(!listed.text.contains(&token[..5]), "{}", listed.text);
    let by_id = mallory.get(&fixture.path(&format!("/triggers/{}", listed.body[0]["id"]))).await;
    assert_eq!(by_id.status_and_body(), (200, &listed.body[0]));
    // The part of the token that is shown does not start a pipeline either.
    push(&fixture.server, &mallory, "a: {script: x, only: [triggers]}\n", "main:evil").await;
    for guess in [&token[..4], &listed.body[0]["id"].to_string()] {
        let fired = mallory.post(&fixture.path("/trigger/builds"), &[("ref", "evil"), ("token", guess)]).await;
        assert_eq!(fired.status, 404, "{guess}");
    }
    assert_eq!(fixture.pipelines().await, [] as [Value; 0]);

    // Even with the token, a build reads no project of ada's but this one.
    let fired = mallory.post(&fixture.path("/trigger/builds"), &[("ref", "evil"), ("token", token)]).await;
    assert_eq!(fired.status, 201);
    let runner = Runner::register_for(&fixture, json!({})).await;
    let job = runner.claim().await;
    assert_eq!(job.value("GITLAB_USER_EMAIL"), Some("ada@example.com"));
    assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 200);
    assert_eq!(request_status(&fixture, &job.token, "ada/secret", READ).await, 404);
    assert_eq!(request_status(&fixture, &job.token, "ada/none", READ).await, 404);
}

/// A master who does not own a trigger can still delete it, by its id.
#[tokio::test]
async fn masters_delete_triggers_of_others_by_id() {
    let fixture = CiFixture::with_file("a: {script: x}\n").await;
    let (_, max) = fixture.add_member("max", "40").await;
    let made = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body;
    let one = fixture.path(&format!("/triggers/{}", made["id"]));
    let other = fixture.another_project("q", "a: {script: x}\n").await;
    let elsewhere = format!("/projects/{other}/triggers/{}", made["id"]);
    assert_eq!(
        fixture.ada.delete(&elsewhere).await.status_and_body(),
        (404, &json!({ "message": "404 Trigger Not Found" }))
    );
    assert_eq!(fixture.ada.get(&one).await.status_and_body(), (200, &made), "its owner sees all of it");
    let deleted = max.delete(&one).await;
    assert_eq!((deleted.status, &deleted.body["id"]), (200, &made["id"]));
    assert_eq!(deleted.body["token"].as_str().unwrap().len(), 4);
    assert_eq!(fixture.ada.get(&fixture.path("/triggers")).await.body, json!([]));
    let fire = [("ref", "main"), ("token", made["token"].as_str().unwrap())];
    assert_eq!(fixture.ada.post(&fixture.path("/trigger/builds"), &fire).await.status, 404);
}

/// A developer lets a pipeline fail, so that ada retries it and the developer's script runs with ada's permissions.
#[tokio::test]
async fn a_retried_or_played_build_keeps_the_rights_of_the_pipelines_user() {
    let fixture = CiFixture::with_file("a: {script: x, only: [tags]}\n").await;
    let (ada, server) = (&fixture.ada, &fixture.server);
    let (mallory_id, mallory) = fixture.add_member("mallory", "30").await;
    server.project(ada, "secret", 0).await;
    server.push_first(ada, "ada/secret").await;
    // Ada allows builds of ada/p to read it, so that her own can. Mallory is a member of ada/p.
    fixture.allow_job_tokens(ada, "ada%2Fsecret").await;
    push(server, &mallory, FILE, "main:dev").await;
    let runner = fixture.runner().await;
    let mallory_id = mallory_id.to_string();
    let expected = (Some(mallory_id.as_str()), Some("mallory@example.com"));

    let check = async |job: &Job, how: &str| {
        assert_eq!(job_user(job), expected, "{how}");
        assert_eq!(request_status(&fixture, &job.token, "ada/p", READ).await, 200, "{how}");
        assert_eq!(request_status(&fixture, &job.token, "ada/secret", READ).await, 404, "{how}");
    };
    let job = runner.claim().await;
    check(&job, "pushed").await;
    runner.finish(&job, "failed").await;

    let pipeline = fixture.pipeline().await;
    let retry = fixture.path(&format!("/pipelines/{}/retry", pipeline["id"]));
    assert_eq!(ada.post(&retry, &[]).await.status, 201);
    let job = runner.claim().await;
    check(&job, "the pipeline retried").await;
    runner.finish(&job, "failed").await;

    let retried = fixture.build_action(&fixture.build("fails").await, "retry").await;
    // The user who retried the build is shown.
    assert_eq!((retried.status, &retried.body["user"]["username"]), (201, &json!("ada")));
    let job = runner.claim().await;
    check(&job, "the build retried").await;
    runner.finish(&job, "success").await;

    let played = fixture.build_action(&fixture.build("by_hand").await, "play").await;
    assert_eq!((played.status, &played.body["user"]["username"]), (200, &json!("ada")));
    check(&runner.claim().await, "played").await;
    // A pipeline that ada starts has her permissions.
    let made = ada.post(&fixture.path("/pipeline"), &[("ref", "dev")]).await;
    assert_eq!(made.status, 201);
    let job = runner.claim().await;
    assert_eq!(job_user(&job).1, Some("ada@example.com"));
    assert_eq!(request_status(&fixture, &job.token, "ada/secret", READ).await, 200);
}

/// One build in each of three stages, the last one manual.
const THREE_STAGES: &str = "
first: {script: x, stage: build}
second: {script: x, stage: test}
third: {script: x, stage: deploy, when: manual}
";

/// The statuses of reading the build's own project, a public one, and a private one that allows its builds.
const STATUSES_WITH_USER: [u16; 3] = [200, 200, 200];
const STATUSES_WITHOUT_USER: [u16; 3] = [200, 200, 404];
const STATUSES_WITHOUT_JOB: [u16; 3] = [401, 401, 401];

/// When a user is blocked, others can still retry the user's builds. Such builds read their own project and public
/// ones: neither what the user could read, nor what the users who retry them can read.
#[tokio::test]
async fn builds_of_blocked_users_can_be_retried_and_read_their_own_project() {
    let fixture = CiFixture::with_file("a: {script: x, only: [tags]}\n").await;
    let (ada, server) = (&fixture.ada, &fixture.server);
    let (leaver_id, leaver) = fixture.add_member("leaver", "30").await;
    let (bob_id, bob) = fixture.add_member("bob", "30").await;
    server.project(ada, "open", 20).await;
    server.push_first(ada, "ada/open").await;
    let secret = server.project(ada, "secret", 0).await;
    server.push_first(ada, "ada/secret").await;
    fixture.allow_job_tokens(ada, "ada%2Fsecret").await;
    for id in [leaver_id, bob_id] {
        let form = [("user_id", &*id.to_string()), ("access_level", "30")];
        assert_eq!(ada.post(&format!("/projects/{secret}/members"), &form).await.status, 201);
    }
    push(server, &leaver, THREE_STAGES, "main:dev").await;
    let runner = fixture.runner().await;
    let take = async |name: &str| {
        let job = runner.claim().await;
        assert_eq!(job.body["job_info"]["name"], name);
        job
    };
    let set = async |id: UserId, what: &str| {
        assert_eq!(server.admin.put(&format!("/users/{id}/{what}"), &[]).await.status, 200);
    };
    let check = async |job: &Job, expected: [u16; 3], how: &str| {
        let mut statuses = [0; 3];
        for (status, path) in statuses.iter_mut().zip(["ada/p", "ada/open", "ada/secret"]) {
            *status = request_status(&fixture, &job.token, path, READ).await;
        }
        assert_eq!(statuses, expected, "{how}");
    };

    let job = take("first").await;
    check(&job, STATUSES_WITH_USER, "pushed").await;
    set(leaver_id, "block").await;
    check(&job, STATUSES_WITHOUT_JOB, "its user started it, and is blocked").await;
    runner.finish(&job, "failed").await;

    let retry = fixture.path(&format!("/pipelines/{}/retry", fixture.pipeline().await["id"]));
    assert_eq!(bob.post(&retry, &[]).await.status, 201);
    let job = take("first").await;
    check(&job, STATUSES_WITHOUT_USER, "the pipeline retried").await;
    assert_eq!(request_status(&fixture, &job.token, "ada/p", WRITE).await, 403);
    runner.finish(&job, "success").await;
    // The build was skipped, and runs because of the retry.
    let job = take("second").await;
    assert_eq!(fixture.build("second").await["user"]["username"], "bob");
    check(&job, STATUSES_WITHOUT_USER, "behind what was retried").await;
    runner.finish(&job, "failed").await;
    let again = bob.post(&fixture.path(&format!("/builds/{}/retry", fixture.build("second").await["id"])), &[]).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let job = take("second").await;
    check(&job, STATUSES_WITHOUT_USER, "the build retried").await;
    runner.finish(&job, "success").await;

    let play = fixture.path(&format!("/builds/{}/play", fixture.build("third").await["id"]));
    assert_eq!(bob.post(&play, &[]).await.status, 200);
    let job = take("third").await;
    check(&job, STATUSES_WITHOUT_USER, "played").await;
    set(bob_id, "block").await;
    check(&job, STATUSES_WITHOUT_JOB, "who played it is blocked").await;
    set(leaver_id, "unblock").await;
    check(&job, STATUSES_WITHOUT_JOB, "who played it is still blocked").await;
    set(bob_id, "unblock").await;
    check(&job, STATUSES_WITH_USER, "both are active").await;
    assert_eq!(server.admin.delete(&format!("/users/{leaver_id}")).await.status, 200);
    check(&job, STATUSES_WITHOUT_USER, "its user is deleted").await;
}
