//! Notes on tags.

use holdfast_domain::Violations;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_store::Transaction;
use holdfast_store::commit;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::{ref_change, release, repository};

use super::fetch;
use crate::{Actor, App, Error, Result, Thing};

/// Of a tag that has none yet.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    check("description", description)?;
    let mut transaction = locked_with_tag(app, &opened, tag).await?;
    if !release::insert(&mut transaction, opened.project.id, tag, description, app.clock.now()).await? {
        return Err(Error::Conflict("Release already exists".into()));
    }
    Ok(commit(transaction).await?)
}

pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, tag: &str, description: &str) -> Result<()> {
    let opened = fetch::open(app, actor, project, ProjectAction::WriteCode).await?;
    check("description", description)?;
    let mut transaction = locked_with_tag(app, &opened, tag).await?;
    if !release::update(&mut transaction, opened.project.id, tag, description, app.clock.now()).await? {
        return Err(Error::NotFound(Thing::Named("Release does not exist")));
    }
    Ok(commit(transaction).await?)
}

/// Checks a text that stands beside a tag: its notes or its message.
pub(super) fn check(field: &'static str, text: &str) -> Result<()> {
    let mut violations = Violations::default();
    violations.check_size(field, text, MAX_TEXT_BYTES);
    Ok(violations.into_result()?)
}

/// While the repository is locked no tag goes away, and its notes with it.
async fn locked_with_tag(app: &App, opened: &fetch::Opened, tag: &str) -> Result<Transaction> {
    let id = opened.project.repository.id;
    let mut transaction = app.database.begin().await?;
    repository::lock(&mut transaction, id).await?.ok_or(Error::NotFound(Thing::Project))?;
    let found = ref_change::current(&mut transaction, id, &[&format!("refs/tags/{tag}")]).await?;
    if found.is_empty() { Err(Error::NotFound(Thing::Named("Tag does not exist"))) } else { Ok(transaction) }
}
