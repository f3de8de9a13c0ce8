//! A runner with its own directory, and helpers of the tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_runner::{Configuration, Options, Signals};
use url::Url;

/// Path of the program that stands in for the hidden command `holdfast runner-sandbox`.
pub const SANDBOX: &str = env!("CARGO_BIN_EXE_holdfast-runner-sandbox");

pub struct Runner {
    pub directory: tempfile::TempDir,
    pub configuration: Configuration,
    pub signals: Signals,
}

impl Runner {
    pub fn new(url: Url, token: &str) -> Runner {
        let directory = tempfile::tempdir().unwrap();
        let configuration = Configuration::new(url, token.to_owned(), directory.path().join("work"), 1);
        configuration.save(&directory.path().join("runner.toml")).unwrap();
        Runner { directory, configuration, signals: Signals::default() }
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("runner.toml")
    }

    pub async fn run_once(&self) -> usize {
        self.run(true).await.unwrap()
    }

    pub async fn run(&self, is_once: bool) -> anyhow::Result<usize> {
        let options =
            Options { file: self.file(), is_once, is_sandbox_required: false, sandbox_command: vec![SANDBOX.into()] };
        holdfast_runner::run(self.configuration.clone(), options, self.signals.clone()).await
    }
}

/// Polls a condition until it returns a value.
pub async fn eventually<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let mut interval = tokio::time::interval(Duration::from_millis(20));
    let waiting = async {
        loop {
            interval.tick().await;
            if let Some(found) = check() {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(120), waiting).await.unwrap_or_else(|_| panic!("never: {what}"))
}

pub fn is_alive(pid: &str) -> bool {
    // A zombie has exited; it only waits for its parent.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Returns whether the kernel supports Landlock. Prints a message if not, so that skipped tests are visible.
pub fn has_landlock() -> bool {
    let is_supported = holdfast_runner::sandbox::detect_status() != holdfast_runner::sandbox::SandboxStatus::None;
    if !is_supported {
        println!("skipped: this kernel has no Landlock");
    }
    is_supported
}

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
