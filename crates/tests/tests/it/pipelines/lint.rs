//! Checking CI files without authentication.

use std::fmt::Write as _;

use serde_json::json;

use super::{CiFixture, SIMPLE};

/// An anonymous client has many large files checked at once, so that no pipeline can be created meanwhile.
#[tokio::test]
async fn excess_lint_requests_are_rejected_and_do_not_block_pipelines() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let mut file = String::new();
    for job in 0..600 {
        writeln!(file, "job{job}: {{script: make, only: [main, tags], variables: {{A: b, C: d}}}}").unwrap();
    }
    let nobody = fixture.server.anonymous();
    let lint = |content: &str| nobody.request("POST", "/ci/lint").json(&json!({ "content": content }));
    let crowd: Vec<_> = (0..64).map(|_| tokio::spawn(lint(&file).send())).collect();
    for _ in 0..3 {
        assert_eq!(fixture.ada.post(&fixture.path("/pipeline"), &[("ref", "main")]).await.status, 201);
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
    assert_eq!(one.status_and_body(), (200, &json!({ "status": "valid", "errors": [] })));
}

#[tokio::test]
async fn oversized_ci_files_are_not_parsed() {
    let mut setup = holdfast_tests::Setup::default();
    setup.limits.max_body_bytes = 4 << 20;
    let server = holdfast_tests::Server::start_with(setup).await;
    let content = format!("#{}", "x".repeat(1 << 20));
    let nobody = server.anonymous();
    let answer = nobody.send(nobody.request("POST", "/ci/lint").json(&json!({ "content": content }))).await;
    let expected = json!({ "status": "invalid", "errors": ["The file is larger than 1 MiB"] });
    assert_eq!(answer.status_and_body(), (200, &expected));
}
