//! What a project gives to its builds, and shows to nobody but its masters.

use holdfast_domain::Violations;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::violations::{BLANK, INVALID, TAKEN};
use holdfast_store::ci::job::Job as Facts;
use holdfast_store::ci::variable::{self, Sealed};
use holdfast_store::{Connection, commit};

use crate::error::OnConstraint;
use crate::hooks::token;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

#[derive(Clone, Debug)]
pub struct Variable {
    pub key: String,
    pub value: String,
}

/// All of a build's are sent with it.
const MOST: i64 = 256;
const LONGEST_VALUE: usize = 32 << 10;

fn place(project: ProjectId, key: &str) -> String {
    format!("variable {project} {key}")
}

fn opened(app: &App, project: ProjectId, it: Sealed) -> Result<Variable> {
    let value = app.sealing.open(&place(project, &it.key), &it.value)?;
    Ok(Variable { key: it.key, value: String::from_utf8_lossy(&value).into_owned() })
}

fn sealed(app: &App, project: ProjectId, key: &str, value: &str) -> Result<Sealed> {
    let mut violations = Violations::default();
    violations.check_length("value", value, LONGEST_VALUE);
    if value.contains('\0') {
        violations.add("value", INVALID);
    }
    violations.into_result()?;
    Ok(Sealed { key: key.to_owned(), value: app.sealing.seal(&place(project, key), value.as_bytes())? })
}

pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Variable>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    drop(connection);
    let found = variable::list(&app.database, project.id, page).await?;
    let (request, total, has_next) = (found.request, found.total, found.has_next);
    let items = found.items.into_iter().map(|it| opened(app, project.id, it)).collect::<Result<_>>()?;
    Ok(Page { items, request, total, has_next })
}

/// Returns whether variables and tokens of hooks can be decrypted with the key of this node, as far as there are any.
pub async fn has_its_key(app: &App, actor: &Actor) -> Result<bool> {
    access::instance(actor, InstanceAction::ManageUsers)?;
    let any = variable::find_any(&mut *app.database.connection().await?).await?;
    Ok(any.is_none_or(|(project, it)| opened(app, project, it).is_ok()) && token::has_its_key(app).await?)
}

async fn find(app: &App, connection: &mut Connection, project: ProjectId, key: &str) -> Result<Variable> {
    let found = variable::find(connection, project, key).await?.ok_or(Error::NotFound(Thing::Variable))?;
    opened(app, project, found)
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, key: &str) -> Result<Variable> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    find(app, &mut connection, project.id, key).await
}

pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, key: &str, value: &str) -> Result<Variable> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let mut violations = Violations::default();
    if key.is_empty() {
        violations.add("key", BLANK);
    }
    violations.check_length("key", key, 255);
    if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        violations.add("key", "can contain only letters, digits and '_'.");
    }
    violations.into_result()?;
    if variable::count(&mut transaction, project.id, MOST).await? >= MOST {
        return Err(Error::Refused(format!("A project has at most {MOST} variables")));
    }
    let new = sealed(app, project.id, key, value)?;
    let made = variable::insert(&mut transaction, project.id, &new, app.clock.now()).await;
    made.on_constraint("project_variables_pkey", || Violations::of("key", TAKEN).into())?;
    commit(transaction).await?;
    Ok(Variable { key: key.to_owned(), value: value.to_owned() })
}

pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    key: &str,
    value: Option<&str>,
) -> Result<Variable> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    // One that was sealed with another key can still be set anew.
    variable::find(&mut transaction, project.id, key).await?.ok_or(Error::NotFound(Thing::Variable))?;
    if let Some(value) = value {
        let new = sealed(app, project.id, key, value)?;
        variable::update(&mut transaction, project.id, &new, app.clock.now()).await?;
    }
    let saved = find(app, &mut transaction, project.id, key).await?;
    commit(transaction).await?;
    Ok(saved)
}

pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, key: &str) -> Result<Variable> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = variable::find(&mut transaction, project.id, key).await?.ok_or(Error::NotFound(Thing::Variable))?;
    variable::delete(&mut transaction, project.id, key).await?;
    commit(transaction).await?;
    // It goes even if it cannot be read any more.
    Ok(opened(app, project.id, found).unwrap_or(Variable { key: key.to_owned(), value: String::new() }))
}

const GIVEN: &str = "variables of a trigger";

/// What a trigger gives to its pipeline.
pub(super) fn seal_given(app: &App, project: ProjectId, given: &[(String, String)]) -> Result<Option<Vec<u8>>> {
    if given.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_vec(given).map_err(|error| Error::Internal(error.into()))?;
    Ok(Some(app.sealing.seal(&place(project, GIVEN), &text)?))
}

/// The project's, and then what a trigger gave.
pub(super) fn open_all(app: &App, facts: &Facts) -> Result<Vec<(String, String)>> {
    let damaged = |error: Error| Error::Internal(error.to_string().into());
    let pairs = facts.variable_keys.iter().zip(&facts.variable_values);
    let open = |(key, value): (&String, &Vec<u8>)| {
        let it = Sealed { key: key.clone(), value: value.clone() };
        opened(app, facts.project_id, it).map(|it| (it.key, it.value)).map_err(damaged)
    };
    let mut all: Vec<(String, String)> = pairs.map(open).collect::<Result<_>>()?;
    if let Some(given) = &facts.given {
        let text = app.sealing.open(&place(facts.project_id, GIVEN), given).map_err(damaged)?;
        let given: Vec<(String, String)> =
            serde_json::from_slice(&text).map_err(|error| Error::Internal(error.into()))?;
        all.extend(given);
    }
    Ok(all)
}
