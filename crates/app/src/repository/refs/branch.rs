//! Lists, creates, deletes and protects branches.

use std::collections::HashSet;

use holdfast_domain::AccessLevel;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Protection, Rule};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::reader::Reader;
use holdfast_git::{ObjectId, RefName, RefTarget};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use holdfast_store::repository::release::NewRelease;
use holdfast_store::repository::snapshot::RefKind;

pub use super::ref_list::{ListRefs, RefOrder};

use super::planned_update::PlannedUpdate;
use super::ref_address::{RefAddresses, branch_address};
use super::ref_list::{self, RefPage};
use super::ref_update::{self, RefUpdate, RefUpdateBatch};
use super::ref_update_policy::RefUpdatePolicy;
use crate::actor::CurrentUser;
use crate::repository::browse::commit::{self, Commit};
use crate::repository::browse::revision;
use crate::repository::objects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result, access};

#[derive(Clone, Debug)]
pub struct Branch {
    pub name: String,
    pub commit: Commit,
    pub protection: Protection,
}

/// Lists the branches of a project, sorted by name.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Branch>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    list_opened(app, &repository, page).await
}

/// The branches of a project, with what their page shows.
pub struct ProjectBranches {
    pub project: Project,
    pub branches: Page<Branch>,
    pub refs: RefAddresses,
}

/// Like [`list`], but also returns the project and the addresses of the branches. The default branch is the first one of
/// the first page, in addition to the others.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectBranches> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let mut branches = list_opened(app, &repository, page).await?;
    if let Some(default) = repository.project.repository.default_branch().map(str::to_owned) {
        let position = branches.items.iter().position(|branch| branch.name == default);
        match (position, repository.refs.head_target()) {
            (Some(position), _) if page.number() == 1 => branches.items[..=position].rotate_right(1),
            (Some(position), _) => _ = branches.items.remove(position),
            (None, Some(id)) if page.number() == 1 => {
                branches.items.insert(0, load_branch(app, &repository, &default, id).await?);
            }
            (None, _) => {}
        }
    }
    Ok(ProjectBranches { branches, refs: RefAddresses::new(repository.refs), project: repository.project })
}

async fn list_opened(app: &App, repository: &OpenRepository, page: PageRequest) -> Result<Page<Branch>> {
    let total = repository.refs.count(RefKind::Branches);
    let found = repository.refs.list(RefKind::Branches, page.range(total));
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let commits = commit::load_listed(app, repository, found.iter().map(|(_, target)| target.id).collect()).await?;
    let branches = found.iter().zip(commits).map(|((name, _), commit)| to_branch((*name).to_owned(), commit, &rules));
    Ok(Page::with_total(branches.collect(), page, total))
}

fn to_branch(name: String, commit: Commit, rules: &[Rule]) -> Branch {
    Branch { protection: Protection::for_branch(rules, &name), name, commit }
}

/// A branch, with what follows from the default branch and from the rights of the viewer.
#[derive(Clone, Debug)]
pub struct BranchDetails {
    pub branch: Branch,
    /// The text that names the branch in addresses.
    pub address: String,
    pub is_default: bool,
    /// Whether the default branch contains the branch and has more commits. Only its newest commits are searched.
    pub is_merged: bool,
    pub can_push: bool,
}

/// A page of branches, with the project whose address their URLs contain.
pub struct DetailedBranches {
    pub project: Project,
    pub branches: Page<BranchDetails>,
}

/// A branch, with the project whose address its URLs contain.
pub struct DetailedBranch {
    pub project: Project,
    pub branch: BranchDetails,
}

/// Lists the branches that a client asks for.
#[crate::boxed]
pub async fn search(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    input: &ListRefs,
    page: PageRequest,
) -> Result<DetailedBranches> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let RefPage { total, refs } = ref_list::list(app, &repository, RefKind::Branches, input, page).await?;
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let commits = commit::load_listed(app, &repository, refs.iter().map(|(_, target)| target.id).collect()).await?;
    let branches = refs.into_iter().zip(commits).map(|((name, _), commit)| to_branch(name, commit, &rules)).collect();
    let details = load_details(app, actor, &repository, rules, branches).await?;
    Ok(DetailedBranches { project: repository.project, branches: Page::with_total(details, page, total) })
}

/// Like [`show`], but with details.
#[crate::boxed]
pub async fn show_details(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<DetailedBranch> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let found = repository.refs.find(&format!("refs/heads/{name}")).ok_or(Error::NotFound(Resource::Branch))?;
    let branch = load_branch(app, &repository, name, found.id).await?;
    with_details(app, actor, repository, branch).await
}

/// Like [`create`], but returns the branch with details.
#[crate::boxed]
pub async fn create_with_details(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    start_point: &str,
) -> Result<DetailedBranch> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let branch = create_opened(app, actor, &repository, name, start_point).await?;
    with_details(app, actor, repository, branch).await
}

async fn with_details(app: &App, actor: &Actor, repository: OpenRepository, branch: Branch) -> Result<DetailedBranch> {
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let branch = load_details(app, actor, &repository, rules, vec![branch]).await?.remove(0);
    Ok(DetailedBranch { project: repository.project, branch })
}

/// Maximum number of commits of the default branch that are searched for the tips of other branches.
const MAX_SEARCHED_COMMITS: usize = 10_000;

async fn load_details(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    rules: Vec<Rule>,
    branches: Vec<Branch>,
) -> Result<Vec<BranchDetails>> {
    let head = repository.refs.head_target();
    let default = repository.project.repository.default_branch();
    let tips: HashSet<ObjectId> =
        branches.iter().map(|branch| branch.commit.id).filter(|tip| Some(*tip) != head).collect();
    let merged = match head {
        Some(head) if !tips.is_empty() => {
            let search =
                move |reader: &Reader| Ok(reader.recent_among([head].into_iter(), &tips, MAX_SEARCHED_COMMITS)?);
            objects::read(app, repository, search).await?
        }
        _ => HashSet::new(),
    };
    let is_writable = access::is_authorized(actor, &repository.project, ProjectAction::WriteCode);
    let policy = RefUpdatePolicy::new(actor, repository, rules);
    let details = branches.into_iter().map(|branch| BranchDetails {
        address: branch_address(&*repository.refs, &branch.name),
        is_default: default == Some(branch.name.as_str()),
        is_merged: merged.contains(&branch.commit.id),
        can_push: is_writable && policy.can_push_to(&branch.name),
        branch,
    });
    Ok(details.collect())
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Branch> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadCode).await?;
    let found = repository.refs.find(&format!("refs/heads/{name}")).ok_or(Error::NotFound(Resource::Branch))?;
    load_branch(app, &repository, name, found.id).await
}

async fn load_branch(app: &App, repository: &OpenRepository, name: &str, id: ObjectId) -> Result<Branch> {
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let commit = commit::load(app, repository, id).await?;
    Ok(to_branch(name.to_owned(), commit, &rules))
}

/// Creates a branch at a branch, a tag or a commit.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, name: &str, start_point: &str) -> Result<Branch> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    create_opened(app, actor, &repository, name, start_point).await
}

async fn create_opened(
    app: &App,
    actor: &Actor,
    repository: &OpenRepository,
    name: &str,
    start_point: &str,
) -> Result<Branch> {
    let rejected = |text: &str| Error::Rejected(text.into());
    let full = RefName::branch(name).map_err(|_| rejected("Branch name is invalid"))?;
    if repository.refs.find(full.as_str()).is_some() {
        return Err(rejected("Branch already exists"));
    }
    let id =
        revision::resolve(app, repository, start_point).await?.ok_or_else(|| rejected("Invalid reference name"))?;
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let command = PushCommand { name: full.as_str().into(), old: None, new: Some(id) };
    RefUpdatePolicy::new(actor, repository, rules).check_name(&command).map_err(Error::Rejected)?;
    let new = Some(RefTarget { id, peeled: None });
    let rejection =
        update_single_ref(app, actor.current_user()?, repository, RefUpdate { name: full, old: None, new }, None)
            .await?;
    match rejection {
        None => load_branch(app, repository, name, id).await,
        Some(ref_update::STALE_OLD_VALUE) => Err(rejected("Branch already exists")),
        Some(text) => Err(rejected(text)),
    }
}

/// Deletes a branch and returns its name, which the API echoes.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<String> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    let full = format!("refs/heads/{name}");
    let found = repository.refs.find(&full).ok_or(Error::NotFound(Resource::Literal("No such branch")))?;
    let rejected = |text: &str| Error::Rejected(text.into());
    if repository.project.repository.head.as_deref() == Some(&full) {
        return Err(rejected("Cannot remove HEAD branch"));
    }
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    if Protection::for_branch(&rules, name).is_protected {
        return Err(rejected("Protected branch cant be removed"));
    }
    let update = RefUpdate { name: RefName::from_trusted(&full), old: Some(found.id), new: None };
    match update_single_ref(app, actor.current_user()?, &repository, update, None).await? {
        None => Ok(name.to_owned()),
        Some(_) => Err(rejected("Failed to remove branch")),
    }
}

/// Protects a branch: only masters may push and merge, and developers if these flags allow it.
#[crate::boxed]
pub async fn protect(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    developers_can_push: bool,
    developers_can_merge: bool,
) -> Result<Branch> {
    let level = |developers| if developers { AccessLevel::Developer } else { AccessLevel::Master };
    let rule = Rule { name: name.to_owned(), push: level(developers_can_push), merge: level(developers_can_merge) };
    let (repository, id) = find_protectable(app, actor, project, name).await?;
    protection::upsert(&mut *app.database.connection().await?, repository.project.id, &rule, app.clock.now()).await?;
    load_branch(app, &repository, name, id).await
}

/// Deletes the protection rule with the name of a branch. A rule that covers several branches stays.
#[crate::boxed]
pub async fn unprotect(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Branch> {
    let (repository, id) = find_protectable(app, actor, project, name).await?;
    protection::delete(&mut *app.database.connection().await?, repository.project.id, name).await?;
    load_branch(app, &repository, name, id).await
}

async fn find_protectable(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
) -> Result<(OpenRepository, ObjectId)> {
    let repository = open_repository(app, actor, project, ProjectAction::ProtectBranches).await?;
    let found = repository.refs.find(&format!("refs/heads/{name}")).ok_or(Error::NotFound(Resource::Branch))?;
    Ok((repository, found.id))
}

/// Updates one ref by the same rules as a push. Returns the reason if the update is rejected.
pub(super) async fn update_single_ref(
    app: &App,
    current_user: &CurrentUser,
    repository: &OpenRepository,
    update: RefUpdate,
    release: Option<NewRelease<'_>>,
) -> Result<Option<&'static str>> {
    let origin = RefUpdateOrigin { user: Some(current_user.account.id()), channel: current_user.ref_update_channel };
    // Neither a new ref to an existing object nor a deletion adds commits.
    let planned = PlannedUpdate { may_get_pipeline: update.new.is_some(), ..PlannedUpdate::from(update) };
    let batch =
        RefUpdateBatch { release, ..RefUpdateBatch::new(repository, vec![planned], Some(current_user), origin) };
    let result = ref_update::apply(app, batch).await?;
    Ok(result.rejections.into_iter().next().flatten())
}
