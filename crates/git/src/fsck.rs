//! Whether a repository on the disk is whole and sound, by git's own word.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::program::read_said;
use crate::{Bare, Error, Git, Result};

const PATIENCE: Duration = Duration::from_secs(4 * 3600);
/// Of what is found. Of a repository that is in pieces the first of them are enough.
const MOST_SAID: u64 = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is missing or cannot be read.
    pub damage: Vec<String>,
    /// What was written like that by whoever made it; it is kept as it came.
    pub oddities: Vec<String>,
}

/// Of all packs, from the refs that are written there. `quick` looks whether everything is there, and not into it.
pub async fn check(git: &Git, bare: &Bare, quick: bool) -> Result<Findings> {
    let mut command = git.command(bare, "fsck").words(["--no-dangling", "--no-progress"]);
    command = command.word(if quick { "--connectivity-only" } else { "--full" });
    let mut running = command.start()?;
    let (stdin, mut stdout, stderr) = running.pipes();
    drop(stdin);
    let work = async {
        let read = async {
            let mut text = Vec::new();
            (&mut stdout).take(MOST_SAID).read_to_end(&mut text).await?;
            tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
            Ok::<_, Error>(text)
        };
        let (text, said) = tokio::join!(read, read_said(stderr));
        let lines = [text?, said].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(sort(&lines, running.status().await?))
    };
    let late = Err(Error::TimedOut { command: "fsck", after: PATIENCE });
    tokio::time::timeout(PATIENCE, work).await.unwrap_or(late)
}

/// What fsck finds it tells by bits below this one; with more it did not come to its end.
const BEYOND_FINDINGS: i32 = 64;

fn sort(texts: &[String], status: ExitStatus) -> Findings {
    let mut findings = Findings::default();
    if status.success() {
        return findings;
    }
    let lines = texts.iter().flat_map(|text| text.lines()).map(str::trim).filter(|line| !line.is_empty());
    for line in lines.filter(|line| !line.starts_with("notice:")) {
        // What it says of a kind of object is about how that was written.
        let is_odd = line.starts_with("error in ") || line.starts_with("warning in ");
        if is_odd { &mut findings.oddities } else { &mut findings.damage }.push(line.to_owned());
    }
    if findings == Findings::default() || status.code().is_none_or(|code| code >= BEYOND_FINDINGS) {
        findings.damage.push(format!("git fsck ended with {status}"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn damage_is_told_from_what_was_written_so() {
        let text = "missing blob 1\nerror in commit 2: badTimezone: invalid author/committer line\n".to_owned();
        let said = "notice: HEAD points to an unborn branch\n".to_owned();
        let ended = |code: i32| ExitStatus::from_raw(code << 8);
        let killed = ExitStatus::from_raw(9);
        let found = sort(&[text, said], ended(2));
        assert_eq!(found.damage, ["missing blob 1"]);
        assert_eq!(found.oddities.len(), 1);
        let odd = ["error in commit 2: badTimezone: invalid author/committer line\n".to_owned()];
        assert_eq!(sort(&odd, ended(1)).damage.len(), 0);
        assert_eq!(sort(&odd, killed).damage.len(), 1, "not all was looked at");
        assert_eq!(sort(&[], ended(128)).damage.len(), 1);
        assert_eq!(sort(&[], ended(0)), Findings::default());
    }
}
