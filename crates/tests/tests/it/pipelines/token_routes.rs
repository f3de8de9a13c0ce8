//! The tokens of builds and runners on every route (token scope bypass by another door: Gitea CVE-2026-28744). A build's
//! token reads code over git and speaks the runner protocol for its build; a runner's token does the latter for the runner.

use holdfast_http::{Access, Route};
use holdfast_tests::Answer;
use serde_json::json;

use super::git_access::{READ, WRITE, ask};
use super::{Ground, SIMPLE, said};

/// With the project of the build where there is one.
fn path(route: &Route, project: i64) -> String {
    let mut is_first = true;
    let fill = |part: &str| match part.starts_with(':') {
        true if std::mem::take(&mut is_first) && route.path.starts_with("/projects/") => project.to_string(),
        true => "1".to_owned(),
        false => part.to_owned(),
    };
    route.path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn tokens_of_builds_and_runners_open_no_rest_route() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    let nobody = ground.server.anonymous();
    let before = ground.server.contents().await;
    let unauthenticated = json!({ "message": "401 Unauthorized" });
    let routes = holdfast_http::api::v3::routes();
    let routes = routes.list().iter().filter(|route| route.access != Access::Anyone);
    let mut count = 0;
    for route in routes {
        let path = path(route, ground.project);
        let request = |path: &str| nobody.request(route.method.as_str(), path);
        let as_nobody = nobody.send(request(&path)).await;
        assert!(matches!(as_nobody.status, 400 | 401 | 404), "{} {path}: {}", route.method, as_nobody.text);
        for token in [&job.token, &runner.token] {
            // What is taken for a token is refused as an unknown one.
            let known = [
                request(&path).header("PRIVATE-TOKEN", token),
                request(&format!("{path}?private_token={token}")),
                request(&path).form(&[("private_token", token)]),
            ];
            for way in known {
                let answer = nobody.send(way).await;
                assert_eq!(answer.both(), (401, &unauthenticated), "{} {path}", route.method);
            }
            // Everything else makes no difference.
            let ignored = [
                request(&path).header("JOB-TOKEN", token),
                request(&path).header("BUILD-TOKEN", token),
                request(&path).header("RUNNER-TOKEN", token),
                request(&path).bearer_auth(token),
                request(&path).basic_auth("gitlab-ci-token", Some(token)),
                request(&format!("{path}?job_token={token}")),
            ];
            for way in ignored {
                let answer: Answer = nobody.send(way).await;
                assert_eq!(answer.both(), as_nobody.both(), "{} {path}", route.method);
            }
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
    // The routes without a login know other tokens.
    for token in [&job.token, &runner.token] {
        let fire = [("ref", "main"), ("token", token.as_str())];
        assert_eq!(nobody.post(&ground.path("/trigger/builds"), &fire).await.status, 404);
        assert_eq!(nobody.post("/session", &[("login", "gitlab-ci-token"), ("password", token)]).await.status, 401);
    }
    assert_eq!(ground.server.contents().await, before);
}

#[tokio::test]
async fn tokens_of_builds_and_runners_open_what_is_theirs_outside_of_rest() {
    let ground = Ground::with(SIMPLE).await;
    let runner = ground.runner().await;
    let job = runner.take().await;
    let file = reqwest::multipart::Part::bytes(b"text".as_slice()).file_name("a.txt");
    let request = ground.ada.request("POST", &ground.path("/uploads"));
    let upload = ground.ada.send(request.multipart(reqwest::multipart::Form::new().part("file", file))).await;
    assert_eq!(upload.status, 201, "{}", upload.text);
    let before = ground.server.contents().await;
    let tokens = [(&job.token, [200, 403]), (&runner.token, [401, 401])];
    for (token, [read, write]) in tokens {
        assert_eq!(ask(&ground, token, "ada/p", READ).await, read);
        assert_eq!(ask(&ground, token, "ada/p", WRITE).await, write);
        let client = reqwest::Client::new();
        let get = |path: &str| client.get(format!("{}{path}", ground.server.base));
        let file = format!("/ada/p{}", upload.body["url"].as_str().unwrap());
        for way in [
            get(&file).header("PRIVATE-TOKEN", token),
            get(&format!("{file}?private_token={token}")),
            get(&file).header("JOB-TOKEN", token),
            get(&file).basic_auth("gitlab-ci-token", Some(token)),
        ] {
            let answer = said(way).await;
            assert!(matches!(answer.status, 401 | 404), "{} {}", answer.status, answer.body);
        }
    }
    // On the runner protocol each is for its own: that of a runner ends no build, that of a build asks for none.
    let api = format!("{}/api/v4", ground.server.base);
    let post = async |path: &str, token: &str| {
        let request = reqwest::Client::new().post(format!("{api}{path}")).json(&json!({ "token": token }));
        said(request.header("JOB-TOKEN", token).header("RUNNER-TOKEN", token)).await.status
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
            said(request.json(&json!({ "token": runner.token, "state": "success" }))).await.status,
            403,
            "{way}"
        );
    }
    assert_eq!(ground.server.contents().await, before);
}
