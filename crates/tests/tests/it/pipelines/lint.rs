//! Checking CI files for anybody.

use std::fmt::Write as _;

use serde_json::json;

use super::{Ground, SIMPLE};

/// An anonymous client has many large files checked at once, so that no pipeline can be created meanwhile.
#[tokio::test]
async fn a_crowd_of_lint_requests_is_turned_away_and_holds_up_no_pipeline() {
    let ground = Ground::with(SIMPLE).await;
    let mut file = String::new();
    for job in 0..600 {
        writeln!(file, "job{job}: {{script: make, only: [main, tags], variables: {{A: b, C: d}}}}").unwrap();
    }
    let nobody = ground.server.anonymous();
    let lint = |content: &str| nobody.request("POST", "/ci/lint").json(&json!({ "content": content }));
    let crowd: Vec<_> = (0..64).map(|_| tokio::spawn(lint(&file).send())).collect();
    for _ in 0..3 {
        assert_eq!(ground.ada.post(&ground.path("/pipeline"), &[("ref", "main")]).await.status, 201);
    }
    let mut turned_away = 0;
    for request in crowd {
        let response = request.await.unwrap().unwrap();
        if response.status() == 429 {
            assert_eq!(response.headers()["retry-after"], "2");
            turned_away += 1;
        } else {
            assert_eq!(response.status(), 200);
            assert_eq!(response.text().await.unwrap(), r#"{"status":"valid","errors":[]}"#);
        }
    }
    assert!((1..64).contains(&turned_away), "{turned_away} of 64 were turned away");
    let one = nobody.send(lint(&file)).await;
    assert_eq!(one.both(), (200, &json!({ "status": "valid", "errors": [] })));
}

#[tokio::test]
async fn a_file_that_is_too_large_is_not_read() {
    let mut setup = holdfast_tests::Setup::default();
    setup.limits.max_body_bytes = 4 << 20;
    let server = holdfast_tests::Server::with(setup).await;
    let content = format!("#{}", "x".repeat(1 << 20));
    let nobody = server.anonymous();
    let answer = nobody.send(nobody.request("POST", "/ci/lint").json(&json!({ "content": content }))).await;
    let expected = json!({ "status": "invalid", "errors": ["The file is larger than 1 MiB"] });
    assert_eq!(answer.both(), (200, &expected));
}
