//! Triggers. The token of a trigger starts pipelines that run as the trigger's owner.
//!
//! - A token is stored as a digest, and encrypted for its owner if the operator has set `encryption.key`.
//! - Only its owner sees the full token. Other users who may see the trigger see its first characters.

use holdfast_domain::Violations;
use holdfast_domain::ci::PipelineSource;
use holdfast_domain::ids::{ProjectId, TriggerId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::pipeline::Pipeline;
use holdfast_store::ci::trigger::{self, TriggerToken};
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::trigger::Trigger;

use super::creation::{self, PipelineInput};
use super::variable::{encrypt_request_variables, find_forbidden};
use crate::accounts::secret::digest;
use crate::accounts::user;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Error, Resource, Result, access};

/// Number of characters of a token that users other than its owner see, as in newer versions of the API.
const VISIBLE_TOKEN_CHARS: usize = 4;

/// A trigger, with the part of its token that the current user may see.
pub struct TriggerWithToken {
    pub trigger: Trigger,
    pub token: String,
}

/// Returns the trigger as this actor sees it. `token` is the full token, if the request contains it or has created it.
fn with_visible_token(app: &App, actor: &Actor, trigger: Trigger, token: Option<&str>) -> TriggerWithToken {
    let is_owner = actor.user_id() == Some(trigger.owner_id);
    let full_token = || token.map(str::to_owned).or_else(|| decrypt_token(app, &trigger));
    let token = is_owner.then(full_token).flatten().unwrap_or_else(|| trigger.token.start.clone());
    TriggerWithToken { trigger, token }
}

/// Returns the token if it is stored in clear, or was encrypted with the current key.
fn decrypt_token(app: &App, trigger: &Trigger) -> Option<String> {
    if let Some(clear) = &trigger.clear_token {
        return Some(clear.clone());
    }
    let associated_data = associated_data(trigger.project_id, &trigger.token.digest);
    String::from_utf8(app.cipher.open(&associated_data, trigger.token.encrypted.as_deref()?).ok()?).ok()
}

fn associated_data(project: ProjectId, digest: &[u8]) -> String {
    format!("trigger {project} {}", hex::encode(digest))
}

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<TriggerWithToken>> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    Ok(trigger::list(&app.database, project.id, page).await?.map(|it| with_visible_token(app, actor, it, None)))
}

/// The triggers of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectTriggers {
    pub project: Project,
    pub triggers: Page<Trigger>,
}

/// Like [`list`], but returns the project, and no tokens.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectTriggers> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    let triggers = trigger::list(&app.database, project.id, page).await?;
    Ok(ProjectTriggers { project, triggers })
}

/// A trigger with its project.
#[derive(Debug)]
pub struct ProjectTrigger {
    pub project: Project,
    pub trigger: Trigger,
    /// The full token, if the current user is the owner and it is not stored as a digest alone.
    pub token: Option<String>,
}

/// Returns a trigger with its project.
#[crate::boxed]
pub async fn show_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    id: TriggerId,
) -> Result<ProjectTrigger> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    let trigger = trigger::find(&mut connection, project.id, id).await?.ok_or(Error::NotFound(Resource::Trigger))?;
    let is_owner = actor.user_id() == Some(trigger.owner_id);
    let token = is_owner.then(|| decrypt_token(app, &trigger)).flatten();
    Ok(ProjectTrigger { project, trigger, token })
}

/// Finds a trigger of the project by its token, or else by its id. Returns the token if that is how it was found. The
/// id is for masters who may not see the token.
async fn find<'a>(
    connection: &mut Connection,
    project: &Project,
    token_or_id: &'a str,
) -> Result<(Trigger, Option<&'a str>)> {
    let by_token = trigger::find_by_token(connection, token_or_id, &digest(token_or_id)).await?;
    if let Some(found) = by_token.filter(|it| it.project_id == project.id) {
        return Ok((found, Some(token_or_id)));
    }
    let by_id = match token_or_id.parse::<i64>() {
        Ok(id) => trigger::find(connection, project.id, id.into()).await?,
        Err(_) => None,
    };
    Ok((by_id.ok_or(Error::NotFound(Resource::Trigger))?, None))
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<TriggerWithToken> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    let (found, token) = find(&mut connection, &project, name).await?;
    Ok(with_visible_token(app, actor, found, token))
}

#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    description: Option<&str>,
) -> Result<TriggerWithToken> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let owner = actor.current_user()?.account.id();
    let mut violations = Violations::default();
    violations.check_single_line("description", description.unwrap_or_default());
    violations.into_result()?;
    let token = app.entropy.hex::<15>();
    let stored = stored_form(app, project.id, &token);
    let now = app.clock.now();
    let id = trigger::insert(&mut transaction, project.id, owner, &stored, description, now).await?;
    let created = trigger::find(&mut transaction, project.id, id).await?.ok_or(Error::NotFound(Resource::Trigger))?;
    commit(transaction).await?;
    Ok(with_visible_token(app, actor, created, Some(&token)))
}

/// Changes the description of a trigger. None leaves it as it is.
#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    description: Option<&str>,
) -> Result<TriggerWithToken> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let (mut found, token) = find(&mut transaction, &project, name).await?;
    if let Some(description) = description {
        let mut violations = Violations::default();
        violations.check_single_line("description", description);
        violations.into_result()?;
        let now = app.clock.now();
        trigger::set_description(&mut transaction, found.id, description, now).await?;
        (found.description, found.updated_at) = (Some(description.to_owned()), now);
    }
    commit(transaction).await?;
    Ok(with_visible_token(app, actor, found, token))
}

/// Returns the stored form of a token of this project.
fn stored_form(app: &App, project: ProjectId, token: &str) -> TriggerToken {
    let digest = digest(token);
    // Without a key the owner sees the token once, when it is created.
    let encrypted = app.cipher.seal(&associated_data(project, &digest), token.as_bytes()).ok();
    TriggerToken { digest, start: token.chars().take(VISIBLE_TOKEN_CHARS).collect(), encrypted }
}

const BATCH_SIZE: i64 = 100;

/// Converts tokens that nodes of an older version stored in clear. Part of the daily cleanup.
pub(super) async fn convert_clear_tokens(app: &App) -> Result<()> {
    loop {
        let mut connection = app.database.connection().await?;
        let batch = trigger::next_clear_batch(&mut connection, BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(());
        }
        for row in batch {
            let stored = stored_form(app, row.project_id, &row.token);
            trigger::set_token(&mut connection, row.id, &stored).await?;
        }
    }
}

#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<TriggerWithToken> {
    let mut transaction = app.database.begin().await?;
    let project = access::authorize_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let (found, token) = find(&mut transaction, &project, name).await?;
    trigger::delete(&mut transaction, found.id).await?;
    commit(transaction).await?;
    Ok(with_visible_token(app, actor, found, token))
}

/// Starts a pipeline with a trigger token. The pipeline runs as the trigger's owner, who must still have permission.
#[crate::boxed]
pub async fn fire(
    app: &App,
    project: &ProjectRef,
    token: &str,
    ref_name: &str,
    variables: &[(String, String)],
) -> Result<Pipeline> {
    let mut connection = app.database.connection().await?;
    let not_found = || Error::NotFound(Resource::Record);
    let trigger = trigger::find_by_token(&mut connection, token, &digest(token)).await?.ok_or_else(not_found)?;
    drop(connection);
    let owner = user::actor_for_user(app, trigger.owner_id).await?.ok_or_else(not_found)?;
    let repository = match open_repository(app, &owner, project, ProjectAction::ManageBuilds).await {
        Ok(opened) => opened,
        // The holder of a token must not learn whether other projects exist.
        Err(Error::NotFound(_) | Error::Forbidden(None)) => return Err(not_found()),
        Err(error) => return Err(error),
    };
    if repository.project.id != trigger.project_id {
        return Err(Error::Unauthenticated);
    }
    if let Some(reason) = find_forbidden(variables, "A trigger") {
        return Err(Error::Rejected(reason));
    }
    let input = PipelineInput {
        source: PipelineSource::Trigger,
        trigger_id: Some(trigger.id),
        encrypted_variables: encrypt_request_variables(app, trigger.project_id, variables)?,
    };
    let created = match creation::create_for_ref_name(app, &repository, ref_name, trigger.owner_id, input).await {
        Err(Error::Invalid(_)) => Err(Error::Rejected("No builds created".into())),
        made => made,
    };
    let created = created?;
    trigger::record_use(&mut *app.database.connection().await?, trigger.id, app.clock.now()).await?;
    Ok(created)
}
