//! Git as clients have it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

#[derive(Clone)]
pub struct Git {
    pub program: PathBuf,
    /// The header that says who it is.
    pub authorization: String,
}

pub struct Ended {
    pub success: bool,
    pub output: String,
    pub said: String,
}

/// No answer after this time is as bad as a wrong one.
const PATIENCE: Duration = Duration::from_secs(120);

impl Git {
    pub async fn run(&self, directory: &Path, arguments: &[&str], input: &[u8]) -> anyhow::Result<Ended> {
        let mut child = Command::new(&self.program)
            // Ids are reported in full.
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
                // It need not read to the end.
                stdin.write_all(input).await.ok();
            }
            drop(stdin);
            child.wait_with_output().await
        };
        let Ok(output) = tokio::time::timeout(PATIENCE, work).await else {
            let said = format!("no answer within {} seconds", PATIENCE.as_secs());
            return Ok(Ended { success: false, output: String::new(), said });
        };
        let output = output?;
        Ok(Ended {
            success: output.status.success(),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// For what happens on this machine alone and cannot fail; gives what it wrote.
    pub async fn local(&self, directory: &Path, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        let ended = self.run(directory, arguments, input).await?;
        if !ended.success {
            bail!("git {} failed in {}: {}", arguments.join(" "), directory.display(), ended.said.trim());
        }
        Ok(ended.output.trim().to_owned())
    }

    /// A commit of one file, kept from being collected by a ref of its own; gives its id.
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
        self.local(repository, &["fast-import", "--quiet", "--done"], &script).await
    }

    pub async fn tag(&self, repository: &Path, name: &str, target: &str) -> anyhow::Result<String> {
        let object = format!(
            "object {target}\ntype commit\ntag {name}\ntagger Torture <torture@example.com> 1700000000 +0000\n\n{name}\n"
        );
        self.local(repository, &["hash-object", "-t", "tag", "-w", "--stdin"], object.as_bytes()).await
    }
}

pub struct NewCommit<'a> {
    /// Unlike all others, so that its id is.
    pub name: &'a str,
    pub parent: Option<&'a str>,
    pub file: &'a str,
    pub content: &'a [u8],
}

/// Names and ids, as `ls-remote` and `show-ref` write them.
pub fn read_refs(output: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = output.lines().filter_map(|line| line.split_once(['\t', ' ']));
    pairs.filter(|(_, name)| name.starts_with("refs/") && !name.ends_with("^{}")).map(|(id, name)| (name, id))
}
