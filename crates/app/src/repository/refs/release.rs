//! Creates and updates the release notes of tags.

use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_store::Transaction;
use holdfast_store::commit;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::{ref_update, release, repository};

use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

/// Creates the release of a tag that has none yet.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    check_text("description", description)?;
    let mut transaction = lock_repository_with_tag(app, &repository, tag).await?;
    if !release::insert(&mut transaction, repository.project.id, tag, description, app.clock.now()).await? {
        return Err(Error::Conflict("Release already exists".into()));
    }
    Ok(commit(transaction).await?)
}

#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    check_text("description", description)?;
    let mut transaction = lock_repository_with_tag(app, &repository, tag).await?;
    if !release::update(&mut transaction, repository.project.id, tag, description, app.clock.now()).await? {
        return Err(Error::NotFound(Resource::Literal("Release does not exist")));
    }
    Ok(commit(transaction).await?)
}

/// Creates the release of a tag, or updates the one that it has.
#[crate::boxed]
pub async fn save(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
    if description.trim().is_empty() {
        return Err(Violations::single("description", "can't be blank").into());
    }
    check_text("description", description)?;
    let (id, now) = (repository.project.id, app.clock.now());
    let mut transaction = lock_repository_with_tag(app, &repository, tag).await?;
    if !release::update(&mut transaction, id, tag, description, now).await? {
        release::insert(&mut transaction, id, tag, description, now).await?;
    }
    Ok(commit(transaction).await?)
}

/// Checks the size of a text that belongs to a tag: its release notes or its message.
pub(in crate::repository) fn check_text(field: &'static str, text: &str) -> Result<()> {
    let mut violations = Violations::default();
    violations.check_size(field, text, MAX_TEXT_BYTES);
    Ok(violations.into_result()?)
}

/// Locks the repository and checks that the tag exists. While the lock is held, the tag and its release cannot be
/// deleted.
async fn lock_repository_with_tag(app: &App, repository: &OpenRepository, tag: &str) -> Result<Transaction> {
    let id = repository.project.repository.id;
    let mut transaction = app.database.begin().await?;
    repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Resource::Project))?;
    let found = ref_update::find_current(&mut transaction, id, &[&format!("refs/tags/{tag}")]).await?;
    if found.is_empty() { Err(Error::NotFound(Resource::Literal("Tag does not exist"))) } else { Ok(transaction) }
}
