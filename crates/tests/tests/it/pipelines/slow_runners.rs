//! Denial of service by slow or large requests of the runner protocol.

use std::time::Duration;

use holdfast_tests::{Client, Server, Setup, WorkTree};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::old_protocol::OldRunner;
use super::{CiFixture, Job, Runner, SIMPLE, send_request};

/// Longer than any response takes, and shorter than the timeouts for slow clients.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends the start of a request whose body is not completed.
async fn start_request(fixture: &CiFixture, method: &str, path: &str, headers: &str, start: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(fixture.server.address()).await.unwrap();
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n{headers}\r\n", start.len() + (15 << 20));
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(start).await.unwrap();
    stream
}

/// Returns the status and the body of the response, while the client has not sent everything.
async fn read_response(stream: &mut TcpStream) -> (u16, String) {
    let reading = async {
        let mut text = String::new();
        let mut buffer = [0; 1024];
        while !text.contains("\r\n\r\n") || !text.contains('}') {
            let count = stream.read(&mut buffer).await.unwrap();
            assert_ne!(count, 0, "closed after {text:?}");
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        (status, text.split_once("\r\n\r\n").unwrap().1.to_owned())
    };
    tokio::time::timeout(RESPONSE_TIMEOUT, reading).await.expect("a response before the body has come")
}

const FORM: &str = "Content-Type: multipart/form-data; boundary=X\r\n";
const FILE: &[u8] = b"--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc";

/// A user with a runner begins many uploads of artifacts and does not finish them, to block the uploads of other
/// projects.
#[tokio::test]
async fn slow_artifact_uploads_of_one_project_do_not_block_others() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let job = fixture.runner().await.claim().await;
    let headers = format!("{FORM}JOB-TOKEN: {}\r\n", job.token);
    let path = format!("/api/v4/jobs/{}/artifacts", job.id);
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(start_request(&fixture, "POST", &path, &headers, FILE).await);
    }
    // The maximum number of uploads of one project.
    wait_for_uploads(&fixture, 4).await;
    let other = fixture.another_project("q", SIMPLE).await;
    let (runner, theirs) = claim_job(&fixture, &fixture.ada, other).await;
    let left = tokio::time::timeout(RESPONSE_TIMEOUT, runner.upload_artifacts(&theirs, "a.zip", b"x")).await;
    assert_eq!(left.expect("another project's upload is not held up").status, 201);
    assert_eq!(super::fixtures::count_rows(&fixture.server, "build_objects").await, 5, "the others still wait");
}

/// Waits until `uploads` uploads have started.
async fn wait_for_uploads(fixture: &CiFixture, uploads: usize) {
    let started = async {
        let mut every = tokio::time::interval(Duration::from_millis(20));
        while super::fixtures::count_rows(&fixture.server, "build_objects").await < uploads {
            every.tick().await;
        }
    };
    tokio::time::timeout(RESPONSE_TIMEOUT, started).await.expect("the uploads begin");
}

/// Registers a runner of a project with a pending pipeline, and claims a build.
async fn claim_job(fixture: &CiFixture, owner: &Client, project: i64) -> (Runner, Job) {
    let token = owner.get(&format!("/projects/{project}")).await.body["runners_token"].clone();
    let runner = Runner::register(&fixture.server, json!({ "token": token })).await;
    let job = runner.claim().await;
    (runner, job)
}

/// Creates a project of bea's with a runner that has claimed a build.
async fn claim_other_job(fixture: &CiFixture) -> (Runner, Job) {
    let (_, bea) = fixture.server.user("bea").await;
    let project = fixture.server.project(&bea, "b", 0).await;
    let tree = WorkTree::new().await;
    tree.commit(".gitlab-ci.yml", SIMPLE.as_bytes(), "First").await;
    tree.push(&fixture.server.git_url(&bea, "bea/b"), &["main"]).await.ok();
    fixture.server.run_jobs().await;
    claim_job(fixture, &bea, project).await
}

/// One user with four projects, each with a runner of its own, sends artifacts slowly from all of them.
#[tokio::test]
async fn slow_artifact_uploads_of_one_user_do_not_block_others() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let mut projects = vec![fixture.project];
    for path in ["q", "r", "s"] {
        projects.push(fixture.another_project(path, SIMPLE).await);
    }
    let mut slow = Vec::new();
    for project in projects {
        let (_, job) = claim_job(&fixture, &fixture.ada, project).await;
        let headers = format!("{FORM}JOB-TOKEN: {}\r\n", job.token);
        for _ in 0..5 {
            let path = format!("/api/v4/jobs/{}/artifacts", job.id);
            slow.push(start_request(&fixture, "POST", &path, &headers, FILE).await);
        }
    }
    wait_for_uploads(&fixture, 8).await;
    let (runner, theirs) = claim_other_job(&fixture).await;
    let left = tokio::time::timeout(RESPONSE_TIMEOUT, runner.upload_artifacts(&theirs, "a.zip", b"x")).await;
    assert_eq!(left.expect("another user's upload is not held up").status, 201);
    assert_eq!(super::fixtures::count_rows(&fixture.server, "build_objects").await, 9, "the others still wait");
}

/// An upload of ten kilobytes per second does not stall, but holds a permit for too long, so it is aborted.
#[tokio::test]
async fn an_artifact_upload_below_the_minimum_rate_is_aborted() {
    let mut setup = Setup::default();
    setup.limits.stall_timeout = Duration::from_secs(1);
    let fixture = CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await;
    let job = fixture.runner().await.claim().await;
    let headers = format!("{FORM}JOB-TOKEN: {}\r\n", job.token);
    let path = format!("/api/v4/jobs/{}/artifacts", job.id);
    let (mut reader, mut writer) = start_request(&fixture, "POST", &path, &headers, FILE).await.into_split();
    let drip = async {
        let mut every = tokio::time::interval(Duration::from_millis(100));
        while writer.write_all(&[b'x'; 1 << 10]).await.is_ok() {
            every.tick().await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = Vec::new();
    tokio::select! {
        read = tokio::time::timeout(RESPONSE_TIMEOUT, reader.read_to_end(&mut answer)) => drop(read.expect("the upload ends")),
        () = drip => {}
    }
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert_eq!(fixture.build("one").await.get("artifacts_file"), None);
}

/// Trace chunks of up to a megabyte needed no permit: each connection of a build could keep one in memory.
#[tokio::test]
async fn slow_trace_chunks_of_one_project_do_not_block_others() {
    let mut setup = Setup::default();
    (setup.limits.request_timeout, setup.limits.stall_timeout) = (Duration::from_secs(600), Duration::from_secs(600));
    let fixture = CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await;
    let (runner, job) = claim_job(&fixture, &fixture.ada, fixture.project).await;
    let part = vec![b'x'; 150 << 10];
    let mut slow = Vec::new();
    for _ in 0..32 {
        let mut stream = TcpStream::connect(fixture.server.address()).await.unwrap();
        let head = format!(
            "PATCH /api/v4/jobs/{}/trace HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nContent-Range: 0-999999\r\n\
             JOB-TOKEN: {}\r\n\r\n",
            job.id, job.token
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&part).await.unwrap();
        slow.push(stream);
    }
    // Eventually the share of the project is used up. A chunk that does not match the trace is read, and changes
    // nothing.
    let far = 1 << 30;
    let waiting = async {
        while let Ok(response) = tokio::time::timeout(Duration::from_millis(500), runner.patch(&job, far, &part)).await
        {
            assert_eq!(response.status, 416, "{}", response.body);
        }
    };
    tokio::time::timeout(RESPONSE_TIMEOUT, waiting).await.expect("one waits");
    let (other, theirs) = claim_other_job(&fixture).await;
    let response = tokio::time::timeout(RESPONSE_TIMEOUT, other.patch(&theirs, 0, &part)).await;
    assert_eq!(response.expect("another project's trace is not held up").status, 202);
    // Short chunks need no permit.
    let response = tokio::time::timeout(RESPONSE_TIMEOUT, runner.patch(&job, 0, b"x")).await;
    assert_eq!(response.expect("a short part does not wait").status, 202);
    let own = tokio::time::timeout(Duration::from_secs(1), runner.patch(&job, far, &part)).await;
    assert!(own.is_err(), "its project has its share");
    drop(slow);
    let own = tokio::time::timeout(RESPONSE_TIMEOUT, runner.patch(&job, 1, &part)).await;
    assert_eq!(own.expect("there is room again").status, 202);
}

/// A client without a token, or with a wrong one, announces a long body and does not send it, to make the server wait.
#[tokio::test]
async fn invalid_tokens_are_rejected_before_the_body_arrives() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let job = fixture.runner().await.claim().await;
    let before = fixture.server.dump_database().await;
    let forbidden = r#"{"message":"403 Forbidden"}"#;
    for (version, header) in [("/api/v4/jobs", "JOB-TOKEN"), ("/ci/api/v1/builds", "BUILD-TOKEN")] {
        for token in ["", &format!("{header}: wrong\r\n")] {
            for (method, below) in [("POST", "artifacts"), ("PATCH", "trace")] {
                let path = format!("{version}/{}/{below}", job.id);
                let headers = format!("{FORM}{token}Content-Range: 0-1\r\n");
                let mut stream = start_request(&fixture, method, &path, &headers, FILE).await;
                assert_eq!(read_response(&mut stream).await, (403, forbidden.to_owned()), "{method} {path} {token}");
            }
        }
    }
    let path = format!("/api/v4/jobs/{}", job.id);
    let mut stream = start_request(&fixture, "PUT", &path, "JOB-TOKEN: wrong\r\n", b"").await;
    assert_eq!(read_response(&mut stream).await, (403, forbidden.to_owned()));
    // The connection is closed.
    let closed =
        tokio::time::timeout(RESPONSE_TIMEOUT, stream.read(&mut [0; 16])).await.expect("the connection is closed");
    assert_eq!(closed.unwrap_or(0), 0);
    assert_eq!(fixture.server.dump_database().await, before);
}

/// A client without a valid token sends fifteen megabytes of JSON, to make the server parse them into a hundred megabytes of
/// memory.
#[tokio::test]
async fn only_the_start_of_a_long_body_is_read_before_its_token_is_known() {
    let fixture = CiFixture::with_file(SIMPLE).await;
    let job = fixture.runner().await.claim().await;
    let before = fixture.server.dump_database().await;
    let zeros = "0,".repeat(150 << 10);
    let json = "Content-Type: application/json\r\n";
    let too_large = (413, r#"{"message":"413 Request Entity Too Large"}"#.to_owned());
    let forbidden = (403, r#"{"message":"403 Forbidden"}"#.to_owned());
    for path in [format!("/api/v4/jobs/{}", job.id), format!("/ci/api/v1/builds/{}", job.id)] {
        let start = format!("{{\"x\":[{zeros}");
        let mut stream = start_request(&fixture, "PUT", &path, json, start.as_bytes()).await;
        assert_eq!(read_response(&mut stream).await, too_large, "{path}");
        let start = format!("{{\"token\":\"wrong\",\"x\":[{zeros}");
        let mut stream = start_request(&fixture, "PUT", &path, json, start.as_bytes()).await;
        assert_eq!(read_response(&mut stream).await, forbidden, "{path}");
        let start = format!("token=wrong&trace={zeros}");
        let mut stream = start_request(&fixture, "PUT", &path, "", start.as_bytes()).await;
        assert_eq!(read_response(&mut stream).await, forbidden, "{path}");
    }
    for (method, path) in [("POST", "/api/v4/jobs/request"), ("POST", "/api/v4/runners"), ("DELETE", "/api/v4/runners")]
    {
        let start = format!("{{\"token\":\"wrong\",\"x\":[{zeros}");
        let mut stream = start_request(&fixture, method, path, json, start.as_bytes()).await;
        assert_eq!(read_response(&mut stream).await, too_large, "{path}");
    }
    assert_eq!(fixture.server.dump_database().await, before);
}

/// A long poll may take long, but sending its request may not.
#[tokio::test]
async fn slow_job_requests_time_out() {
    let mut setup = Setup::default();
    setup.limits.request_timeout = Duration::from_secs(3);
    let fixture = CiFixture::on_server(Server::start_with(setup).await, SIMPLE).await;
    let mut stream =
        start_request(&fixture, "POST", "/api/v4/jobs/request", "Content-Type: application/json\r\n", b"{").await;
    assert_eq!(read_response(&mut stream).await.0, 503);
}

/// Runners before 11.6 send the whole trace with the status, and the token only in the body, before the trace.
#[tokio::test]
async fn a_whole_trace_with_the_token_in_the_body_is_accepted() {
    let fixture = CiFixture::with_file("one: {script: x}\ntwo: {script: x}\n").await;
    let (runner, old) = (fixture.runner().await, OldRunner::register(&fixture, json!({})).await);
    let trace = "words\n".repeat(500 << 10);
    let job: Job = runner.claim().await;
    let url = format!("{}/api/v4/jobs/{}", fixture.server.base_url, job.id);
    let body = format!(r#"{{"info":{{}},"token":"{}","state":"success","trace":{}}}"#, job.token, json!(trace));
    let request = reqwest::Client::new().put(url).header("Content-Type", "application/json").body(body);
    let answer = send_request(request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let build = old.claim().await;
    let answer = old.put(&build, json!({ "state": "success", "trace": trace })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    for id in [json!(job.id), build["id"].clone()] {
        let shown = fixture.ada.get(&fixture.path(&format!("/builds/{id}/trace"))).await;
        assert!(shown.text == trace, "{}", shown.text.len());
    }
    assert_eq!(fixture.pipeline().await["status"], "success");
}
