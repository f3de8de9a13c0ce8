//! Whose rights a build has: those of its pipeline's user, and of these only what the project that is read allows.

use holdfast_domain::ids::UserId;
use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use super::git_access::{READ, WRITE, ask};
use super::{Ground, Job, Runner};

/// A failing build, and one for later.
const FILE: &str = "
fails: {script: exit 1}
by_hand: {script: echo, stage: deploy, when: manual}
";

fn acts_for(job: &Job) -> (Option<&str>, Option<&str>) {
    (job.value("GITLAB_USER_ID"), job.value("GITLAB_USER_EMAIL"))
}

async fn push(server: &Server, client: &Client, file: &str, refspec: &str) {
    let tree = WorkTree::new().await;
    tree.commit(".gitlab-ci.yml", file.as_bytes(), "Build").await;
    tree.push(&server.git_url(client, "ada/p"), &[refspec]).await.ok();
    server.work().await;
}

/// Mallory, a master of ada's project, reads the token of ada's trigger in the list, pushes a script of her own, starts it
/// with the token and takes the build with a runner of her own, to read ada's private projects with the token of the build.
#[tokio::test]
async fn a_master_cannot_use_the_trigger_of_another_to_read_their_projects() {
    let ground = Ground::with("a: {script: x, only: [tags]}\n").await;
    ground.server.project(&ground.ada, "secret", 0).await;
    ground.server.push_first(&ground.ada, "ada/secret").await;
    let (_, mallory) = ground.member("mallory", "40").await;
    let made = ground.ada.post(&ground.path("/triggers"), &[]).await;
    let token = made.body["token"].as_str().unwrap();

    let listed = mallory.get(&ground.path("/triggers")).await;
    assert_eq!(listed.status, 200);
    assert_eq!(listed.body[0]["owner"]["username"], "ada");
    assert_eq!(listed.body[0]["token"], token[..4]);
    assert!(!listed.text.contains(&token[..5]), "{}", listed.text);
    let by_id = mallory.get(&ground.path(&format!("/triggers/{}", listed.body[0]["id"]))).await;
    assert_eq!(by_id.both(), (200, &listed.body[0]));
    // Nor does what she sees start anything.
    push(&ground.server, &mallory, "a: {script: x, only: [triggers]}\n", "main:evil").await;
    for guess in [&token[..4], &listed.body[0]["id"].to_string()] {
        let fired = mallory.post(&ground.path("/trigger/builds"), &[("ref", "evil"), ("token", guess)]).await;
        assert_eq!(fired.status, 404, "{guess}");
    }
    assert_eq!(ground.pipelines().await, [] as [Value; 0]);

    // Even with the token, a build reads nothing of ada's but this project.
    let fired = mallory.post(&ground.path("/trigger/builds"), &[("ref", "evil"), ("token", token)]).await;
    assert_eq!(fired.status, 201);
    let runner = Runner::of(&ground, json!({})).await;
    let job = runner.take().await;
    assert_eq!(job.value("GITLAB_USER_EMAIL"), Some("ada@example.com"));
    assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 200);
    assert_eq!(ask(&ground, &job.token, "ada/secret", READ).await, 404);
    assert_eq!(ask(&ground, &job.token, "ada/none", READ).await, 404);
}

/// A master who does not own a trigger can still take it away, by its id.
#[tokio::test]
async fn masters_delete_triggers_of_others_by_id() {
    let ground = Ground::with("a: {script: x}\n").await;
    let (_, max) = ground.member("max", "40").await;
    let made = ground.ada.post(&ground.path("/triggers"), &[]).await.body;
    let one = ground.path(&format!("/triggers/{}", made["id"]));
    let other = ground.another_project("q", "a: {script: x}\n").await;
    let elsewhere = format!("/projects/{other}/triggers/{}", made["id"]);
    assert_eq!(ground.ada.delete(&elsewhere).await.both(), (404, &json!({ "message": "404 Trigger Not Found" })));
    assert_eq!(ground.ada.get(&one).await.both(), (200, &made), "its owner sees all of it");
    let deleted = max.delete(&one).await;
    assert_eq!((deleted.status, &deleted.body["id"]), (200, &made["id"]));
    assert_eq!(deleted.body["token"].as_str().unwrap().len(), 4);
    assert_eq!(ground.ada.get(&ground.path("/triggers")).await.body, json!([]));
    let fire = [("ref", "main"), ("token", made["token"].as_str().unwrap())];
    assert_eq!(ground.ada.post(&ground.path("/trigger/builds"), &fire).await.status, 404);
}

/// A developer lets a pipeline fail, so that ada retries it and the developer's script runs with ada's rights.
#[tokio::test]
async fn a_retried_or_played_build_keeps_the_rights_of_the_pipelines_user() {
    let ground = Ground::with("a: {script: x, only: [tags]}\n").await;
    let (ada, server) = (&ground.ada, &ground.server);
    let (mallory_id, mallory) = ground.member("mallory", "30").await;
    server.project(ada, "secret", 0).await;
    server.push_first(ada, "ada/secret").await;
    // Ada wants her own builds to read it; the project of mallory's is for this one.
    ground.allow(ada, "ada%2Fsecret").await;
    push(server, &mallory, FILE, "main:dev").await;
    let runner = ground.runner().await;
    let mallory_id = mallory_id.to_string();
    let expected = (Some(mallory_id.as_str()), Some("mallory@example.com"));

    let check = async |job: &Job, how: &str| {
        assert_eq!(acts_for(job), expected, "{how}");
        assert_eq!(ask(&ground, &job.token, "ada/p", READ).await, 200, "{how}");
        assert_eq!(ask(&ground, &job.token, "ada/secret", READ).await, 404, "{how}");
    };
    let job = runner.take().await;
    check(&job, "pushed").await;
    runner.finish(&job, "failed").await;

    let pipeline = ground.pipeline().await;
    let retry = ground.path(&format!("/pipelines/{}/retry", pipeline["id"]));
    assert_eq!(ada.post(&retry, &[]).await.status, 201);
    let job = runner.take().await;
    check(&job, "the pipeline retried").await;
    runner.finish(&job, "failed").await;

    let retried = ground.act(&ground.build("fails").await, "retry").await;
    // Who wanted it is shown.
    assert_eq!((retried.status, &retried.body["user"]["username"]), (201, &json!("ada")));
    let job = runner.take().await;
    check(&job, "the build retried").await;
    runner.finish(&job, "success").await;

    let played = ground.act(&ground.build("by_hand").await, "play").await;
    assert_eq!((played.status, &played.body["user"]["username"]), (200, &json!("ada")));
    check(&runner.take().await, "played").await;
    // A pipeline that ada starts is hers.
    let made = ada.post(&ground.path("/pipeline"), &[("ref", "dev")]).await;
    assert_eq!(made.status, 201);
    let job = runner.take().await;
    assert_eq!(acts_for(&job).1, Some("ada@example.com"));
    assert_eq!(ask(&ground, &job.token, "ada/secret", READ).await, 200);
}

/// One build in each of three stages, the last for later.
const THREE_STAGES: &str = "
first: {script: x, stage: build}
second: {script: x, stage: test}
third: {script: x, stage: deploy, when: manual}
";

/// The statuses of reading the build's own project, a public one, and a private one that lets its builds in.
const WITH_ITS_USER: [u16; 3] = [200, 200, 200];
const WITHOUT_ITS_USER: [u16; 3] = [200, 200, 404];
const NOTHING: [u16; 3] = [401, 401, 401];

/// When a user leaves, others can still run again what that user started. Such builds get their own project and public ones:
/// neither what the user could read, nor what those can read who run them.
#[tokio::test]
async fn what_a_blocked_user_started_can_be_retried_and_reads_its_own_project() {
    let ground = Ground::with("a: {script: x, only: [tags]}\n").await;
    let (ada, server) = (&ground.ada, &ground.server);
    let (leaver_id, leaver) = ground.member("leaver", "30").await;
    let (bob_id, bob) = ground.member("bob", "30").await;
    server.project(ada, "open", 20).await;
    server.push_first(ada, "ada/open").await;
    let secret = server.project(ada, "secret", 0).await;
    server.push_first(ada, "ada/secret").await;
    ground.allow(ada, "ada%2Fsecret").await;
    for id in [leaver_id, bob_id] {
        let form = [("user_id", &*id.to_string()), ("access_level", "30")];
        assert_eq!(ada.post(&format!("/projects/{secret}/members"), &form).await.status, 201);
    }
    push(server, &leaver, THREE_STAGES, "main:dev").await;
    let runner = ground.runner().await;
    let take = async |name: &str| {
        let job = runner.take().await;
        assert_eq!(job.body["job_info"]["name"], name);
        job
    };
    let set = async |id: UserId, what: &str| {
        assert_eq!(server.admin.put(&format!("/users/{id}/{what}"), &[]).await.status, 200);
    };
    let check = async |job: &Job, expected: [u16; 3], how: &str| {
        let mut statuses = [0; 3];
        for (status, path) in statuses.iter_mut().zip(["ada/p", "ada/open", "ada/secret"]) {
            *status = ask(&ground, &job.token, path, READ).await;
        }
        assert_eq!(statuses, expected, "{how}");
    };

    let job = take("first").await;
    check(&job, WITH_ITS_USER, "pushed").await;
    set(leaver_id, "block").await;
    check(&job, NOTHING, "its user started it, and is blocked").await;
    runner.finish(&job, "failed").await;

    let retry = ground.path(&format!("/pipelines/{}/retry", ground.pipeline().await["id"]));
    assert_eq!(bob.post(&retry, &[]).await.status, 201);
    let job = take("first").await;
    check(&job, WITHOUT_ITS_USER, "the pipeline retried").await;
    assert_eq!(ask(&ground, &job.token, "ada/p", WRITE).await, 403);
    runner.finish(&job, "success").await;
    // It was skipped, and runs because of the retry.
    let job = take("second").await;
    assert_eq!(ground.build("second").await["user"]["username"], "bob");
    check(&job, WITHOUT_ITS_USER, "behind what was retried").await;
    runner.finish(&job, "failed").await;
    let again = bob.post(&ground.path(&format!("/builds/{}/retry", ground.build("second").await["id"])), &[]).await;
    assert_eq!(again.status, 201, "{}", again.text);
    let job = take("second").await;
    check(&job, WITHOUT_ITS_USER, "the build retried").await;
    runner.finish(&job, "success").await;

    let play = ground.path(&format!("/builds/{}/play", ground.build("third").await["id"]));
    assert_eq!(bob.post(&play, &[]).await.status, 200);
    let job = take("third").await;
    check(&job, WITHOUT_ITS_USER, "played").await;
    set(bob_id, "block").await;
    check(&job, NOTHING, "who played it is blocked").await;
    set(leaver_id, "unblock").await;
    check(&job, NOTHING, "who played it is still blocked").await;
    set(bob_id, "unblock").await;
    check(&job, WITH_ITS_USER, "both are active").await;
    assert_eq!(server.admin.delete(&format!("/users/{leaver_id}")).await.status, 200);
    check(&job, WITHOUT_ITS_USER, "its user is deleted").await;
}
