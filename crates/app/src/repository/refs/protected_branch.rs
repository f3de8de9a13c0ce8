//! Reads and changes the rules of protected branches. [`super::branch::protect`] creates a rule or replaces it.

use holdfast_domain::AccessLevel;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::{Rule, TagRule};
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_store::commit;
use holdfast_store::projects::project::{Project, ProjectRef};
use holdfast_store::repository::snapshot::RefKind;
use holdfast_store::repository::{protection, tag_protection};

pub use holdfast_store::repository::protection::StoredRule;

use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result, access};

const WILDCARD: &str = "The name of a protected branch must be that of one branch, without the wildcard *";

/// Lists the rules of a project by name, or those whose names contain a text.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    search: Option<&str>,
    page: PageRequest,
) -> Result<Page<StoredRule>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    Ok(protection::list_stored(&mut connection, project.id, search, page).await?)
}

/// The rules of a project for branches and tags, with what their page shows.
#[derive(Debug)]
pub struct ProtectionRules {
    pub project: Project,
    pub branches: Page<BranchRule>,
    /// All rules for tags. Their number is limited when they are created.
    pub tags: Vec<TagRule>,
    /// The names of the first branches, which the form for a new rule suggests.
    pub suggestions: Vec<String>,
}

/// A rule for a branch or, with a wildcard, for several branches.
#[derive(Clone, Debug)]
pub struct BranchRule {
    pub rule: Rule,
    /// Whether there is a branch with the name of the rule. False for a rule with a wildcard.
    pub is_branch: bool,
}

/// Maximum number of branches that are suggested. Arbitrary.
const MAX_SUGGESTIONS: usize = 100;

/// Lists the rules of a project for branches and tags by name.
#[crate::boxed]
pub async fn list_with_tags(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProtectionRules> {
    let repository = open_repository(app, actor, project, ProjectAction::ProtectBranches).await?;
    let id = repository.project.id;
    let mut connection = app.database.connection().await?;
    let rules = protection::list_stored(&mut connection, id, None, page).await?;
    let mut tags = tag_protection::list_all(&mut connection, id).await?;
    drop(connection);
    tags.sort_by(|one, other| one.name.cmp(&other.name));
    let is_branch = |name: &str| repository.refs.find(&format!("refs/heads/{name}")).is_some();
    let branches = rules.map(|stored| BranchRule { is_branch: is_branch(&stored.rule.name), rule: stored.rule });
    let count = repository.refs.count(RefKind::Branches).min(MAX_SUGGESTIONS);
    let names = repository.refs.list(RefKind::Branches, 0..count);
    let suggestions = names.into_iter().map(|(name, _)| name.to_owned()).collect();
    Ok(ProtectionRules { branches, tags, suggestions, project: repository.project })
}

/// Returns the rule with exactly this name.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<StoredRule> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    protection::find(&mut connection, project.id, name).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Protects a branch that has no rule of its own.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, rule: Rule) -> Result<StoredRule> {
    let repository = open_repository(app, actor, project, ProjectAction::ProtectBranches).await?;
    if rule.name.contains('*') {
        return Err(Error::Rejected(WILDCARD.into()));
    }
    repository.refs.find(&format!("refs/heads/{}", rule.name)).ok_or(Error::NotFound(Resource::Branch))?;
    let mut connection = app.database.connection().await?;
    let created = protection::insert(&mut connection, repository.project.id, &rule, app.clock.now()).await?;
    created.ok_or_else(|| Error::Conflict(format!("Protected branch '{}' already exists", rule.name)))
}

/// Changes the levels of the rule with exactly this name. None leaves a level as it is.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    push: Option<AccessLevel>,
    merge: Option<AccessLevel>,
) -> Result<StoredRule> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    let updated = protection::update(&mut connection, project.id, name, push, merge).await?;
    updated.ok_or(Error::NotFound(Resource::Record))
}

/// Deletes the rule with exactly this name. The branch need not exist any more.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    protection::find(&mut transaction, project.id, name).await?.ok_or(Error::NotFound(Resource::Record))?;
    protection::delete(&mut transaction, project.id, name).await?;
    Ok(commit(transaction).await?)
}
