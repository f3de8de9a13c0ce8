//! Resolves short names of refs, and finds branches and tags that contain a commit.

use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::reader::{Kind, Reader};
use holdfast_git::{ObjectId, RefTarget};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::snapshot::RefKind;

use super::ref_address::RefAddresses;
use crate::repository::browse::revision;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

/// Resolves the name of a branch or a tag. Returns its short name, and whether it is a tag.
pub(crate) fn resolve_short_name(repository: &OpenRepository, name: &str) -> Option<(String, bool)> {
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    if repository.refs.find(&format!("refs/heads/{name}")).is_some() {
        return Some((name.to_owned(), false));
    }
    repository.refs.find(&format!("refs/tags/{name}")).map(|_| (name.to_owned(), true))
}

/// Maximum number of branches whose histories are searched.
const MAX_BRANCHES: usize = 100;

/// Returns a branch that contains a commit. The default branch is searched first.
pub(crate) async fn first_branch_containing(
    app: &App,
    repository: &OpenRepository,
    id: ObjectId,
) -> Result<Option<String>> {
    let head = repository.refs.head().strip_prefix("refs/heads/").map(str::to_owned);
    let default = head.and_then(|name| Some((name, repository.refs.head_target()?)));
    let listed = repository.refs.list(RefKind::Branches, 0..MAX_BRANCHES);
    let others = listed.into_iter().map(|(name, target)| (name.to_owned(), target.id));
    let branches: Vec<(String, ObjectId)> = default.into_iter().chain(others).collect();
    objects::read(app, repository, move |reader| {
        for (name, tip) in branches {
            if tip == id || reader.is_ancestor(id, tip)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    })
    .await
}

/// The refs that contain a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainingRefs {
    /// The short names of branches and the texts that name them in addresses, the default branch first.
    pub branches: Vec<(String, String)>,
    /// The short names of tags and the texts that name them in addresses.
    pub tags: Vec<(String, String)>,
    /// Whether other refs may contain the commit, because not all were searched.
    pub is_partial: bool,
}

/// Maximum number of branches, and of tags, that are searched at once.
const MAX_SEARCHED_REFS: usize = 200;
/// Maximum number of commits that are searched.
const MAX_SEARCHED_COMMITS: usize = 10_000;

/// Returns the branches and tags that contain the commit of a revision, as far as they are searched.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, revision: &str) -> Result<ContainingRefs> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let commit = revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?;
    list_containing(app, &repository, commit).await
}

/// Returns the branches and tags that contain a commit. Searches the newest commits only, and the first branches and the
/// last tags by name.
pub(crate) async fn list_containing(
    app: &App,
    repository: &OpenRepository,
    commit: ObjectId,
) -> Result<ContainingRefs> {
    let refs = &repository.refs;
    let (branch_count, tag_count) = (refs.count(RefKind::Branches), refs.count(RefKind::Tags));
    let default = refs.head().strip_prefix("refs/heads/").and_then(|name| Some((name, refs.find(refs.head())?)));
    let listed = refs.list(RefKind::Branches, 0..MAX_SEARCHED_REFS.min(branch_count));
    let others = listed.into_iter().filter(|(name, _)| default.is_none_or(|(default, _)| default != *name));
    let branches: Vec<_> = default.into_iter().chain(others).map(|(name, target)| (name.to_owned(), target)).collect();
    let tags = refs.list(RefKind::Tags, tag_count.saturating_sub(MAX_SEARCHED_REFS)..tag_count);
    let tags: Vec<_> = tags.into_iter().rev().map(|(name, target)| (name.to_owned(), target)).collect();
    let tips: Vec<ObjectId> = branches.iter().chain(&tags).map(|(_, target)| target.peeled_or_self()).collect();
    let search = move |reader: &Reader| {
        // A tag may point at another object than a commit.
        let is_commit = |id: &ObjectId| reader.kind(*id).is_ok_and(|kind| kind == Some(Kind::Commit));
        let tips: Vec<ObjectId> = tips.into_iter().filter(is_commit).collect();
        Ok(reader.tips_containing(commit, &tips, MAX_SEARCHED_COMMITS)?)
    };
    let found = objects::read(app, repository, search).await?;
    let is_partial = found.is_none() || branch_count > MAX_SEARCHED_REFS || tag_count > MAX_SEARCHED_REFS;
    let found = found.unwrap_or_default();
    let addresses = RefAddresses::new(refs.clone());
    let contains = |(_, target): &(String, RefTarget)| found.contains(&target.peeled_or_self());
    let with_address = |name: String, address: Option<String>| (name.clone(), address.unwrap_or(name));
    Ok(ContainingRefs {
        branches: branches
            .into_iter()
            .filter(contains)
            .map(|(name, _)| with_address(name.clone(), addresses.branch(&name)))
            .collect(),
        tags: tags
            .into_iter()
            .filter(contains)
            .map(|(name, _)| with_address(name.clone(), addresses.tag(&name)))
            .collect(),
        is_partial,
    })
}
