//! What goes with a project or a user, and what stays.

use reqwest::Method;
use serde_json::{Value, json};

use super::scene::{STAGES, rows, stored};
use super::{Ground, Runner, SIMPLE};

const TABLES: [&str; 13] = [
    "pipelines",
    "builds",
    "traces",
    "trace_pieces",
    "artifacts",
    "build_objects",
    "build_queue",
    "build_runs",
    "build_turns",
    "project_variables",
    "triggers",
    "runners",
    "runner_projects",
];

/// Something of all that there is: a build that is over, one that runs, one that waits.
async fn fill(ground: &Ground, runner: &Runner) -> super::Job {
    let variable = [("key", "KEY"), ("value", "v")];
    assert_eq!(ground.ada.post(&ground.path("/variables"), &variable).await.status, 201);
    assert_eq!(ground.ada.post(&ground.path("/triggers"), &[]).await.status, 201);
    let over = runner.take().await;
    assert_eq!(runner.patch(&over, 0, &vec![b'x'; 2 << 20]).await.status, 202);
    assert_eq!(runner.leave(&over, "out.zip", b"left").await.status, 201);
    runner.finish(&over, "success").await;
    let runs = runner.take().await;
    assert_eq!(runner.patch(&runs, 0, b"words").await.status, 202);
    assert_eq!(runner.leave(&runs, "out.zip", b"left").await.status, 201);
    ground.start().await;
    runs
}

#[tokio::test]
async fn nothing_stays_of_a_project() {
    let ground = Ground::with(STAGES).await;
    let runner = ground.runner().await;
    let job = fill(&ground, &runner).await;
    for table in TABLES {
        assert_ne!(rows(&ground.server, table).await, 0, "{table} is of no use to this test");
    }
    assert!(stored(&ground.server, "artifacts") == 2 && stored(&ground.server, "traces") > 0);
    assert_eq!(ground.ada.delete(&ground.path("")).await.status, 200);
    // At once the runner is told, and gets nothing of it any more.
    assert_eq!(runner.patch(&job, 5, b"more").await.status, 403);
    assert_eq!(runner.update(&job, "success").await.status, 403);
    assert_eq!(runner.leave(&job, "out.zip", b"other").await.status, 403);
    let asked = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert!([204, 403].contains(&asked.status), "{}", asked.status);
    ground.server.work().await;
    let contents = ground.server.contents().await;
    for table in TABLES {
        assert_eq!(contents[table], json!([]), "{table}");
    }
    assert_eq!((stored(&ground.server, "artifacts"), stored(&ground.server, "traces")), (0, 0));
    assert_eq!(contents["projects"], json!([]));
    assert_eq!(runner.update(&job, "success").await.status, 403);
    assert_eq!(runner.patch(&job, 5, b"more").await.status, 403);
    let asked = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert_eq!(asked.status, 403, "it served that project alone");
    // What is done every minute and every day finds nothing to stumble over.
    ground.server.tend().await;
    ground.server.sweep().await;
}

/// What a project has is gone with it, even before it is taken away.
#[tokio::test]
async fn nothing_is_given_out_of_a_project_that_is_gone() {
    let ground = Ground::with(STAGES).await;
    let runner = ground.runner().await;
    let job = fill(&ground, &runner).await;
    assert_eq!(runner.fetch(job.id, &job.token).await.0, 200);
    assert_eq!(ground.ada.delete(&ground.path("")).await.status, 200);
    assert_eq!(runner.fetch(job.id, &job.token).await.0, 403);
}

/// All that people see of a project's builds.
async fn seen(ground: &Ground, project: i64) -> Vec<Value> {
    let mut seen = Vec::new();
    for below in ["pipelines", "builds", "variables", "triggers", "runners"] {
        let answer = ground.ada.get(&format!("/projects/{project}/{below}")).await;
        assert_eq!(answer.status, 200, "{below}: {}", answer.text);
        for build in answer.body.as_array().unwrap().iter().filter(|_| below == "builds") {
            for file in ["trace", "artifacts"] {
                let path = format!("/projects/{project}/builds/{}/{file}", build["id"]);
                seen.push(ground.ada.get(&path).await.text.into());
            }
        }
        seen.push(answer.body);
    }
    seen
}

#[tokio::test]
async fn other_projects_keep_what_they_have() {
    let mut ground = Ground::with(STAGES).await;
    // A second project with as much, and runners that serve both.
    let (first, second) = (ground.project, ground.another_project("q", STAGES).await);
    let (both, own) = (ground.runner().await, ground.runner().await);
    let shared = Runner::shared(&ground.server, json!({})).await;
    fill(&ground, &own).await;
    ground.project = second;
    let theirs = ground.runner().await;
    let added = ground.ada.post(&ground.path("/runners"), &[("runner_id", &both.id.to_string())]).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let job = fill(&ground, &theirs).await;
    ground.project = first;

    let before = seen(&ground, second).await;
    assert_eq!(ground.ada.delete(&ground.path("")).await.status, 200);
    ground.server.work().await;
    ground.server.sweep().await;
    assert_eq!(seen(&ground, second).await, before);
    let contents = ground.server.contents().await;
    let ids: Vec<&Value> = contents["runners"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids.len(), 3);
    assert!([theirs.id, both.id, shared.id].iter().all(|id| ids.contains(&&json!(id))), "{ids:?}");
    assert!(contents["builds"].as_array().unwrap().iter().all(|it| it["project_id"] == second));
    // And it goes on.
    assert_eq!(theirs.patch(&job, 5, b" more").await.status, 202);
    theirs.finish(&job, "success").await;
    assert_eq!(both.take().await.body["job_info"]["project_id"], second);
    assert!(shared.request().await.is_none());
}

#[tokio::test]
async fn pipelines_outlive_who_started_them() {
    let ground = Ground::with(SIMPLE).await;
    let (id, max) = ground.member("max", "40").await;
    let runner = ground.runner().await;
    runner.finish(&runner.take().await, "success").await;
    let trigger = max.post(&ground.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    let kept = ground.ada.post(&ground.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    assert_eq!(max.post(&ground.path("/pipeline"), &[("ref", "main")]).await.body["user"]["username"], "max");
    let status = [("state", "success"), ("name", "lint")];
    let path = ground.path(&format!("/statuses/{}", ground.sha));
    assert_eq!(max.post(&path, &status).await.body["author"]["username"], "max");
    assert_eq!(ground.server.admin.delete(&format!("/users/{id}")).await.status, 200);
    ground.server.work().await;

    let pipelines = ground.pipelines().await;
    assert_eq!(pipelines.len(), 2);
    assert_eq!((&pipelines[0]["user"], &pipelines[1]["user"]["username"]), (&Value::Null, &json!("ada")));
    let build = ground.build("one").await;
    assert_eq!((&build["user"], &build["status"]), (&Value::Null, &json!("pending")));
    let said = ground.ada.get(&ground.path(&format!("/repository/commits/{}/statuses?name=lint", ground.sha))).await;
    assert_eq!((&said.body[0]["author"], &said.body[0]["status"]), (&Value::Null, &json!("success")));
    // His triggers went with him, others did not.
    let triggers = ground.ada.get(&ground.path("/triggers")).await;
    assert_eq!(triggers.body.as_array().unwrap().len(), 1);
    assert_eq!(triggers.body[0]["token"], kept);
    let fire = async |token: &str| {
        let form = [("ref", "main"), ("token", token)];
        ground.server.anonymous().post(&ground.path("/trigger/builds"), &form).await.status
    };
    assert_eq!(fire(&trigger).await, 404);
    assert_eq!(fire(&kept).await, 201);
    // What he started is done all the same.
    let job = runner.take().await;
    assert_eq!((json!(job.id), job.value("GITLAB_USER_EMAIL")), (build["id"].clone(), None));
    runner.finish(&job, "success").await;
    assert_eq!(ground.pipelines().await[1]["status"], "success");
}

/// With a user go his own projects, and all that is built there.
#[tokio::test]
async fn a_users_own_projects_go_with_all_of_it() {
    let ground = Ground::with(STAGES).await;
    let runner = ground.runner().await;
    let job = fill(&ground, &runner).await;
    assert_eq!(ground.server.admin.delete("/users/2").await.status, 200);
    assert_eq!(runner.patch(&job, 5, b"more").await.status, 403);
    ground.server.work().await;
    let contents = ground.server.contents().await;
    for table in TABLES {
        assert_eq!(contents[table], json!([]), "{table}");
    }
    assert_eq!((stored(&ground.server, "artifacts"), stored(&ground.server, "traces")), (0, 0));
}
