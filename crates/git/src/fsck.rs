//! Checks a repository on disk with `git fsck`.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::process::read_stderr_tail;
use crate::{BareRepository, Error, Git, Result};

const FSCK_TIMEOUT: Duration = Duration::from_secs(4 * 3600);
/// Maximum size of the output that is kept. The first findings of a badly damaged repository are enough.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// The problems that `git fsck` found, one line of its output each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Missing and unreadable objects.
    pub errors: Vec<String>,
    /// Malformed objects. They were created that way and are kept as they are.
    pub warnings: Vec<String>,
}

/// Checks all packs and the history of the refs on disk. With `is_quick`, checks only that all reachable objects exist,
/// and not their content.
pub async fn check(git: &Git, repository: &BareRepository, is_quick: bool) -> Result<Findings> {
    let mut command = git.command(repository, "fsck").args(["--no-dangling", "--no-progress"]);
    command = command.arg(if is_quick { "--connectivity-only" } else { "--full" });
    let mut process = command.start()?;
    let (stdin, mut stdout, stderr) = process.take_pipes();
    drop(stdin);
    let work = async {
        let read = async {
            let mut text = Vec::new();
            (&mut stdout).take(MAX_OUTPUT_BYTES).read_to_end(&mut text).await?;
            tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
            Ok::<_, Error>(text)
        };
        let (text, stderr_tail) = tokio::join!(read, read_stderr_tail(stderr));
        let lines = [text?, stderr_tail].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(classify(&lines, process.wait().await?))
    };
    let timed_out = Err(Error::TimedOut { command: "fsck", after: FSCK_TIMEOUT });
    tokio::time::timeout(FSCK_TIMEOUT, work).await.unwrap_or(timed_out)
}

/// The lowest exit status that means that fsck did not finish. Lower ones are bit sets of the kinds of findings.
const MIN_FATAL_STATUS: i32 = 64;

fn classify(texts: &[String], status: ExitStatus) -> Findings {
    let mut findings = Findings::default();
    if status.success() {
        return findings;
    }
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim).filter(|line| !line.is_empty());
    for line in lines.filter(|line| !line.starts_with("notice:")) {
        // A line that begins with the type of an object reports a malformed object.
        let is_warning = line.starts_with("error in ") || line.starts_with("warning in ");
        let text = line.strip_prefix("error: ").unwrap_or(line);
        if is_warning { &mut findings.warnings } else { &mut findings.errors }.push(text.to_owned());
    }
    if findings == Findings::default() || status.code().is_none_or(|code| code >= MIN_FATAL_STATUS) {
        findings.errors.push(format!("git fsck ended with {status}"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn damage_is_distinguished_from_malformed_objects() {
        let text = "missing blob 1\nerror: refs/heads/main: invalid sha1 pointer 3\n\
                    error in commit 2: badTimezone: invalid author/committer line\n"
            .to_owned();
        let notice = "notice: HEAD points to an unborn branch\n".to_owned();
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        let killed = ExitStatus::from_raw(9);
        let found = classify(&[text, notice], exited(2));
        assert_eq!(found.errors, ["missing blob 1", "refs/heads/main: invalid sha1 pointer 3"]);
        assert_eq!(found.warnings.len(), 1);
        let odd = ["error in commit 2: badTimezone: invalid author/committer line\n".to_owned()];
        assert_eq!(classify(&odd, exited(1)).errors.len(), 0);
        assert_eq!(classify(&odd, killed).errors.len(), 1, "not all was looked at");
        assert_eq!(classify(&[], exited(128)).errors.len(), 1);
        assert_eq!(classify(&[], exited(0)), Findings::default());
    }
}
