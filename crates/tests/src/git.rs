//! Runs the git program as a client.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;

use crate::{Client, Server};

/// A temporary work tree with its own repository, and the git program that it is used with.
pub struct WorkTree {
    directory: TempDir,
    program: PathBuf,
}

/// The result of one git command.
#[derive(Debug)]
pub struct GitOutcome {
    pub is_success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl GitOutcome {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.is_success, "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn expect_failure(self) -> Self {
        assert!(!self.is_success, "it should not have worked: {}\n{}", self.stdout, self.stderr);
        self
    }

    pub fn line(&self) -> &str {
        self.stdout.trim()
    }
}

/// Returns the git programs that are installed on this machine: Debian's and a newer one.
pub fn git_programs() -> Vec<PathBuf> {
    let paths = ["/usr/bin/git", "/usr/local/bin/git"].map(PathBuf::from);
    paths.into_iter().filter(|path| path.exists()).collect()
}

/// Returns the git program that is first in the search path. With its absolute path the standard library starts a
/// process without forking this one, whose page tables are large.
pub fn git_program() -> PathBuf {
    git_programs().pop().expect("git is installed")
}

impl WorkTree {
    /// Creates an empty work tree on the branch `main`.
    pub async fn new() -> Self {
        Self::with_program(git_program()).await
    }

    pub async fn with_program(program: PathBuf) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let tree = Self { directory, program };
        tree.git(["init", "-q", "-b", "main", "."]).await.ok();
        tree
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs git in the work tree, isolated from the configuration of this machine.
    pub async fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, arguments: I) -> GitOutcome {
        self.git_with(arguments, &[]).await
    }

    pub async fn git_with<I: IntoIterator<Item: AsRef<OsStr>>>(
        &self,
        arguments: I,
        variables: &[(&str, &str)],
    ) -> GitOutcome {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.com")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05+01:00")
            .env("GIT_COMMITTER_NAME", "Bea")
            .env("GIT_COMMITTER_EMAIL", "bea@example.com")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:06+01:00")
            .args(["-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false"])
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = command.output().await.expect("git runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        GitOutcome { is_success: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Writes and commits a file, and returns the commit's id.
    pub async fn commit(&self, file: &str, content: &[u8], message: &str) -> String {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory");
        std::fs::write(path, content).expect("a file");
        self.git(["add", file]).await.ok();
        self.git(["commit", "-q", "-m", message]).await.ok();
        self.head().await
    }

    /// Imports a `git fast-import` stream, for histories that would take too many git commands.
    pub async fn fast_import(&self, stream: Vec<u8>) {
        let mut command = std::process::Command::new(&self.program);
        let command = command.current_dir(self.path()).args(["fast-import", "--quiet", "--force"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("git runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        let status = tokio::task::spawn_blocking(move || {
            std::io::Write::write_all(&mut stdin, &stream).expect("git reads it");
            drop(stdin);
            child.wait().expect("it ends")
        });
        assert!(status.await.expect("no panic").success(), "git fast-import failed");
    }

    pub async fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"]).await.ok().line().to_owned()
    }

    pub async fn push(&self, url: &str, refs: &[&str]) -> GitOutcome {
        self.git(["push", "-q", url].iter().chain(refs)).await
    }

    /// Clones a repository into a new work tree.
    pub async fn clone(url: &str, arguments: &[&str]) -> (GitOutcome, Self) {
        Self::clone_with("git".into(), url, arguments).await
    }

    pub async fn clone_with(program: PathBuf, url: &str, arguments: &[&str]) -> (GitOutcome, Self) {
        let directory = tempfile::tempdir().expect("a directory");
        let tree = Self { directory, program };
        let outcome = tree.git(["clone", "-q"].iter().chain(arguments).chain(&[url, "."])).await;
        (outcome, tree)
    }
}

impl Server {
    /// Returns the HTTP URL of a repository, with the client's token as password.
    pub fn git_url(&self, client: &Client, path: &str) -> String {
        let base = self.base_url.strip_prefix("http://").expect("http");
        match client.token_opt() {
            Some(token) => format!("http://user:{token}@{base}/{path}.git"),
            None => format!("http://{base}/{path}.git"),
        }
    }

    /// Creates the repository rows of projects that a test inserted with SQL.
    pub async fn add_repositories(&self) {
        sqlx::raw_sql(
            "insert into repositories (project_id, network_id, created_at) select id, id, created_at from projects p
             where not exists (select from repositories r where r.project_id = p.id)",
        )
        .execute(&mut self.database().await)
        .await
        .expect("repositories");
    }

    /// Pushes one commit to `main` and returns its id.
    pub async fn push_first(&self, client: &Client, path: &str) -> String {
        let tree = WorkTree::new().await;
        let id = tree.commit("README.md", b"Hello\n", "First").await;
        tree.push(&self.git_url(client, path), &["main"]).await.ok();
        id
    }
}
