//! Tests of the protocol between runner and server.

use std::io::{Cursor, Read};
use std::time::Duration;

use gitlab_runner_mock::{GitlabRunnerMock, MockJob, MockJobState, MockJobStepName, MockJobStepWhen};
use holdfast_runner::{Configuration, Registration};
use serde_json::json;

use crate::fake_server::FakeServer;
use crate::kit::{Runner, eventually, is_alive};

fn mock_job(mock: &GitlabRunnerMock, script: &[&str], artifacts: &[&str], dependency: Option<MockJob>) -> MockJob {
    let mut job = mock.job_builder("build".to_owned());
    let lines = script.iter().map(|line| (*line).to_owned()).collect();
    job.add_step(MockJobStepName::Script, lines, 60, MockJobStepWhen::OnSuccess, false);
    job.add_variable("GIT_STRATEGY".into(), "none".into(), true, false);
    if !artifacts.is_empty() {
        job.add_artifact_paths(artifacts.iter().map(|path| (*path).to_owned()).collect());
    }
    if let Some(dependency) = dependency {
        job.dependency(dependency);
    }
    let job = job.build();
    mock.enqueue_job(job.clone());
    job
}

fn log(job: &MockJob) -> String {
    String::from_utf8(job.log()).unwrap()
}

#[tokio::test]
async fn artifacts_are_passed_to_later_builds() {
    let mock = GitlabRunnerMock::start().await;
    let runner = Runner::new(mock.uri(), mock.runner_token());
    let script = ["mkdir out", "echo made > out/file", "chmod 755 out/file", "ln -s /etc/passwd out/leak", "touch not"];
    let first = mock_job(&mock, &script, &["out", "miss*"], None);
    assert_eq!(runner.run_once().await, 1);
    assert_eq!(first.state(), MockJobState::Success, "{}", log(&first));
    assert!(log(&first).contains("\"out/leak\" is skipped"), "{}", log(&first));
    let sent: Vec<_> = first.uploaded_artifacts().collect();
    assert_eq!((sent.len(), sent[0].filename.as_deref()), (1, Some("artifacts.zip")));
    let mut zip = zip::ZipArchive::new(Cursor::new(sent[0].data.as_ref().clone())).unwrap();
    assert_eq!(zip.file_names().collect::<Vec<_>>(), ["out/file"]);
    let mut text = String::new();
    zip.by_index(0).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "made\n");

    std::fs::remove_dir_all(runner.directory.path().join("work/builds")).unwrap();
    let second = mock_job(&mock, &["cat out/file", "test -x out/file"], &[], Some(first));
    assert_eq!(runner.run_once().await, 1);
    assert_eq!(second.state(), MockJobState::Success, "{}", log(&second));
    assert!(log(&second).contains("\nmade\n"), "{}", log(&second));
}

#[tokio::test]
async fn canceling_a_build_kills_all_its_processes() {
    let mock = GitlabRunnerMock::start().await;
    mock.set_update_interval(1);
    let runner = Runner::new(mock.uri(), mock.runner_token());
    let script = "setsid sleep 1000 & echo pid $!; while :; do echo working; sleep 0.1; done";
    let job = mock_job(&mock, &[script], &[], None);
    let (taken, pid) = tokio::join!(runner.run_once(), async {
        let find = || log(&job).lines().find_map(|line| line.strip_prefix("pid ").map(str::to_owned));
        let pid = eventually("the build runs", find).await;
        assert!(is_alive(&pid));
        job.cancel();
        pid
    });
    assert_eq!((taken, job.state()), (1, MockJobState::Cancelled));
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn traces_survive_server_errors() {
    let (fake, url) = FakeServer::start().await;
    let runner = Runner::new(url, "runner-token");
    fake.queue_job(&["seq 1 200000"], &json!({}));
    {
        let mut seen = fake.0.lock().unwrap();
        (seen.lost_responses, seen.deferred_updates) = (2, 1);
    }
    runner.run_once().await;
    let trace = fake.trace();
    assert!(trace.lines().filter_map(|line| line.parse::<u32>().ok()).eq(1..=200_000));
    assert!(fake.0.lock().unwrap().max_chunk_bytes <= 1 << 20);
    assert_eq!(fake.last_update()["state"], "success");
}

#[tokio::test]
async fn malformed_jobs_fail_with_a_message() {
    let (fake, url) = FakeServer::start().await;
    let runner = Runner::new(url, "runner-token");
    fake.queue_job(&["true"], &json!({"git_info": 5}));
    runner.run_once().await;
    assert!(fake.trace().contains("malformed job response"), "{}", fake.trace());
    assert_eq!(fake.last_update()["failure_reason"], "runner_system_failure");
}

#[tokio::test]
async fn a_runner_registers_runs_builds_and_unregisters() {
    let (fake, url) = FakeServer::start().await;
    let mut registration = Registration {
        url: url.clone(),
        token: "registration".to_owned(),
        description: Some("one".to_owned()),
        tags: Vec::new(),
        run_untagged: false,
    };
    assert_eq!(holdfast_runner::register(&registration).await.unwrap(), "runner-token");
    registration.tags = vec!["linux".to_owned(), "fast".to_owned()];
    holdfast_runner::register(&registration).await.unwrap();
    {
        let seen = &fake.0.lock().unwrap().registrations;
        assert_eq!((&seen[0]["run_untagged"], &seen[0]["tag_list"]), (&json!(true), &json!("")));
        assert_eq!((&seen[1]["run_untagged"], &seen[1]["tag_list"]), (&json!(false), &json!("linux,fast")));
    }
    registration.token = "wrong".to_owned();
    let error = holdfast_runner::register(&registration).await.unwrap_err().to_string();
    assert!(error.contains("does not accept this registration token"), "{error}");

    let runner = Runner::new(url.clone(), "forgotten");
    let error = runner.run(true).await.unwrap_err().to_string();
    assert!(error.contains("does not know this runner"), "{error}");

    let runner = Runner::new(url, "runner-token");
    let configuration = Configuration::load(&runner.file()).unwrap();
    holdfast_runner::unregister(&configuration, &runner.file()).await.unwrap();
    assert!(!runner.file().exists());
}

#[tokio::test]
async fn an_idle_runner_stops_on_signal() {
    let (_fake, url) = FakeServer::start().await;
    let runner = Runner::new(url, "runner-token");
    runner.signals.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(60), runner.run(false)).await.unwrap();
    assert_eq!(ended.unwrap(), 0);
}
