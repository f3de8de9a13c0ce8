//! Reads and changes the rules of protected tags. [`super::ref_update`] enforces them.

use holdfast_domain::Violations;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::TagRule;
use holdfast_domain::violations::INVALID;
use holdfast_git::RefName;
use holdfast_store::commit;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::{repository, tag_protection};

use super::protected_branch::StoredRule;
use crate::{Actor, App, Error, Resource, Result, access};

/// Maximum number of rules of a project. Each push of tags reads all of them while the repository is locked. Arbitrary.
const MAX_RULES: usize = 100;
/// Maximum number of wildcards of a rule. Each is searched for in every tag of a push. Arbitrary.
const MAX_WILDCARDS: usize = 5;

/// Lists the rules of a project by name.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<Page<StoredRule<TagRule>>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    Ok(tag_protection::list(&mut connection, project.id, page).await?)
}

/// Returns the rule with exactly this name.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<StoredRule<TagRule>> {
    let mut connection = app.database.connection().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    tag_protection::find(&mut connection, project.id, name).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Creates a rule. No tag need match it, but one must be possible.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, rule: TagRule) -> Result<StoredRule<TagRule>> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    // A letter is allowed wherever a wildcard can stand for something.
    if rule.name.starts_with("refs/") || RefName::tag(&rule.name.replace('*', "x")).is_err() {
        return Err(Violations::single("name", INVALID).into());
    }
    if rule.name.matches('*').count() > MAX_WILDCARDS {
        return Err(Error::Rejected(format!("The name of a protected tag has at most {MAX_WILDCARDS} wildcards")));
    }
    // Ref updates that have not read the rule are committed before the rule is.
    let locked = repository::lock(&mut transaction, project.repository.id).await?;
    locked.ok_or(Error::NotFound(Resource::Project))?;
    let created = tag_protection::insert(&mut transaction, project.id, &rule, app.clock.now()).await?;
    let created = created.ok_or_else(|| Error::Conflict(format!("Protected tag '{}' already exists", rule.name)))?;
    if tag_protection::list_all(&mut transaction, project.id).await?.len() > MAX_RULES {
        return Err(Error::Rejected(format!("A project has at most {MAX_RULES} protected tags")));
    }
    commit(transaction).await?;
    Ok(created)
}

/// Deletes the rule with exactly this name.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<()> {
    let mut transaction = app.database.begin().await?;
    let action = ProjectAction::ProtectBranches;
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    if !tag_protection::delete(&mut transaction, project.id, name).await? {
        return Err(Error::NotFound(Resource::Record));
    }
    Ok(commit(transaction).await?)
}
