//! Counts commits and changed lines per author with `git log --numstat`.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::lines::Lines;
use crate::{BareRepository, Git, Result, rev_list};

/// The contributions of one author, who is identified by an email address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// The author's name in the newest commit.
    pub name: String,
    /// The commit time of the newest commit, in seconds since 1970.
    pub newest: i64,
    pub commits: u64,
    pub additions: u64,
    pub deletions: u64,
}

/// Contributions by email address. Addresses are compared as they were written, up to `MAX_EMAIL_LENGTH`.
pub type Contributions = HashMap<String, Contribution>;

/// The commits that are counted. Merge commits never are.
pub enum CommitSelection {
    /// A commit and its ancestors.
    ReachableFrom(ObjectId),
    Exactly(Vec<ObjectId>),
}

/// Counts the contributions to a selection of commits. Counting lines takes much longer.
pub async fn count(
    git: &Git,
    repository: &BareRepository,
    commits: CommitSelection,
    should_count_lines: bool,
) -> Result<Contributions> {
    let command = git.command(repository, "log").args(["--no-merges", "--format=%x00%ct%x00%an%x00%ae"]);
    let command =
        if should_count_lines { command.args(["--numstat", "-M", "--no-ext-diff", "--no-textconv"]) } else { command };
    let mut output = match commits {
        CommitSelection::ReachableFrom(tip) => Lines::spawn(command.arg_oid(tip).arg("--"), b'\n')?,
        // Without any id, git would use HEAD.
        CommitSelection::Exactly(ids) if ids.is_empty() => return Ok(Contributions::new()),
        CommitSelection::Exactly(ids) => {
            let ids = rev_list::stdin_revisions(ids.into_iter(), std::iter::empty());
            Lines::spawn_with_input(command.args(["--no-walk=unsorted", "--stdin"]), b'\n', ids)?
        }
    };
    let mut found = Contributions::new();
    let mut author = String::new();
    while let Some(line) = output.next().await? {
        if let Some(fields) = line.strip_prefix(b"\0") {
            let mut fields = fields.splitn_str(3, "\0");
            let mut next = || fields.next().unwrap_or_default();
            let (seconds, name) = (text(next()).parse().unwrap_or(0), truncate(next(), MAX_NAME_LENGTH));
            author = truncate(next(), MAX_EMAIL_LENGTH);
            let contribution = found.entry(author.clone()).or_default();
            if contribution.commits == 0 || seconds > contribution.newest {
                (contribution.name, contribution.newest) = (name, seconds);
            }
            contribution.commits += 1;
        } else if let Some(contribution) = found.get_mut(&author) {
            // ADDITIONS<tab>DELETIONS<tab>PATH, with dashes for binary files.
            let mut figures = line.splitn_str(3, "\t").map(|figure| text(figure).parse::<u64>().unwrap_or(0));
            contribution.additions += figures.next().unwrap_or(0);
            contribution.deletions += figures.next().unwrap_or(0);
        }
    }
    Ok(found)
}

/// Maximum length of an email address. Longer ones are truncated, and equal ones are then counted as one author.
const MAX_EMAIL_LENGTH: usize = 320;
const MAX_NAME_LENGTH: usize = 255;

fn truncate(bytes: &[u8], max_chars: usize) -> String {
    text(bytes).chars().take(max_chars).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
