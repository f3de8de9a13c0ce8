//! Branches.

use holdfast_domain::AccessLevel;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Protection, Rule};
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::protocol::receive::Command;
use holdfast_git::{ObjectId, RefName, Target};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_change::Mover;
use holdfast_store::repository::snapshot::Listed;

use super::commit::{self, Commit};
use super::fetch::{self, Opened};
use super::push_details::PushDetails;
use super::ref_change::{self, Change, Move};
use super::revision;
use super::verdict::Judge;
use crate::actor::Caller;
use crate::{Actor, App, Error, Result, Thing};

#[derive(Clone, Debug)]
pub struct Branch {
    pub name: String,
    pub commit: Commit,
    pub protection: Protection,
}

/// By name.
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Branch>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let total = opened.refs.count(Listed::Branches);
    let found = opened.refs.listed(Listed::Branches, page.range(total));
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    let commits = commit::load_listed(app, &opened, found.iter().map(|(_, target)| target.id).collect()).await?;
    let branches = found.iter().zip(commits).map(|((name, _), commit)| branch_of((*name).to_owned(), commit, &rules));
    Ok(Page::of_total(branches.collect(), page, total))
}

fn branch_of(name: String, commit: Commit, rules: &[Rule]) -> Branch {
    Branch { protection: Protection::of(rules, &name), name, commit }
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Branch> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadCode).await?;
    let found = opened.refs.find(&format!("refs/heads/{name}")).ok_or(Error::NotFound(Thing::Branch))?;
    shown(app, &opened, name, found.id).await
}

async fn shown(app: &App, opened: &Opened, name: &str, id: ObjectId) -> Result<Branch> {
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    let commit = commit::load(app, opened, id).await?;
    Ok(branch_of(name.to_owned(), commit, &rules))
}

/// At a branch, a tag or a commit.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, name: &str, at: &str) -> Result<Branch> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    let refused = |text: &str| Error::Refused(text.into());
    let full = RefName::branch(name).map_err(|_| refused("Branch name is invalid"))?;
    if opened.refs.find(full.as_str()).is_some() {
        return Err(refused("Branch already exists"));
    }
    let id = revision::resolve(app, &opened, at).await?.ok_or_else(|| refused("Invalid reference name"))?;
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    let command = Command { name: full.as_str().into(), old: None, new: Some(id) };
    Judge::new(actor, &opened, rules).of_name(&command).map_err(Error::Refused)?;
    let new = Some(Target { id, peeled: None });
    let refusal = move_one(app, actor.caller()?, &opened, Move { name: full, old: None, new }, None).await?;
    match refusal {
        None => shown(app, &opened, name, id).await,
        Some(ref_change::LOST_RACE) => Err(refused("Branch already exists")),
        Some(text) => Err(refused(text)),
    }
}

/// Gives its name back.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<String> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    let full = format!("refs/heads/{name}");
    let found = opened.refs.find(&full).ok_or(Error::NotFound(Thing::Named("No such branch")))?;
    let refused = |text: &str| Error::Refused(text.into());
    if opened.project.repository.head.as_deref() == Some(&full) {
        return Err(refused("Cannot remove HEAD branch"));
    }
    let rules = protection::list(&mut *app.database.connection().await?, opened.project.id).await?;
    if Protection::of(&rules, name).protected {
        return Err(refused("Protected branch cant be removed"));
    }
    let it = Move { name: RefName::trusted(&full), old: Some(found.id), new: None };
    match move_one(app, actor.caller()?, &opened, it, None).await? {
        None => Ok(name.to_owned()),
        Some(_) => Err(refused("Failed to remove branch")),
    }
}

/// From now on only masters push to it, and developers as far as is said here.
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
    let (opened, id) = protectable(app, actor, project, name).await?;
    protection::upsert(&mut *app.database.connection().await?, opened.project.id, &rule, app.clock.now()).await?;
    shown(app, &opened, name, id).await
}

/// Takes the rule of its own name away; one that covers several branches stays.
pub async fn unprotect(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<Branch> {
    let (opened, id) = protectable(app, actor, project, name).await?;
    protection::delete(&mut *app.database.connection().await?, opened.project.id, name).await?;
    shown(app, &opened, name, id).await
}

async fn protectable(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<(Opened, ObjectId)> {
    let opened = fetch::open(app, actor, project, ProjectAction::ProtectBranches).await?;
    let found = opened.refs.find(&format!("refs/heads/{name}")).ok_or(Error::NotFound(Thing::Branch))?;
    Ok((opened, found.id))
}

/// Through the same door as a push; why it was refused.
pub(super) async fn move_one(
    app: &App,
    caller: &Caller,
    opened: &Opened,
    it: Move,
    release: Option<&str>,
) -> Result<Option<&'static str>> {
    // A ref to what is there already brings no commits, and one that goes takes none away.
    let details = Some(PushDetails::without_commits(caller));
    let mover = Mover { user: Some(caller.account.id()), via: "api" };
    let built = it.new.iter().map(|_| 0).collect();
    let change = Change { release, built, ..Change::new(opened, vec![it], details, mover) };
    let changed = ref_change::apply(app, change).await?;
    Ok(changed.refusals.into_iter().next().flatten())
}
