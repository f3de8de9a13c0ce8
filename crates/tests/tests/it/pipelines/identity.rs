//! Whose rights a build has: those of its pipeline's user, and of these only what the project that is read allows.

use holdfast_tests::{Client, Server, WorkTree};
use serde_json::{Value, json};

use super::git_access::{READ, ask};
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
