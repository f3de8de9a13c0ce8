//! The comparison of two revisions as a page shows it: commits and changes.

use holdfast_domain::policy::ProjectAction;
use holdfast_git::commits::{self, CommitQuery};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::{ObjectId, SHA1, merge_base};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::snapshot::{RefKind, Snapshot};

use super::changes::{self, Changes, FileSelection, TIMED_OUT, explain_timeout};
use super::commit::{Commit, load_listed};
use super::revision::{self, FoundCommit};
use crate::repository::fetch_slot::FetchSlot;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Result};

/// Two revisions that are compared, as the address of a page names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedRevisions {
    pub from: String,
    pub to: String,
    pub base: ComparisonBase,
}

/// What the second revision is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonBase {
    /// The common ancestor of both revisions, written `from...to`.
    MergeBase,
    /// The first revision, written `from..to`.
    First,
}

impl ComparedRevisions {
    /// Splits the end of a page's address. Returns None if it does not name two revisions.
    pub fn parse(address: &str) -> Option<Self> {
        let (from, to, base) = match address.split_once("...") {
            Some((from, to)) => (from, to, ComparisonBase::MergeBase),
            None => {
                let (from, to) = address.split_once("..")?;
                (from, to, ComparisonBase::First)
            }
        };
        let is_valid = |text: &str| !text.is_empty() && !text.contains("..");
        (is_valid(from) && is_valid(to)).then(|| Self { from: from.to_owned(), to: to.to_owned(), base })
    }
}

/// The form that compares two revisions, and the comparison if both exist.
pub struct ComparisonPage {
    pub project: Project,
    /// Names of branches and tags that the form suggests, the default branch first.
    pub suggestions: Vec<String>,
    pub result: ComparisonResult,
}

pub enum ComparisonResult {
    /// No revisions were given.
    Form,
    /// This revision does not exist.
    UnknownRevision(String),
    Found(Box<Comparison>),
}

/// The differences between two revisions.
pub struct Comparison {
    pub to: ObjectId,
    /// Whether a ref reaches the second revision, so that its commits and files have pages.
    pub is_reachable: bool,
    /// The newest commits that the second revision has and the first has not.
    pub commits: Vec<Commit>,
    pub has_more_commits: bool,
    pub changes: Changes,
}

/// Number of commits on a page. Arbitrary.
const MAX_COMMITS: usize = 100;
/// Number of branches, and of tags, that the form suggests. Arbitrary.
const MAX_SUGGESTIONS: usize = 100;

/// Compares two revisions, or returns the form alone if none are given. `update` is the generation of a ref update whose
/// values can be compared even if no ref reaches them, by those who may read the ref log.
#[crate::boxed]
pub async fn show(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revisions: Option<&ComparedRevisions>,
    update: Option<i64>,
    selection: FileSelection,
) -> Result<ComparisonPage> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let result = match revisions {
        Some(revisions) => compare(app, actor, &repository, revisions, update, selection).await?,
        None => ComparisonResult::Form,
    };
    let suggestions = suggestions(&repository.refs);
    Ok(ComparisonPage { project: repository.project, suggestions, result })
}

async fn compare(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    revisions: &ComparedRevisions,
    update: Option<i64>,
    selection: FileSelection,
) -> Result<ComparisonResult> {
    let resolve = |text| revision::resolve_or_retained(app, actor, repository, text, update);
    let Some(from) = resolve(&revisions.from).await? else {
        return Ok(ComparisonResult::UnknownRevision(revisions.from.clone()));
    };
    let Some(to) = resolve(&revisions.to).await? else {
        return Ok(ComparisonResult::UnknownRevision(revisions.to.clone()));
    };
    let (from, FoundCommit { id: to, is_reachable }) = (from.id, to);
    let slot = FetchSlot::acquire(app, repository).await?;
    let (git, bare) = (&app.git_runtime.git, &slot.cached_repository.bare);
    let base = match revisions.base {
        ComparisonBase::First => from,
        ComparisonBase::MergeBase => merge_base::find(git, bare, from, to).await?.unwrap_or(ObjectId::empty_tree(SHA1)),
    };
    let query = CommitQuery { excluded: Some(from), ..CommitQuery::new(to) };
    let listed = commits::list(git, bare, query, MAX_COMMITS + 1).await;
    let mut listed = listed.map_err(|error| explain_timeout(error, TIMED_OUT))?;
    let has_more_commits = listed.len() > MAX_COMMITS;
    listed.truncate(MAX_COMMITS);
    let commits = load_listed(app, repository, listed).await?;
    let changes = changes::start(app, slot, base, to, selection).await?;
    Ok(ComparisonResult::Found(Box::new(Comparison { to, is_reachable, commits, has_more_commits, changes })))
}

fn suggestions(refs: &Snapshot) -> Vec<String> {
    let default = refs.head().strip_prefix("refs/heads/").filter(|_| refs.head_target().is_some());
    let branches = refs.list(RefKind::Branches, 0..MAX_SUGGESTIONS).into_iter().map(|(name, _)| name);
    let tags = refs.list(RefKind::Tags, 0..MAX_SUGGESTIONS).into_iter().map(|(name, _)| name);
    let others = branches.filter(|name| Some(*name) != default).chain(tags);
    default.into_iter().chain(others).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_two_revisions() {
        let parse = |address| ComparedRevisions::parse(address).map(|found| (found.from, found.to, found.base));
        let pair = |base| Some(("a/b".to_owned(), "v1.0".to_owned(), base));
        assert_eq!(parse("a/b...v1.0"), pair(ComparisonBase::MergeBase));
        assert_eq!(parse("a/b..v1.0"), pair(ComparisonBase::First));
        for address in ["", "main", "...main", "main..", "a..b...c", "a...b..c"] {
            assert_eq!(parse(address), None, "{address}");
        }
    }
}
