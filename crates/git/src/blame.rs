//! Finds the commit that last changed each line of a file, with `git blame --porcelain`.

use std::collections::HashMap;
use std::time::Duration;

use gix::ObjectId;

use crate::lines::Lines;
use crate::{BareRepository, Error, Git, Result, TreePath};

/// The lines of a file in blocks, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    pub commits: Vec<BlamedCommit>,
    pub blocks: Vec<BlameBlock>,
}

/// A commit that changed lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedCommit {
    pub id: ObjectId,
    pub author_name: String,
    pub author_email: String,
    /// When the author wrote the commit, in seconds since 1970.
    pub seconds: i64,
    /// The first line of the message.
    pub title: String,
    /// The parent in which the file had other lines, with the path of the file in it. None if the commit added the file.
    pub previous: Option<(ObjectId, String)>,
}

/// Consecutive lines that the same commit changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameBlock {
    /// The index of the commit in [`Blame::commits`].
    pub commit: usize,
    pub lines: usize,
}

/// Finds the commits of the lines of a file, which must have at most `max_lines`. Fails after `deadline`.
pub async fn run(
    git: &Git,
    repository: &BareRepository,
    commit: ObjectId,
    path: &TreePath,
    max_lines: usize,
    deadline: Duration,
) -> Result<Blame> {
    // Paths are written as they are, unless they contain control characters or quotes.
    let command = git.command_with(repository, "blame", ["core.quotePath=false"]);
    let command = command.args(["--porcelain", "--encoding=UTF-8"]).arg_oid(commit).arg_tree_path(path);
    let work = async {
        let mut output = Lines::spawn(command, b'\n')?;
        let mut parser = Parser::default();
        while let Some(line) = output.next().await? {
            parser.read(&line)?;
            if parser.lines > max_lines {
                return Err(Error::protocol("git wrote more lines than the limit"));
            }
        }
        Ok(parser.blame)
    };
    let timed_out = Err(Error::TimedOut { command: "blame", after: deadline });
    tokio::time::timeout(deadline, work).await.unwrap_or(timed_out)
}

/// Reads the output of git: for each line the id of its commit, facts about the commit when it is named for the first
/// time, and the line after a tab.
#[derive(Default)]
struct Parser {
    blame: Blame,
    indexes: HashMap<ObjectId, usize>,
    /// The commit of the line that is being read.
    current: Option<usize>,
    lines: usize,
}

impl Parser {
    fn read(&mut self, line: &[u8]) -> Result<()> {
        if line.first() == Some(&b'\t') {
            return self.end_line();
        }
        match self.current {
            None => self.begin_line(line),
            Some(index) => {
                if let Some(commit) = self.blame.commits.get_mut(index) {
                    commit.set_fact(&String::from_utf8_lossy(line));
                }
                Ok(())
            }
        }
    }

    fn begin_line(&mut self, line: &[u8]) -> Result<()> {
        let hex = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let id = ObjectId::from_hex(hex).map_err(|_| unexpected())?;
        let next = self.blame.commits.len();
        let index = *self.indexes.entry(id).or_insert(next);
        if index == next {
            self.blame.commits.push(BlamedCommit {
                id,
                author_name: String::new(),
                author_email: String::new(),
                seconds: 0,
                title: String::new(),
                previous: None,
            });
        }
        self.current = Some(index);
        Ok(())
    }

    fn end_line(&mut self) -> Result<()> {
        let commit = self.current.take().ok_or_else(unexpected)?;
        self.lines += 1;
        match self.blame.blocks.last_mut() {
            Some(block) if block.commit == commit => block.lines += 1,
            _ => self.blame.blocks.push(BlameBlock { commit, lines: 1 }),
        }
        Ok(())
    }
}

fn unexpected() -> Error {
    Error::CommandFailed { command: "blame", detail: "unexpected line".into() }
}

/// Maximum number of characters of a name, an address or a title.
const MAX_TEXT_CHARS: usize = 300;

impl BlamedCommit {
    fn set_fact(&mut self, line: &str) {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let text = |value: &str| value.chars().take(MAX_TEXT_CHARS).collect::<String>();
        match name {
            "author" => self.author_name = text(value),
            "author-mail" => self.author_email = text(value.trim_start_matches('<').trim_end_matches('>')),
            "author-time" => self.seconds = value.parse().unwrap_or(0),
            "summary" => self.title = text(value),
            "previous" => {
                let previous = value.split_once(' ').and_then(|(hex, path)| {
                    let id = ObjectId::from_hex(hex.as_bytes()).ok()?;
                    Some((id, path.to_owned()))
                });
                // Git quotes a path with control characters. A path that no tree can have would have no page.
                self.previous = previous.filter(|(_, path)| !path.starts_with('"') && TreePath::new(path).is_some());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn lines_of_the_same_commit_are_one_block() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let output = format!(
            "{one} 1 1 2\nauthor Ada\nauthor-mail <ada@example.org>\nauthor-time 60\nsummary Add\nprevious {two} old name\n\
             filename new\n\tfirst\n{one} 2 2\n\tauthor Eve\n{two} 1 3 1\nauthor Bo\nboundary\n\tthird\n{one} 3 4 1\n\t\n"
        );
        let mut parser = Parser::default();
        for line in output.trim_end_matches('\n').split('\n') {
            parser.read(line.as_bytes()).unwrap();
        }
        let blocks: Vec<(usize, usize)> = parser.blame.blocks.iter().map(|block| (block.commit, block.lines)).collect();
        assert_eq!(blocks, [(0, 2), (1, 1), (0, 1)]);
        let first = &parser.blame.commits[0];
        assert_eq!((first.author_name.as_str(), first.author_email.as_str()), ("Ada", "ada@example.org"));
        assert_eq!(first.previous.as_ref().map(|(_, path)| path.as_str()), Some("old name"));
        assert!(parser.read(b"\tstray").is_err());
    }
}
