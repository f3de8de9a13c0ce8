//! Runs git as a client does. [`super::wire`] is a client without git.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

#[derive(Clone)]
pub struct Git {
    pub program: PathBuf,
    /// Value of the `Authorization` header.
    pub authorization: String,
}

pub struct GitOutput {
    pub is_success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// The default branch of every project.
pub const MAIN: &str = "refs/heads/main";
/// A command that takes longer than this is a violation.
const GIT_TIMEOUT: Duration = Duration::from_secs(120);

impl Git {
    pub async fn run(&self, directory: &Path, arguments: &[&str], input: &[u8]) -> anyhow::Result<GitOutput> {
        let mut child = Command::new(&self.program)
            // Full object ids in the output of push can be compared with the ref log.
            .args(["-c", "core.abbrev=40", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            .args(["-c", "transfer.fsckObjects=true", "-c", "protocol.allow=always"])
            .arg("-c")
            .arg(format!("http.extraHeader=Authorization: {}", self.authorization))
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", directory)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}; set git.program", self.program.display()))?;
        let mut stdin = child.stdin.take();
        let work = async {
            if let Some(stdin) = &mut stdin {
                // Git may exit before it has read all input.
                stdin.write_all(input).await.ok();
            }
            drop(stdin);
            child.wait_with_output().await
        };
        let Ok(output) = tokio::time::timeout(GIT_TIMEOUT, work).await else {
            let stderr = format!("no answer within {} seconds", GIT_TIMEOUT.as_secs());
            return Ok(GitOutput { is_success: false, stdout: String::new(), stderr });
        };
        let output = output?;
        Ok(GitOutput {
            is_success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Runs a command that needs no server and must succeed. Returns its standard output.
    pub async fn run_local(&self, directory: &Path, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        let output = self.run(directory, arguments, input).await?;
        if !output.is_success {
            bail!("git {} failed in {}: {}", arguments.join(" "), directory.display(), output.stderr.trim());
        }
        Ok(output.stdout.trim().to_owned())
    }

    /// Creates a commit that writes one file, and returns its id. A ref of its own keeps it reachable.
    pub async fn commit(&self, repository: &Path, new: &NewCommit<'_>) -> anyhow::Result<String> {
        let mut script = format!(
            "commit refs/kept/{0}\nmark :1\ncommitter Torture <torture@example.com> 1700000000 +0000\ndata {1}\n{0}\n",
            new.name,
            new.name.len(),
        )
        .into_bytes();
        if let Some(parent) = new.parent {
            script.extend(format!("from {parent}\n").bytes());
        }
        script.extend(format!("M 644 inline {}\ndata {}\n", new.file, new.content.len()).bytes());
        script.extend(new.content);
        script.extend(b"\nget-mark :1\ndone\n");
        self.run_local(repository, &["fast-import", "--quiet", "--done"], &script).await
    }

    pub async fn tag(&self, repository: &Path, name: &str, target: &str) -> anyhow::Result<String> {
        let object = format!(
            "object {target}\ntype commit\ntag {name}\ntagger Torture <torture@example.com> 1700000000 +0000\n\n{name}\n"
        );
        self.run_local(repository, &["hash-object", "-t", "tag", "-w", "--stdin"], object.as_bytes()).await
    }
}

pub struct NewCommit<'a> {
    /// A unique name, which makes the commit id unique.
    pub name: &'a str,
    pub parent: Option<&'a str>,
    pub file: &'a str,
    pub content: &'a [u8],
}

/// Parses ref names and object ids from the output of `ls-remote` or `for-each-ref`. Peeled tags are skipped.
pub fn read_refs(output: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = output.lines().filter_map(|line| line.split_once(['\t', ' ']));
    pairs.filter(|(_, name)| name.starts_with("refs/") && !name.ends_with("^{}")).map(|(id, name)| (name, id))
}
