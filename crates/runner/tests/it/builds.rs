//! Tests of whole builds: repositories, caches, variables and limits.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake_server::FakeServer;
use crate::kit::{Runner, eventually, git, has_landlock, is_alive};

async fn runner() -> (FakeServer, Runner) {
    let (fake, url) = FakeServer::start().await;
    (fake, Runner::new(url, "runner-token"))
}

fn variables(more: &[Value]) -> Value {
    let mut all = vec![json!({"key": "GIT_STRATEGY", "value": "none", "public": true, "masked": false})];
    all.extend_from_slice(more);
    json!(all)
}

#[tokio::test]
async fn scripts_run_and_secrets_are_masked() {
    let (fake, runner) = runner().await;
    assert_eq!(runner.run_once().await, 0, "no build waits");
    let secret = json!({"key": "PASSWORD", "value": "hunter22", "public": false, "masked": true});
    let file = json!({"key": "KEY", "value": "contents", "public": false, "masked": false, "file": true});
    let token = json!({"key": "CI_JOB_TOKEN", "value": "job-token-7", "public": false, "masked": true});
    fake.queue_job(
        &[
            "echo $PASSWORD $CI_JOB_TOKEN",
            "printf hun; printf ter; printf '22\\n'",
            "cat $KEY; echo",
            "echo $HOME | grep -c work/tmp",
            "test -t 0 || echo no terminal",
        ],
        &json!({"variables": variables(&[secret, file, token])}),
    );
    assert_eq!(runner.run_once().await, 1);
    let trace = fake.trace();
    assert!(trace.contains("$ echo $PASSWORD $CI_JOB_TOKEN\n[MASKED] [MASKED]\n"), "{trace}");
    assert!(!trace.contains("hunter22") && !trace.contains("job-token-7"), "{trace}");
    assert!(trace.contains("contents\n") && trace.contains("\n1\n") && trace.contains("no terminal\n"), "{trace}");
    assert!(trace.ends_with("Job succeeded\n"), "{trace}");
    assert_eq!(fake.last_update()["state"], "success");
    let left = runner.directory.path().join("work/tmp/runner-t/0");
    assert!(!left.exists(), "nothing of it is left");
}

#[tokio::test]
async fn failures_are_reported_and_after_script_still_runs() {
    let (fake, runner) = runner().await;
    let step = |name: &str, script: &[&str]| json!({"name": name, "script": script, "timeout": 60, "when": "always", "allow_failure": true});
    let after = step("after_script", &["echo after: $CI_JOB_STATUS", "exit 9"]);
    fake.queue_job(&[], &json!({"steps": [step("script", &["echo one", "exit 3", "echo two"]), after]}));
    runner.run_once().await;
    let trace = fake.trace();
    assert!(trace.contains("\none\n") && !trace.contains("\ntwo\n"), "{trace}");
    assert!(trace.contains("after: failed\n") && trace.ends_with("ERROR: Job failed: exit code 3\n"), "{trace}");
    let end = fake.last_update();
    assert_eq!(
        (&end["state"], &end["failure_reason"], &end["exit_code"]),
        (&json!("failed"), &json!("script_failure"), &json!(3))
    );
}

#[tokio::test]
async fn a_script_sees_neither_the_configuration_nor_other_builds() {
    if !has_landlock() {
        return;
    }
    let (fake, runner) = runner().await;
    let other = runner.directory.path().join("work/builds/other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("secret"), "theirs").unwrap();
    let (file, other, caches) = (runner.file(), other, runner.directory.path().join("work/caches"));
    let script = [
        format!("cat {} || echo no token", file.display()),
        format!("cat {}/secret || echo no neighbour", other.display()),
        format!("mkdir {} || echo no cache", caches.display()),
        "cat /proc/*/environ 2>/dev/null | grep -c CARGO_MANIFEST || echo no environment".to_owned(),
    ];
    fake.queue_job(&script.each_ref().map(String::as_str), &json!({}));
    runner.run_once().await;
    let trace = fake.trace();
    for expected in ["\nno token\n", "\nno neighbour\n", "\nno cache\n", "\nno environment\n"] {
        assert!(trace.contains(expected), "{expected:?} in {trace}");
    }
    assert!(!trace.contains("runner-token") && !trace.contains("theirs"), "{trace}");
}

#[tokio::test]
async fn builds_end_at_their_timeout() {
    let (fake, runner) = runner().await;
    fake.queue_job(&["echo pid $$", "sleep 1000"], &json!({"runner_info": {"timeout": 3}}));
    let begin = Instant::now();
    runner.run_once().await;
    assert!(begin.elapsed() < Duration::from_secs(120));
    assert_eq!(fake.last_update()["failure_reason"], "job_execution_timeout");
    assert!(!is_alive(&pid(&fake.trace()).unwrap()));
}

fn pid(trace: &str) -> Option<String> {
    let line = trace.lines().find(|line| line.starts_with("pid "))?;
    Some(line.trim_start_matches("pid ").to_owned())
}

#[tokio::test]
async fn the_second_signal_terminates_running_builds() {
    let (fake, runner) = runner().await;
    fake.queue_job(&["echo pid $$", "sleep 1000"], &json!({}));
    let signals = runner.signals.clone();
    let (taken, ()) = tokio::join!(runner.run(false), async {
        eventually("the build runs", || pid(&fake.trace())).await;
        signals.stop.cancel();
        tokio::time::timeout(Duration::from_millis(300), std::future::pending::<()>()).await.ok();
        assert!(fake.0.lock().unwrap().updates.is_empty(), "the first lets it go on");
        signals.kill.cancel();
    });
    assert_eq!(taken.unwrap(), 1);
    assert_eq!(fake.last_update()["failure_reason"], "runner_system_failure");
    assert!(!is_alive(&pid(&fake.trace()).unwrap()));
}

#[tokio::test]
async fn sources_are_cloned_and_fetched_again() {
    let origin = tempfile::tempdir().unwrap();
    let path = origin.path().canonicalize().unwrap();
    git(&path, &["init", "-q", "."]);
    std::fs::write(path.join("file"), "one").unwrap();
    git(&path, &["add", "."]);
    git(&path, &["commit", "-qm", "First"]);
    let first = git(&path, &["rev-parse", "HEAD"]);
    std::fs::write(path.join("file"), "two").unwrap();
    git(&path, &["commit", "-qam", "Second"]);
    let second = git(&path, &["rev-parse", "HEAD"]);

    let (fake, mut runner) = runner().await;
    runner.configuration.sandbox.read = vec![path.clone()];
    let job = |sha: &str, strategy: &str| {
        json!({
            "git_info": {"repo_url": format!("file://{}", path.display()), "ref": "main", "sha": sha,
                "ref_type": "branch", "refspecs": ["+refs/heads/main:refs/remotes/origin/main"], "depth": 0},
            "variables": [{"key": "CI_PROJECT_PATH", "value": "a/p"}, {"key": "GIT_STRATEGY", "value": strategy}],
        })
    };
    let poison = "echo leftover > left; printf '#!/bin/sh\\necho POISON >&2\\n' > .git/hooks/post-checkout || \
                  { mkdir -p .git/hooks; printf '#!/bin/sh\\necho POISON >&2\\n' > .git/hooks/post-checkout; }; \
                  chmod +x .git/hooks/post-checkout; git config core.fsmonitor 'echo POISON >&2; false'; touch .git/index.lock";
    fake.queue_job(&["cat file; echo", poison], &job(&first, "fetch"));
    runner.run_once().await;
    assert!(fake.trace().contains("\none\n") && fake.trace().contains("Job succeeded"), "{}", fake.trace());
    fake.queue_job(
        &["cat file; echo", "test ! -e left && echo clean", "ls .git/objects | wc -l"],
        &job(&second, "fetch"),
    );
    runner.run_once().await;
    let trace = fake.trace();
    assert!(trace.contains("\ntwo\n") && trace.contains("\nclean\n"), "{trace}");
    assert!(!trace.contains("POISON") && !trace.contains("cloning again"), "{trace}");
    fake.queue_job(&["rm -rf .git/objects", "echo x > left"], &job(&second, "none"));
    runner.run_once().await;
    fake.queue_job(&["cat file; echo", "test ! -e left && echo clean"], &job(&first, "fetch"));
    runner.run_once().await;
    assert!(fake.trace().contains("\none\n") && fake.trace().contains("\nclean\n"), "{}", fake.trace());
    fake.queue_job(&["true"], &job(&"2".repeat(40), "clone"));
    runner.run_once().await;
    assert!(fake.trace().contains("fetching the sources failed"), "{}", fake.trace());
}

/// The data of submodules is removed between builds, so their directories must be emptied as well.
#[tokio::test]
async fn scripts_can_update_submodules_in_every_build() {
    let origin = tempfile::tempdir().unwrap();
    let path = origin.path().canonicalize().unwrap();
    let (module, project) = (path.join("module"), path.join("project"));
    for directory in [&module, &project] {
        std::fs::create_dir(directory).unwrap();
        git(directory, &["init", "-q", "."]);
    }
    std::fs::write(module.join("file"), "of the module").unwrap();
    git(&module, &["add", "."]);
    git(&module, &["commit", "-qm", "Module"]);
    let url = format!("file://{}", module.display());
    git(&project, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "a module"]);
    git(&project, &["commit", "-qm", "Project"]);
    let sha = git(&project, &["rev-parse", "HEAD"]);

    let (fake, mut runner) = runner().await;
    runner.configuration.sandbox.read = vec![path.clone()];
    let job = json!({
        "git_info": {"repo_url": format!("file://{}", project.display()), "ref": "main", "sha": sha,
            "ref_type": "branch", "refspecs": ["+refs/heads/main:refs/remotes/origin/main"], "depth": 0},
        "variables": [{"key": "CI_PROJECT_PATH", "value": "a/p"}, {"key": "GIT_STRATEGY", "value": "fetch"}],
    });
    let script = [
        "test -z \"$(ls -A 'a module')\" && test -z \"$(git status --porcelain)\" && echo clean",
        "git -c protocol.file.allow=always submodule --quiet update --init",
        "cat 'a module/file'; echo",
        "touch 'a module/left'",
    ];
    for _ in 0..2 {
        fake.queue_job(&script, &job);
        runner.run_once().await;
        let trace = fake.trace();
        assert!(trace.contains("\nclean\n") && trace.contains("\nof the module\n"), "{trace}");
        assert!(trace.contains("Job succeeded") && !trace.contains("cloning again"), "{trace}");
    }
}

#[tokio::test]
async fn caches_are_kept_by_key() {
    let (fake, runner) = runner().await;
    let cache =
        |key: &str| json!({"cache": [{"key": key, "untracked": false, "paths": ["kept/"], "policy": "pull-push"}]});
    let script = ["cat kept/file || echo nothing", "rm -rf kept; mkdir kept; echo $CI_JOB_STATUS x > kept/file"];
    for (key, expected) in [("a/b", "nothing"), ("a/b", "x"), ("other", "nothing")] {
        fake.queue_job(&script, &cache(key));
        runner.run_once().await;
        let trace = fake.trace();
        assert!(trace.lines().any(|line| line.trim() == expected), "{key} {expected}: {trace}");
        // The checkout is deleted between builds, so that the file can only come from the cache.
        std::fs::remove_dir_all(runner.directory.path().join("work/builds")).unwrap();
    }
}

#[tokio::test]
async fn variables_cannot_change_the_build_directory_or_script() {
    let (fake, runner) = runner().await;
    let variables = variables(&[json!({"key": "CI_PROJECT_PATH", "value": "victim/project"})]);
    let script = ["pwd", "(echo more >> \"$0\") 2>/dev/null && echo WRITABLE || echo kept"];
    fake.queue_job(&script, &json!({ "variables": variables }));
    runner.run_once().await;
    let trace = fake.trace();
    assert!(
        !runner.directory.path().join("work/builds").join("victim").exists() && !trace.contains("/victim/"),
        "{trace}"
    );
    if has_landlock() {
        assert!(trace.lines().any(|line| line.trim() == "kept"), "{trace}");
    }
}
