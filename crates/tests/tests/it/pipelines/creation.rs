//! Creation of pipelines.

use serde_json::{Value, json};

use super::{CiFixture, SIMPLE, pairs};

#[tokio::test]
async fn a_push_creates_one_pipeline_per_ref() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let made = fixture.pipeline().await;
    assert_eq!(
        made,
        json!({
            "id": made["id"], "status": "pending", "ref": "main", "sha": fixture.sha, "before_sha": fixture.sha, "tag": false,
            "yaml_errors": null, "user": made["user"], "created_at": "2026-01-02T03:04:05.678Z",
            "updated_at": "2026-01-02T03:04:05.678Z", "started_at": null, "finished_at": null, "committed_at": null,
            "duration": null,
        })
    );
    assert_eq!(made["user"]["username"], "ada");
    fixture.tree.git(["tag", "v1"]).await.ok();
    fixture
        .tree
        .push(&fixture.server.git_url(&fixture.ada, "ada/p"), &["v1", "main:topic", "main:refs/other/x"])
        .await
        .ok();
    fixture.server.run_jobs().await;
    let refs: Vec<Value> = fixture.pipelines().await.iter().map(|it| json!([it["ref"], it["tag"]])).collect();
    assert_eq!(refs.len(), 3, "{refs:?}");
    assert!(refs.contains(&json!(["v1", true])) && refs.contains(&json!(["topic", false])));
    // A branch that is created by the API gets a pipeline as well; deleting one does not create any.
    let branch = [("branch_name", "api"), ("ref", "main")];
    fixture.ada.post(&fixture.path("/repository/branches"), &branch).await;
    fixture.ada.delete(&fixture.path("/repository/branches/topic")).await;
    fixture.server.run_jobs().await;
    assert_eq!(fixture.pipelines().await.len(), 4);
}

#[tokio::test]
async fn a_tag_created_through_the_api_gets_a_pipeline() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let tags = fixture.path("/repository/tags");
    let lightweight = [("tag_name", "light"), ("ref", "main")];
    let annotated = [("tag_name", "annotated"), ("ref", "main"), ("message", "First release")];
    for form in [&lightweight[..], &annotated] {
        let made = fixture.ada.post(&tags, form).await;
        assert_eq!(made.status, 201, "{}", made.text);
        fixture.server.run_jobs().await;
        let newest = fixture.pipeline().await;
        assert_eq!(
            (&newest["ref"], &newest["tag"], &newest["sha"]),
            (&json!(form[0].1), &json!(true), &json!(fixture.sha))
        );
    }
}

#[tokio::test]
async fn invalid_ci_files_are_reported() {
    let fixture = CiFixture::with_file("one:\n  script: []\n  foo: 1\n").await;
    let made = fixture.pipeline().await;
    assert_eq!(
        (made["status"].as_str(), made["yaml_errors"].as_str()),
        (Some("failed"), Some("jobs:one config contains unknown keys: foo"))
    );
    // Through the API, an invalid file is rejected, and nothing is stored.
    let refused = fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "main")]).await;
    assert_eq!(
        refused.status_and_body(),
        (400, &json!({ "message": { "base": ["jobs:one config contains unknown keys: foo"] } }))
    );
    for (reference, text) in [("none", "Reference not found"), (&fixture.sha, "Reference not found")] {
        let refused = fixture.ada.post(&fixture.path("/pipeline"), &[("ref", reference)]).await;
        assert_eq!(refused.status_and_body(), (400, &json!({ "message": { "base": [text] } })));
    }
    let refused = fixture.ada.post(&fixture.path("/pipeline"), &[]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({ "error": "ref is missing" })));
    fixture.tree.git(["rm", "-q", ".gitlab-ci.yml"]).await.ok();
    fixture.tree.commit("other", b"x", "No file").await;
    fixture.push("main").await;
    let refused = fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "main")]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({ "message": { "base": ["Missing .gitlab-ci.yml file"] } })));
    fixture.tree.commit(".gitlab-ci.yml", b"one:\n  script: x\n  only: [tags]\n", "For tags").await;
    fixture.push("main").await;
    let refused = fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "main")]).await;
    assert_eq!(refused.status_and_body(), (400, &json!({ "message": { "base": ["No builds for this pipeline."] } })));
    assert_eq!(fixture.pipelines().await.len(), 1);
    // A commit message with `[skip ci]` skips the pipeline, but the API can create one.
    fixture.tree.commit(".gitlab-ci.yml", SIMPLE.as_bytes(), "Words [Skip CI]").await;
    fixture.push("main").await;
    assert_eq!(fixture.pipeline().await["status"], "skipped");
    let made = fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "refs/heads/main")]).await;
    assert_eq!(
        (made.status, made.body["status"].as_str(), made.body["ref"].as_str()),
        (201, Some("pending"), Some("main"))
    );
    assert_eq!(made.body["before_sha"], "0".repeat(40));
}

/// A job that is interrupted after its work is run again, and the pipeline exists only once.
#[tokio::test]
async fn a_repeated_job_creates_no_second_pipeline() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let mut database = fixture.server.database().await;
    let repeat = "select graphile_worker.add_job('create_pipelines', json_build_object('project', p.project_id, 'user', p.user_id,
        'generation', p.generation, 'pushed', json_build_array(json_build_object('ref_name', p.ref, 'tag', p.tag, 'sha', p.sha))))
        from pipelines p";
    sqlx::query(repeat).execute(&mut database).await.unwrap();
    fixture.server.run_jobs().await;
    assert_eq!(fixture.pipelines().await.len(), 1);
}

#[tokio::test]
async fn builds_can_be_disabled_and_hidden() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let settings = async |form: &[(&str, &str)]| assert_eq!(fixture.ada.put(&fixture.path(""), form).await.status, 200);
    settings(&[("visibility_level", "20"), ("public_builds", "false")]).await;
    let (_, eve) = fixture.server.user("eve").await;
    let nobody = fixture.server.anonymous();
    for below in ["/pipelines", "/builds", "/repository/commits/main/statuses"] {
        assert_eq!(eve.get(&fixture.path(below)).await.status, 403, "{below}");
        assert_eq!(nobody.get(&fixture.path(below)).await.status, 401, "{below}");
        assert_eq!(fixture.ada.get(&fixture.path(below)).await.status, 200, "{below}");
    }
    settings(&[("public_builds", "true")]).await;
    assert_eq!(nobody.get(&fixture.path("/pipelines")).await.status, 200);
    settings(&[("builds_enabled", "false")]).await;
    assert_eq!(fixture.ada.get(&fixture.path("/pipelines")).await.status, 403);
    assert_eq!(fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "main")]).await.status, 403);
    fixture.tree.commit("other", b"x", "More").await;
    fixture.push("main").await;
    settings(&[("builds_enabled", "true")]).await;
    assert_eq!(fixture.pipelines().await.len(), 1);
}

#[tokio::test]
async fn builds_are_ordered_by_stage() {
    let file = "stages: [b, a]\none: {stage: a, script: x}\ntwo: {stage: b, script: x}\nthree: {stage: b, script: x, when: manual}\n";
    let fixture = CiFixture::with_file(file).await;
    assert_eq!(fixture.statuses().await, pairs(&[("two", "pending"), ("three", "skipped"), ("one", "created")]));
}
