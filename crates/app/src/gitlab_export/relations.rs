//! The relations that are imported, in this order.

use std::io::Read;

use super::archive::{ArchiveError, Lines, Result, parse_line};
use super::records::{Issuable, Label, Member, Milestone, Release};

/// A relation that is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Labels,
    Milestones,
    Issues,
    MergeRequests,
    Releases,
    Members,
}

/// A record of a relation.
pub enum Record {
    Label(Label),
    Milestone(Milestone),
    Issue(Box<Issuable>),
    MergeRequest(Box<Issuable>),
    Release(Release),
    Member(Member),
}

/// Maximum number of an issue, a merge request or a milestone. Arbitrary: it leaves numbers for new ones.
const MAX_NUMBER: i64 = 1_000_000_000;

impl Relation {
    pub const ALL: [Self; 6] =
        [Self::Labels, Self::Milestones, Self::Issues, Self::MergeRequests, Self::Releases, Self::Members];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Milestones => "milestones",
            Self::Issues => "issues",
            Self::MergeRequests => "merge_requests",
            Self::Releases => "releases",
            Self::Members => "project_members",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    fn parse(self, line: &[u8]) -> Result<Record> {
        let name = self.name();
        let record = match self {
            Self::Labels => Record::Label(parse_line(name, line)?),
            Self::Milestones => Record::Milestone(parse_line(name, line)?),
            Self::Issues => Record::Issue(parse_line(name, line)?),
            Self::MergeRequests => Record::MergeRequest(parse_line(name, line)?),
            Self::Releases => Record::Release(parse_line(name, line)?),
            Self::Members => Record::Member(parse_line(name, line)?),
        };
        match record.number() {
            Some(number) if !(1..=MAX_NUMBER).contains(&number) => {
                Err(ArchiveError::Invalid(format!("A line of {name} has the number {number}")))
            }
            _ => Ok(record),
        }
    }
}

/// The number of bytes that a part of a record, such as a note, counts at least in a transaction. Arbitrary.
const BYTES_PER_PART: usize = 1_000;

impl Record {
    /// Returns the number of parts that are imported with the record.
    fn parts(&self) -> usize {
        match self {
            Self::Issue(it) | Self::MergeRequest(it) => it.notes.0.len() + it.label_links.0.len(),
            Self::Release(it) => it.links.0.len(),
            Self::Label(_) | Self::Milestone(_) | Self::Member(_) => 0,
        }
    }

    /// Returns the number of the record within the project. The milestones of groups have the numbers of their groups.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Milestone(it) => Some(it.iid),
            Self::Issue(it) | Self::MergeRequest(it) => Some(it.iid),
            Self::Label(_) | Self::Release(_) | Self::Member(_) => None,
        }
    }
}

/// The records of a relation.
pub struct Records<R> {
    relation: Relation,
    lines: Lines<R>,
}

impl<R: Read> Records<R> {
    pub fn new(relation: Relation, content: R) -> Self {
        Self { relation, lines: Lines::new(relation.name(), content) }
    }

    pub fn next(&mut self) -> Result<Option<Record>> {
        self.lines.next()?.map(|line| self.relation.parse(line)).transpose()
    }

    /// Skips records that were imported before.
    pub fn skip(&mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            self.lines.next()?;
        }
        Ok(())
    }

    /// Returns the next records: at most this number, and no further one after they have that many bytes.
    pub fn next_batch(&mut self, max_records: usize, max_bytes: usize) -> Result<Vec<Record>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < max_records && bytes < max_bytes {
            let Some(line) = self.lines.next()? else { break };
            let line_bytes = line.len();
            let record = self.relation.parse(line)?;
            bytes += line_bytes.max(record.parts() * BYTES_PER_PART);
            batch.push(record);
        }
        Ok(batch)
    }
}
