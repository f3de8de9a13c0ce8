//! Who wrote how much, as `git log --numstat` counts it.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use crate::lines::Lines;
use crate::{Bare, Git, Result, rev_list};

/// What one person did, who is known by an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contribution {
    /// As it stands in the newest commit.
    pub name: String,
    /// When that was committed, in seconds since 1970.
    pub newest: i64,
    pub commits: u64,
    pub additions: u64,
    pub deletions: u64,
}

/// By address, exactly as it was written but for what is longer than any.
pub type Contributions = HashMap<String, Contribution>;

/// Which commits are counted. Merges never are.
pub enum Commits {
    /// This one and all before it.
    Until(ObjectId),
    These(Vec<ObjectId>),
}

/// `lines` says whether lines are counted, which takes much longer.
pub async fn count(git: &Git, bare: &Bare, commits: Commits, lines: bool) -> Result<Contributions> {
    let command = git.command(bare, "log").words(["--no-merges", "--format=%x00%ct%x00%an%x00%ae"]);
    let command = if lines { command.words(["--numstat", "-M", "--no-ext-diff", "--no-textconv"]) } else { command };
    let mut lines = match commits {
        Commits::Until(tip) => Lines::of(command.id(tip).word("--"), b'\n')?,
        // Without any it would take the default branch.
        Commits::These(ids) if ids.is_empty() => return Ok(Contributions::new()),
        Commits::These(ids) => {
            let ids = rev_list::input(ids.into_iter(), std::iter::empty());
            Lines::told(command.words(["--no-walk=unsorted", "--stdin"]), b'\n', ids)?
        }
    };
    let mut found = Contributions::new();
    let mut author = String::new();
    while let Some(line) = lines.next().await? {
        if let Some(facts) = line.strip_prefix(b"\0") {
            let mut facts = facts.splitn_str(3, "\0");
            let mut next = || facts.next().unwrap_or_default();
            let (at, name) = (text(next()).parse().unwrap_or(0), cut(next(), LONGEST_NAME));
            author = cut(next(), LONGEST_EMAIL);
            let contribution = found.entry(author.clone()).or_default();
            if contribution.commits == 0 || at > contribution.newest {
                (contribution.name, contribution.newest) = (name, at);
            }
            contribution.commits += 1;
        } else if let Some(contribution) = found.get_mut(&author) {
            // ADDITIONS<tab>DELETIONS<tab>PATH, with dashes for what has no lines.
            let mut figures = line.splitn_str(3, "\t").map(|figure| text(figure).parse::<u64>().unwrap_or(0));
            contribution.additions += figures.next().unwrap_or(0);
            contribution.deletions += figures.next().unwrap_or(0);
        }
    }
    Ok(found)
}

/// No address is longer; what is cut alike is one person's.
const LONGEST_EMAIL: usize = 320;
const LONGEST_NAME: usize = 255;

fn cut(bytes: &[u8], longest: usize) -> String {
    text(bytes).chars().take(longest).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
