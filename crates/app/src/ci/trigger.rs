//! Starting pipelines from elsewhere: whoever knows the token of a trigger starts pipelines that run as its owner.
//!
//! - A token is stored as a digest, and encrypted for its owner where the operator has set `secrets.key`.
//! - It is shown in full to its owner alone. Everybody else who may see the trigger sees its first characters.

use holdfast_domain::Violations;
use holdfast_domain::ci::variable::is_reserved;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::pipeline::Pipeline;
use holdfast_store::ci::trigger::{self, TriggerToken};
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::trigger::Trigger;

use super::creation::{self, Given};
use super::variable::seal_given;
use crate::accounts::secret::digest;
use crate::accounts::user;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::fetch;
use crate::{Actor, App, Error, Result, Thing, access};

/// How many characters of a token everybody sees who may see the trigger, as in newer versions of the API.
const START_CHARACTERS: usize = 4;

/// A trigger, with as much of its token as the caller may see.
pub struct ShownTrigger {
    pub trigger: Trigger,
    pub token: String,
}

/// Returns the trigger as this actor sees it. `token` is the whole token, where the request brought it or made it.
fn shown(app: &App, actor: &Actor, trigger: Trigger, token: Option<&str>) -> ShownTrigger {
    let is_owner = actor.user_id() == Some(trigger.owner_id);
    let whole = || token.map(str::to_owned).or_else(|| opened(app, &trigger));
    let token = is_owner.then(whole).flatten().unwrap_or_else(|| trigger.token.start.clone());
    ShownTrigger { trigger, token }
}

/// Returns the token, if it is stored in clear, or was encrypted and the key is still the same.
fn opened(app: &App, trigger: &Trigger) -> Option<String> {
    if let Some(clear) = &trigger.clear_token {
        return Some(clear.clone());
    }
    let place = place(trigger.project_id, &trigger.token.digest);
    String::from_utf8(app.sealing.open(&place, trigger.token.encrypted.as_deref()?).ok()?).ok()
}

fn place(project: ProjectId, digest: &[u8]) -> String {
    format!("trigger {project} {}", hex::encode(digest))
}

pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<ShownTrigger>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    drop(connection);
    Ok(trigger::list(&app.database, project.id, page).await?.map(|it| shown(app, actor, it, None)))
}

/// Finds a trigger of the project by its token, or else by its id. Returns the token if that is how it was found. The id
/// is for masters who may not see the token.
async fn find<'a>(connection: &mut Connection, project: &Project, name: &'a str) -> Result<(Trigger, Option<&'a str>)> {
    let by_token = trigger::find_by_token(connection, name, &digest(name)).await?;
    if let Some(found) = by_token.filter(|it| it.project_id == project.id) {
        return Ok((found, Some(name)));
    }
    let by_id = match name.parse::<i64>() {
        Ok(id) => trigger::find(connection, project.id, id.into()).await?,
        Err(_) => None,
    };
    Ok((by_id.ok_or(Error::NotFound(Thing::Trigger))?, None))
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<ShownTrigger> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    let (found, token) = find(&mut connection, &project, name).await?;
    Ok(shown(app, actor, found, token))
}

pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, description: Option<&str>) -> Result<ShownTrigger> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let owner = actor.caller()?.account.id();
    let mut violations = Violations::default();
    violations.check_line("description", description.unwrap_or_default());
    violations.into_result()?;
    let token = app.entropy.hex::<15>();
    let stored = stored_form(app, project.id, &token);
    let now = app.clock.now();
    let id = trigger::insert(&mut transaction, project.id, owner, &stored, description, now).await?;
    let created = trigger::find(&mut transaction, project.id, id).await?.ok_or(Error::NotFound(Thing::Trigger))?;
    commit(transaction).await?;
    Ok(shown(app, actor, created, Some(&token)))
}

/// Returns a token of a trigger of this project as it is stored.
fn stored_form(app: &App, project: ProjectId, token: &str) -> TriggerToken {
    let digest = digest(token);
    // Without a key the owner sees the token once, when it is created.
    let encrypted = app.sealing.seal(&place(project, &digest), token.as_bytes()).ok();
    TriggerToken { digest, start: token.chars().take(START_CHARACTERS).collect(), encrypted }
}

const BATCH_SIZE: i64 = 100;

/// Replaces tokens that nodes of an older version stored as they are. Part of the nightly job.
pub(super) async fn convert_clear_tokens(app: &App) -> Result<()> {
    loop {
        let mut connection = app.database.connection().await?;
        let batch = trigger::next_clear_batch(&mut connection, BATCH_SIZE).await?;
        if batch.is_empty() {
            return Ok(());
        }
        for it in batch {
            let stored = stored_form(app, it.project_id, &it.token);
            trigger::set_token(&mut connection, it.id, &stored).await?;
        }
    }
}

pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<ShownTrigger> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let (found, token) = find(&mut transaction, &project, name).await?;
    trigger::delete(&mut transaction, found.id).await?;
    commit(transaction).await?;
    Ok(shown(app, actor, found, token))
}

/// Maximum number of variables in one trigger request.
const MAX_VARIABLES: usize = 100;

/// Starts a pipeline with a trigger token. The pipeline runs as the trigger's owner, who must still have permission.
pub async fn fire(
    app: &App,
    project: &ProjectRef,
    token: &str,
    ref_name: &str,
    variables: &[(String, String)],
) -> Result<Pipeline> {
    let mut connection = app.database.connection().await?;
    let missing = || Error::NotFound(Thing::Record);
    let trigger = trigger::find_by_token(&mut connection, token, &digest(token)).await?.ok_or_else(missing)?;
    drop(connection);
    let acting = user::acting(app, trigger.owner_id).await?.ok_or_else(missing)?;
    let opened = match fetch::open(app, &acting, project, ProjectAction::ManageBuilds).await {
        Ok(opened) => opened,
        // A trigger says nothing about other projects than its own.
        Err(Error::NotFound(_) | Error::Forbidden(None)) => return Err(missing()),
        Err(error) => return Err(error),
    };
    if opened.project.id != trigger.project_id {
        return Err(Error::Unauthenticated);
    }
    check_variables(variables)?;
    let given = Given { trigger: trigger.id, variables: seal_given(app, trigger.project_id, variables)? };
    let made = match creation::by_name(app, &opened, ref_name, trigger.owner_id, Some(given)).await {
        Err(Error::Invalid(_)) => Err(Error::Refused("No builds created".into())),
        made => made,
    };
    let made = made?;
    trigger::touch(&mut *app.database.connection().await?, trigger.id, app.clock.now()).await?;
    Ok(made)
}

/// Refuses variables with which the holder of a token would change what the scripts of the project do.
fn check_variables(variables: &[(String, String)]) -> Result<()> {
    if variables.len() > MAX_VARIABLES {
        return Err(Error::Refused(format!("There are more than {MAX_VARIABLES} variables")));
    }
    match variables.iter().find(|(name, _)| is_reserved(name)) {
        Some((name, _)) => Err(Error::Refused(format!("A trigger cannot set the variable {name}"))),
        None => Ok(()),
    }
}
