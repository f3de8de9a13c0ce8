//! Compares two versions of a series of commits with `git range-diff`.

use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::lines::Lines;
use crate::{BareRepository, Error, Git, Result};

/// The commits that are reachable from `tip` and not from `base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRange {
    pub base: ObjectId,
    pub tip: ObjectId,
}

/// A commit of one version, paired with the similar commit of the other version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPair {
    /// None if the new version added the commit.
    pub old: Option<ObjectId>,
    /// None if the new version dropped the commit.
    pub new: Option<ObjectId>,
    /// Whether both commits have the same message and the same changes.
    pub is_same: bool,
    /// The first line of the message.
    pub title: String,
    /// The diff between the diffs of both commits, without the indentation. It is empty unless both exist and differ.
    pub text: Vec<u8>,
    /// Number of lines of the whole diff, of which `text` is the beginning.
    pub lines: u64,
}

/// Maximum time that git may take.
const RANGE_DIFF_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum length of a line and of the title of a commit.
const MAX_LINE_BYTES: usize = 4_001;

/// Pairs the commits of two versions. Keeps at most `max_lines` lines of the diffs in total. The caller limits the number
/// of commits. Merge commits are left out.
pub async fn range_diff(
    git: &Git,
    repository: &BareRepository,
    old: CommitRange,
    new: CommitRange,
    max_lines: u64,
) -> Result<Vec<CommitPair>> {
    let command = git.command(repository, "range-diff").args(["--no-color", "--no-dual-color", "--no-abbrev"]);
    let command = command.args(["--no-ext-diff", "--no-textconv"]);
    let command = command.arg_range(old.base, old.tip).arg_range(new.base, new.tip).arg("--");
    let work = async {
        let mut output = Lines::spawn(command, b'\n')?;
        let (mut pairs, mut lines_left) = (Vec::<CommitPair>::new(), max_lines);
        while let Some(line) = output.next().await? {
            let line = line.get(..MAX_LINE_BYTES).unwrap_or(&line);
            match (line.strip_prefix(INDENTATION), pairs.last_mut()) {
                (Some(text), Some(pair)) => {
                    pair.lines += 1;
                    if lines_left > 0 {
                        lines_left -= 1;
                        pair.text.extend_from_slice(text);
                        pair.text.push(b'\n');
                    }
                }
                _ => pairs.push(CommitPair::parse(line).ok_or(Error::CommandFailed {
                    command: "range-diff",
                    detail: "unexpected line instead of a pair of commits".into(),
                })?),
            }
        }
        Ok(pairs)
    };
    let timed_out = Err(Error::TimedOut { command: "range-diff", after: RANGE_DIFF_TIMEOUT });
    tokio::time::timeout(RANGE_DIFF_TIMEOUT, work).await.unwrap_or(timed_out)
}

/// What precedes every line of a diff. The line of a pair begins with fewer spaces, because its numbers are short.
const INDENTATION: &[u8] = b"    ";

impl CommitPair {
    /// Parses a line such as `1:  ID ! 2:  ID TITLE`. A commit that does not exist has dashes instead of digits.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut rest = line;
        let mut word = || {
            let trimmed = rest.trim_start_with(|char| char == ' ');
            let (word, after) = trimmed.split_once_str(" ").unwrap_or((trimmed, b""));
            rest = after;
            Some(word).filter(|word| !word.is_empty())
        };
        let (_, old, sign, _, new) = (word()?, word()?, word()?, word()?, word()?);
        let id = |digits: &[u8]| ObjectId::from_hex(digits).ok();
        Some(Self {
            old: id(old),
            new: id(new),
            is_same: sign == b"=",
            title: String::from_utf8_lossy(rest).into_owned(),
            text: Vec::new(),
            lines: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pairs_are_parsed() {
        let (one, other) = ("1b43723ad16fa3bed2514fa2406f99a3690bfdd3", "d962c3f5fb27b50720bef929cdce572257cb277f");
        let changed =
            CommitPair::parse(format!(" 1:  {one} ! 12:  {other} Add a  b").as_bytes()).expect("a valid line");
        assert!(changed.old.is_some() && changed.new.is_some() && !changed.is_same);
        assert_eq!(changed.title, "Add a  b");
        let dashes = "-".repeat(40);
        let added = CommitPair::parse(format!("-:  {dashes} > 1:  {other} New").as_bytes()).expect("a valid line");
        assert_eq!((added.old, added.new.map(|id| id.to_string())), (None, Some(other.to_owned())));
        assert!(CommitPair::parse(format!("1:  {one} = 1:  {other} ").as_bytes()).is_some_and(|pair| pair.is_same));
        assert_eq!(CommitPair::parse(b"nothing"), None);
    }
}
