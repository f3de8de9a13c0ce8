//! The allowlist of projects whose builds may read a project.

use holdfast_tests::WorkTree;
use serde_json::json;

use super::git_access::{READ, WRITE, request_status};
use super::{CiFixture, SIMPLE};

const NOW: &str = "2026-01-02T03:04:05.678Z";

/// A script uses the token of its build to read other projects that the user of the build can read. It succeeds only if
/// the other project allows it, and never reads more than the user.
#[tokio::test]
async fn a_build_reads_another_project_only_if_that_project_and_its_user_allow_it() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let (_, eve) = fixture.server.user("eve").await;
    for (path, visibility) in [("hidden", 0), ("inner", 10), ("open", 20)] {
        fixture.server.project(&eve, path, visibility).await;
        fixture.server.push_first(&eve, &format!("eve/{path}")).await;
    }
    let other = fixture.another_project("q", SIMPLE).await;
    let job = fixture.runner().await.claim().await;
    let token = fixture.ada.get(&format!("/projects/{other}")).await.body["runners_token"].clone();
    let of_other = super::Runner::register(&fixture.server, json!({ "token": token })).await.claim().await;
    let statuses = async |job: &super::Job| {
        let mut statuses = Vec::new();
        for path in ["ada/p", "ada/q", "eve/hidden", "eve/inner", "eve/open", "eve/none"] {
            statuses.push(request_status(&fixture, &job.token, path, READ).await);
        }
        statuses
    };
    assert_eq!(statuses(&job).await, [200, 404, 404, 404, 200, 404]);
    // A private project and one that does not allow the build have the same response.
    let text = async |path: &str| {
        let url = format!("{}/{path}.git/info/refs?service={READ}", fixture.server.base_url);
        let request = reqwest::Client::new().get(url).basic_auth("gitlab-ci-token", Some(&job.token));
        request.send().await.unwrap().text().await.unwrap()
    };
    let message = text("ada/q").await;
    assert!(message.contains("job token allow list"), "{message}");
    assert_eq!((text("eve/hidden").await, text("eve/none").await), (message.clone(), message));

    for path in ["hidden", "inner"] {
        fixture.allow_job_tokens(&fixture.server.admin, &format!("eve%2F{path}")).await;
    }
    fixture.allow_job_tokens(&fixture.ada, "ada%2Fq").await;
    // Ada is no member of eve/hidden, so her builds cannot read it either.
    assert_eq!(statuses(&job).await, [200, 200, 404, 200, 200, 404]);
    let url = format!("http://gitlab-ci-token:{}@{}/ada/q.git", job.token, fixture.server.address());
    WorkTree::clone(&url, &[]).await.0.ok();
    assert_eq!(request_status(&fixture, &job.token, "ada/q", WRITE).await, 403, "it reads, and does not write");
    // It applies to builds of that project only, and not in the other direction.
    assert_eq!(statuses(&of_other).await, [404, 200, 404, 404, 200, 404]);

    let path = format!("/projects/{other}/job_token_scope/allowlist/{}", fixture.project);
    let removed = fixture.ada.delete(&path).await;
    assert_eq!(
        removed.status_and_body(),
        (200, &json!({ "source_project_id": other, "target_project_id": fixture.project }))
    );
    assert_eq!(statuses(&job).await, [200, 404, 404, 200, 200, 404]);
}

#[tokio::test]
async fn masters_manage_the_allowlist() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let path = fixture.path("/job_token_scope/allowlist");
    let other = fixture.another_project("q", SIMPLE).await;
    let (_, eve) = fixture.server.user("eve").await;
    let hidden = fixture.server.project(&eve, "hidden", 0).await;
    assert_eq!(fixture.ada.get(&path).await.status_and_body(), (200, &json!([])));
    let add = async |id: &str| fixture.ada.post(&path, &[("target_project_id", id)]).await;
    let added = add(&other.to_string()).await;
    assert_eq!(
        added.status_and_body(),
        (201, &json!({ "source_project_id": fixture.project, "target_project_id": other }))
    );
    let listed = fixture.ada.get(&path).await;
    assert_eq!(listed.status_and_body(), (200, &json!([{ "id": other, "created_at": NOW }])));
    assert_eq!(listed.header("x-total"), Some("1"));

    let before = fixture.server.dump_database().await;
    let again = json!({ "message": "The project is on the allow list already" });
    assert_eq!(add(&other.to_string()).await.status_and_body(), (409, &again));
    let own = json!({ "message": "Builds always read their own project" });
    assert_eq!(add(&fixture.project.to_string()).await.status_and_body(), (400, &own));
    let missing = json!({ "message": "404 Project Not Found" });
    for id in [hidden, 999] {
        assert_eq!(add(&id.to_string()).await.status_and_body(), (404, &missing), "{id}");
    }
    assert_eq!(add("x").await.status_and_body(), (400, &json!({ "error": "target_project_id is invalid" })));
    assert_eq!(
        fixture.ada.post(&path, &[]).await.status_and_body(),
        (400, &json!({ "error": "target_project_id is missing" }))
    );
    let gone = fixture.ada.delete(&format!("{path}/{hidden}")).await;
    assert_eq!(gone.status_and_body(), (404, &json!({ "message": "404 Not found" })));
    assert_eq!(fixture.server.dump_database().await, before);

    // A project that a master cannot see is listed by its id, and can be removed.
    let (_, max) = fixture.add_member("max", "40").await;
    assert_eq!(max.get(&path).await.body, json!([{ "id": other, "created_at": NOW }]));
    assert_eq!(max.delete(&format!("{path}/{other}")).await.status, 200);
    // A deleted project is not listed.
    add(&other.to_string()).await;
    assert_eq!(fixture.ada.delete(&format!("/projects/{other}")).await.status, 200);
    assert_eq!(fixture.ada.get(&path).await.body, json!([]));
    fixture.server.run_jobs().await;
    assert_eq!(super::fixtures::count_rows(&fixture.server, "job_token_allowlist").await, 0);
}

#[tokio::test]
async fn allowlist_size_is_limited() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let fill = "insert into projects (namespace_id, creator_id, name, path, visibility_level, issues_enabled,
          merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, container_registry_enabled,
          shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled, only_allow_merge_if_build_succeeds,
          only_allow_merge_if_all_discussions_are_resolved, runners_token, created_at, updated_at, last_activity_at)
        select namespace_id, 1, 'n' || n, 'n' || n, 20, true, true, true, true, true, true, true, true, true, true, false,
          false, '', now(), now(), now()
        from projects, generate_series(1, 201) n where id = 1";
    let allow = "insert into job_token_allowlist (target_id, source_id, created_at)
        select 1, id, now() from projects where id > 1 order by id limit 200";
    let mut database = fixture.server.database().await;
    for statement in [fill, allow] {
        sqlx::query(statement).execute(&mut database).await.unwrap();
    }
    fixture.server.add_repositories().await;
    let last: i64 = sqlx::query_scalar("select max(id) from projects").fetch_one(&mut database).await.unwrap();
    let form = [("target_project_id", &*last.to_string())];
    let refused = fixture.ada.post(&fixture.path("/job_token_scope/allowlist"), &form).await;
    let text = "The job token allow list can have at most 200 projects";
    assert_eq!(refused.status_and_body(), (400, &json!({ "message": text })));
}
