//! CI data that is deleted with a project or a user, and data that is kept.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixtures::{STAGES, count_rows, count_stored};
use super::{CiFixture, Runner, SIMPLE};

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

/// Creates CI data of every kind: a finished, a running and a pending build.
async fn create_everything(fixture: &CiFixture, runner: &Runner) -> super::Job {
    let variable = [("key", "KEY"), ("value", "v")];
    assert_eq!(fixture.ada.post(&fixture.path("/variables"), &variable).await.status, 201);
    assert_eq!(fixture.ada.post(&fixture.path("/triggers"), &[]).await.status, 201);
    let over = runner.claim().await;
    assert_eq!(runner.patch(&over, 0, &vec![b'x'; 2 << 20]).await.status, 202);
    assert_eq!(runner.upload_artifacts(&over, "out.zip", b"left").await.status, 201);
    runner.finish(&over, "success").await;
    let runs = runner.claim().await;
    assert_eq!(runner.patch(&runs, 0, b"words").await.status, 202);
    assert_eq!(runner.upload_artifacts(&runs, "out.zip", b"left").await.status, 201);
    fixture.start_pipeline().await;
    runs
}

#[tokio::test]
async fn deleting_a_project_deletes_all_ci_data() {
    let fixture = CiFixture::with_file(STAGES).await;
    let runner = fixture.runner().await;
    let job = create_everything(&fixture, &runner).await;
    for table in TABLES {
        assert_ne!(count_rows(&fixture.server, table).await, 0, "{table} is of no use to this test");
    }
    assert!(count_stored(&fixture.server, "artifacts") == 2 && count_stored(&fixture.server, "traces") > 0);
    assert_eq!(fixture.ada.delete(&fixture.path("")).await.status, 200);
    // The runner is rejected at once, and gets no more builds.
    assert_eq!(runner.patch(&job, 5, b"more").await.status, 403);
    assert_eq!(runner.update(&job, "success").await.status, 403);
    assert_eq!(runner.upload_artifacts(&job, "out.zip", b"other").await.status, 403);
    let asked = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert!([204, 403].contains(&asked.status), "{}", asked.status);
    fixture.server.run_jobs().await;
    let contents = fixture.server.dump_database().await;
    for table in TABLES {
        assert_eq!(contents[table], json!([]), "{table}");
    }
    assert_eq!((count_stored(&fixture.server, "artifacts"), count_stored(&fixture.server, "traces")), (0, 0));
    assert_eq!(contents["projects"], json!([]));
    assert_eq!(runner.update(&job, "success").await.status, 403);
    assert_eq!(runner.patch(&job, 5, b"more").await.status, 403);
    let asked = runner.call(Method::POST, "/jobs/request", json!({ "token": runner.token })).await;
    assert_eq!(asked.status, 403, "it served that project alone");
    // The periodic tasks succeed afterwards.
    fixture.server.fail_stale_builds().await;
    fixture.server.sweep_builds().await;
}

/// CI data of a deleted project is not served, even before the job deletes it.
#[tokio::test]
async fn deleted_projects_serve_no_ci_data() {
    let fixture = CiFixture::with_file(STAGES).await;
    let runner = fixture.runner().await;
    let job = create_everything(&fixture, &runner).await;
    assert_eq!(runner.download_artifacts(job.id, &job.token).await.0, 200);
    assert_eq!(fixture.ada.delete(&fixture.path("")).await.status, 200);
    assert_eq!(runner.download_artifacts(job.id, &job.token).await.0, 403);
}

/// Returns all API responses about the builds of a project.
async fn list_visible(fixture: &CiFixture, project: i64) -> Vec<Value> {
    let mut visible = Vec::new();
    for below in ["pipelines", "builds", "variables", "triggers", "runners"] {
        let answer = fixture.ada.get(&format!("/projects/{project}/{below}")).await;
        assert_eq!(answer.status, 200, "{below}: {}", answer.text);
        for build in answer.body.as_array().unwrap().iter().filter(|_| below == "builds") {
            for file in ["trace", "artifacts"] {
                let path = format!("/projects/{project}/builds/{}/{file}", build["id"]);
                visible.push(fixture.ada.get(&path).await.text.into());
            }
        }
        visible.push(answer.body);
    }
    visible
}

#[tokio::test]
async fn deleting_a_project_keeps_ci_data_of_others() {
    let mut fixture = CiFixture::with_file(STAGES).await;
    // A second project with the same data, and runners that serve both.
    let (first, second) = (fixture.project, fixture.another_project("q", STAGES).await);
    let (both, own) = (fixture.runner().await, fixture.runner().await);
    let shared = Runner::register_shared(&fixture.server, json!({})).await;
    create_everything(&fixture, &own).await;
    fixture.project = second;
    let theirs = fixture.runner().await;
    let added = fixture.ada.post(&fixture.path("/runners"), &[("runner_id", &both.id.to_string())]).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let job = create_everything(&fixture, &theirs).await;
    fixture.project = first;

    let before = list_visible(&fixture, second).await;
    assert_eq!(fixture.ada.delete(&fixture.path("")).await.status, 200);
    fixture.server.run_jobs().await;
    fixture.server.sweep_builds().await;
    assert_eq!(list_visible(&fixture, second).await, before);
    let contents = fixture.server.dump_database().await;
    let ids: Vec<&Value> = contents["runners"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids.len(), 3);
    assert!([theirs.id, both.id, shared.id].iter().all(|id| ids.contains(&&json!(id))), "{ids:?}");
    assert!(contents["builds"].as_array().unwrap().iter().all(|it| it["project_id"] == second));
    // Builds of the second project go on.
    assert_eq!(theirs.patch(&job, 5, b" more").await.status, 202);
    theirs.finish(&job, "success").await;
    assert_eq!(both.claim().await.body["job_info"]["project_id"], second);
    assert!(shared.request().await.is_none());
}

#[tokio::test]
async fn pipelines_outlive_the_user_who_started_them() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (id, max) = fixture.add_member("max", "40").await;
    let runner = fixture.runner().await;
    runner.finish(&runner.claim().await, "success").await;
    let trigger = max.post(&fixture.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    let kept = fixture.ada.post(&fixture.path("/triggers"), &[]).await.body["token"].as_str().unwrap().to_owned();
    assert_eq!(max.post(&fixture.path("/pipeline"), &[("ref", "main")]).await.body["user"]["username"], "max");
    let status = [("state", "success"), ("name", "lint")];
    let path = fixture.path(&format!("/statuses/{}", fixture.sha));
    assert_eq!(max.post(&path, &status).await.body["author"]["username"], "max");
    assert_eq!(fixture.server.admin.delete(&format!("/users/{id}")).await.status, 200);
    fixture.server.run_jobs().await;

    let pipelines = fixture.pipelines().await;
    assert_eq!(pipelines.len(), 2);
    assert_eq!((&pipelines[0]["user"], &pipelines[1]["user"]["username"]), (&Value::Null, &json!("ada")));
    let build = fixture.build("one").await;
    assert_eq!((&build["user"], &build["status"]), (&Value::Null, &json!("pending")));
    let response =
        fixture.ada.get(&fixture.path(&format!("/repository/commits/{}/statuses?name=lint", fixture.sha))).await;
    assert_eq!((&response.body[0]["author"], &response.body[0]["status"]), (&Value::Null, &json!("success")));
    // The triggers of the user are deleted, others are not.
    let triggers = fixture.ada.get(&fixture.path("/triggers")).await;
    assert_eq!(triggers.body.as_array().unwrap().len(), 1);
    assert_eq!(triggers.body[0]["token"], kept);
    let fire = async |token: &str| {
        let form = [("ref", "main"), ("token", token)];
        fixture.server.anonymous().post(&fixture.path("/trigger/builds"), &form).await.status
    };
    assert_eq!(fire(&trigger).await, 404);
    assert_eq!(fire(&kept).await, 201);
    // Builds that the user started are still run.
    let job = runner.claim().await;
    assert_eq!((json!(job.id), job.value("GITLAB_USER_EMAIL")), (build["id"].clone(), None));
    runner.finish(&job, "success").await;
    assert_eq!(fixture.pipelines().await[1]["status"], "success");
}

/// Deleting a user also deletes the user's projects and their CI data.
#[tokio::test]
async fn deleting_a_user_deletes_ci_data_of_their_projects() {
    let fixture = CiFixture::with_file(STAGES).await;
    let runner = fixture.runner().await;
    let job = create_everything(&fixture, &runner).await;
    assert_eq!(fixture.server.admin.delete("/users/2").await.status, 200);
    assert_eq!(runner.patch(&job, 5, b"more").await.status, 403);
    fixture.server.run_jobs().await;
    let contents = fixture.server.dump_database().await;
    for table in TABLES {
        assert_eq!(contents[table], json!([]), "{table}");
    }
    assert_eq!((count_stored(&fixture.server, "artifacts"), count_stored(&fixture.server, "traces")), (0, 0));
}
