//! The tokens of builds and runners on every route (token scope bypass: Gitea CVE-2026-28744). The token of a build
//! reads code over git and is valid in the runner protocol for its build, and on the routes of version 4 that are declared
//! for builds; that of a runner is valid in the runner protocol for the runner.

use holdfast_domain::policy::InstanceAction;
use holdfast_http::{Access, ApiVersion, Route};
use holdfast_tests::TestResponse;
use serde_json::json;

use super::git_access::{READ, WRITE, request_status};
use super::{CiFixture, SIMPLE, send_request};

/// Returns a path of the route, with the project of the build as its project.
fn path(route: &Route, project: i64) -> String {
    let mut is_first = true;
    let fill = |part: &str| match part.starts_with(':') {
        true if std::mem::take(&mut is_first) && route.path.starts_with("/projects/") => project.to_string(),
        true => "1".to_owned(),
        false => part.to_owned(),
    };
    let filled = route.path.split('/').map(fill).collect::<Vec<_>>().join("/");
    format!("{}{filled}", route.version.prefix())
}

#[tokio::test]
async fn build_and_runner_tokens_are_rejected_on_rest_routes() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let nobody = fixture.server.anonymous();
    let before = fixture.server.dump_database().await;
    let unauthenticated = json!({ "message": "401 Unauthorized" });
    let routes = crate::access::all_routes();
    let mut count = 0;
    for route in routes.iter().filter(|route| route.access != Access::Anyone) {
        let path = path(route, fixture.project);
        let request = |path: &str| nobody.request(route.method.as_str(), path);
        let as_nobody = nobody.send(request(&path)).await;
        let is_public_list = route.access == Access::Instance(InstanceAction::ExplorePublic);
        let is_expected = matches!(as_nobody.status, 400 | 401 | 404) || is_public_list && as_nobody.status == 200;
        assert!(is_expected, "{} {path}: {}", route.method, as_nobody.text);
        for token in [&job.token, &runner.token] {
            // Where an API token is expected, it is rejected as unknown.
            let mut known = vec![
                request(&path).header("PRIVATE-TOKEN", token),
                request(&format!("{path}?private_token={token}")),
                request(&path).form(&[("private_token", token)]),
            ];
            let bearer = [request(&path).bearer_auth(token), request(&format!("{path}?access_token={token}"))];
            // Elsewhere it is ignored.
            let mut ignored = vec![
                request(&path).header("BUILD-TOKEN", token),
                request(&path).header("RUNNER-TOKEN", token),
                request(&path).basic_auth("gitlab-ci-token", Some(token)),
            ];
            match route.version {
                ApiVersion::V3 => ignored.extend(bearer),
                ApiVersion::V4 => known.extend(bearer),
            }
            let for_builds = [request(&path).header("JOB-TOKEN", token), request(&format!("{path}?job_token={token}"))];
            match (route.accepts_job_token, token == &job.token) {
                (false, _) => ignored.extend(for_builds),
                (true, false) => known.extend(for_builds),
                (true, true) => {}
            }
            for way in known {
                let answer = nobody.send(way).await;
                assert_eq!(answer.status_and_body(), (401, &unauthenticated), "{} {path}", route.method);
            }
            for way in ignored {
                let answer: TestResponse = nobody.send(way).await;
                assert_eq!(answer.status_and_body(), as_nobody.status_and_body(), "{} {path}", route.method);
            }
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
    // Routes without authentication expect other tokens.
    for token in [&job.token, &runner.token] {
        let fire = [("ref", "main"), ("token", token.as_str())];
        assert_eq!(nobody.post(&fixture.path("/trigger/builds"), &fire).await.status, 404);
        assert_eq!(nobody.post("/session", &[("login", "gitlab-ci-token"), ("password", token)]).await.status, 401);
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

#[tokio::test]
async fn build_and_runner_tokens_grant_only_their_own_access_outside_rest() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let runner = fixture.runner().await;
    let job = runner.claim().await;
    let file = reqwest::multipart::Part::bytes(b"text".as_slice()).file_name("a.txt");
    let request = fixture.ada.request("POST", &fixture.path("/uploads"));
    let upload = fixture.ada.send(request.multipart(reqwest::multipart::Form::new().part("file", file))).await;
    assert_eq!(upload.status, 201, "{}", upload.text);
    let before = fixture.server.dump_database().await;
    let tokens = [(&job.token, [200, 403]), (&runner.token, [401, 401])];
    for (token, [read, write]) in tokens {
        assert_eq!(request_status(&fixture, token, "ada/p", READ).await, read);
        assert_eq!(request_status(&fixture, token, "ada/p", WRITE).await, write);
        let client = reqwest::Client::new();
        let get = |path: &str| client.get(format!("{}{path}", fixture.server.base_url));
        let file = format!("/ada/p{}", upload.body["url"].as_str().unwrap());
        for way in [
            get(&file).header("PRIVATE-TOKEN", token),
            get(&format!("{file}?private_token={token}")),
            get(&file).header("JOB-TOKEN", token),
            get(&file).basic_auth("gitlab-ci-token", Some(token)),
        ] {
            let answer = send_request(way).await;
            assert!(matches!(answer.status, 401 | 404), "{} {}", answer.status, answer.body);
        }
    }
    // In the runner protocol, the token of a runner updates no build, and that of a build claims none.
    let api = format!("{}/api/v4", fixture.server.base_url);
    let post = async |path: &str, token: &str| {
        let request = reqwest::Client::new().post(format!("{api}{path}")).json(&json!({ "token": token }));
        send_request(request.header("JOB-TOKEN", token).header("RUNNER-TOKEN", token)).await.status
    };
    for path in ["/jobs/request", "/runners/verify", "/runners/reset_authentication_token", "/runners"] {
        assert_eq!(post(path, &job.token).await, 403, "{path}");
    }
    for way in ["", "/trace", "/artifacts"] {
        let method = match way {
            "" => reqwest::Method::PUT,
            "/trace" => reqwest::Method::PATCH,
            _ => reqwest::Method::POST,
        };
        let request = reqwest::Client::new().request(method, format!("{api}/jobs/{}{way}", job.id));
        let request = request.header("JOB-TOKEN", &runner.token).header("Content-Range", "0-1");
        assert_eq!(
            send_request(request.json(&json!({ "token": runner.token, "state": "success" }))).await.status,
            403,
            "{way}"
        );
    }
    assert_eq!(fixture.server.dump_database().await, before);
}
