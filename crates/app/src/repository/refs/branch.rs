//! Lists, creates, deletes and protects branches.

use holdfast_domain::AccessLevel;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Protection, Rule};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::{ObjectId, RefName, RefTarget};
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use holdfast_store::repository::snapshot::RefKind;

use super::planned_update::PlannedUpdate;
use super::ref_address::RefAddresses;
use super::ref_update::{self, RefUpdate, RefUpdateBatch};
use super::ref_update_policy::RefUpdatePolicy;
use crate::actor::CurrentUser;
use crate::repository::browse::commit::{self, Commit};
use crate::repository::browse::revision;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

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
    let rejected = |text: &str| Error::Rejected(text.into());
    let full = RefName::branch(name).map_err(|_| rejected("Branch name is invalid"))?;
    if repository.refs.find(full.as_str()).is_some() {
        return Err(rejected("Branch already exists"));
    }
    let id =
        revision::resolve(app, &repository, start_point).await?.ok_or_else(|| rejected("Invalid reference name"))?;
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let command = PushCommand { name: full.as_str().into(), old: None, new: Some(id) };
    RefUpdatePolicy::new(actor, &repository, rules).check_name(&command).map_err(Error::Rejected)?;
    let new = Some(RefTarget { id, peeled: None });
    let rejection =
        update_single_ref(app, actor.current_user()?, &repository, RefUpdate { name: full, old: None, new }, None)
            .await?;
    match rejection {
        None => load_branch(app, &repository, name, id).await,
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
    release_notes: Option<&str>,
) -> Result<Option<&'static str>> {
    let origin = RefUpdateOrigin { user: Some(current_user.account.id()), channel: current_user.ref_update_channel };
    // Neither a new ref to an existing object nor a deletion adds commits.
    let planned = PlannedUpdate { may_get_pipeline: update.new.is_some(), ..PlannedUpdate::from(update) };
    let batch =
        RefUpdateBatch { release_notes, ..RefUpdateBatch::new(repository, vec![planned], Some(current_user), origin) };
    let result = ref_update::apply(app, batch).await?;
    Ok(result.rejections.into_iter().next().flatten())
}
