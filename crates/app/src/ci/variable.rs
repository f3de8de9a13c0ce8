//! CI variables of a project. They are stored encrypted, passed to its builds, and shown only to users who may manage
//! CI.

use holdfast_domain::Violations;
use holdfast_domain::ci::variable::is_reserved;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::violations::{BLANK, INVALID, TAKEN};
use holdfast_store::ci::job::JobDetails;
use holdfast_store::ci::variable::{self, EncryptedVariable};
use holdfast_store::{Connection, commit};

use super::predefined;
use crate::error::OnConstraint;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

#[derive(Clone, Debug)]
pub struct Variable {
    pub key: String,
    pub value: String,
}

impl Variable {
    /// Returns whether runners mask the value in traces.
    pub fn is_masked(&self) -> bool {
        predefined::is_masked(&self.value)
    }
}

/// Maximum number of variables of a project. All of them are sent with each build.
const MAX_VARIABLES: i64 = 256;
const MAX_VALUE_LENGTH: usize = 32 << 10;

fn associated_data(project: ProjectId, key: &str) -> String {
    format!("variable {project} {key}")
}

fn decrypt(app: &App, project: ProjectId, stored: EncryptedVariable) -> Result<Variable> {
    let value = app.cipher.open(&associated_data(project, &stored.key), &stored.value)?;
    Ok(Variable { key: stored.key, value: String::from_utf8_lossy(&value).into_owned() })
}

fn encrypt(app: &App, project: ProjectId, key: &str, value: &str) -> Result<EncryptedVariable> {
    let mut violations = Violations::default();
    violations.check_length("value", value, MAX_VALUE_LENGTH);
    if value.contains('\0') {
        violations.add("value", INVALID);
    }
    violations.into_result()?;
    Ok(EncryptedVariable {
        key: key.to_owned(),
        value: app.cipher.seal(&associated_data(project, key), value.as_bytes())?,
    })
}

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Variable>> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    let found = variable::list(&app.database, project.id, page).await?;
    found.try_map(|it| decrypt(app, project.id, it))
}

/// A variable in a list, without its value.
#[derive(Clone, Debug)]
pub struct ListedVariable {
    pub key: String,
    /// Whether runners mask the value in traces. None if this node cannot decrypt the value.
    pub is_masked: Option<bool>,
}

/// The variables of a project, with what their page shows.
#[derive(Debug)]
pub struct ProjectVariables {
    pub project: Project,
    pub variables: Page<ListedVariable>,
    /// Whether this node has a key to encrypt variables with.
    pub can_encrypt: bool,
}

/// Like [`list`], but returns the project, and no values.
#[crate::boxed]
pub async fn list_with_project(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    page: PageRequest,
) -> Result<ProjectVariables> {
    let project = access::read_project(app, actor, project, ProjectAction::ManageCi).await?;
    let found = variable::list(&app.database, project.id, page).await?;
    let variables = found.map(|stored| {
        let key = stored.key.clone();
        let is_masked = decrypt(app, project.id, stored).ok().map(|variable| variable.is_masked());
        ListedVariable { key, is_masked }
    });
    Ok(ProjectVariables { project, variables, can_encrypt: app.cipher.has_key() })
}

/// A variable with its project.
#[derive(Debug)]
pub struct ProjectVariable {
    pub project: Project,
    pub key: String,
    /// None if this node cannot decrypt the value.
    pub value: Option<String>,
    /// Whether this node has a key to encrypt variables with.
    pub can_encrypt: bool,
}

/// Like [`show`], but returns the project, and also a variable whose value cannot be decrypted.
#[crate::boxed]
pub async fn show_with_project(app: &App, actor: &Actor, project: &ProjectRef, key: &str) -> Result<ProjectVariable> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    let found = variable::find(&mut connection, project.id, key).await?.ok_or(Error::NotFound(Resource::Variable))?;
    let key = found.key.clone();
    let value = decrypt(app, project.id, found).ok().map(|variable| variable.value);
    Ok(ProjectVariable { project, key, value, can_encrypt: app.cipher.has_key() })
}

/// Returns whether this node has the key that variables were encrypted with. Checks one variable; returns `None` if there
/// is none.
#[crate::boxed]
pub async fn can_decrypt_stored(app: &App, actor: &Actor) -> Result<Option<bool>> {
    access::authorize_instance(actor, InstanceAction::OperateInstance)?;
    let sample = variable::find_any(&mut *app.database.connection().await?).await?;
    Ok(sample.map(|(project, it)| decrypt(app, project, it).is_ok()))
}

async fn find(app: &App, connection: &mut Connection, project: ProjectId, key: &str) -> Result<Variable> {
    let found = variable::find(connection, project, key).await?.ok_or(Error::NotFound(Resource::Variable))?;
    decrypt(app, project, found)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, key: &str) -> Result<Variable> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ManageCi).await?;
    find(app, &mut connection, project.id, key).await
}

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, key: &str, value: &str) -> Result<Variable> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let mut violations = Violations::default();
    if key.is_empty() {
        violations.add("key", BLANK);
    }
    violations.check_length("key", key, 255);
    if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        violations.add("key", "can contain only letters, digits and '_'.");
    }
    violations.into_result()?;
    if variable::count(&mut transaction, project.id, MAX_VARIABLES).await? >= MAX_VARIABLES {
        return Err(Error::Rejected(format!("A project can have at most {MAX_VARIABLES} variables")));
    }
    let new = encrypt(app, project.id, key, value)?;
    let inserted = variable::insert(&mut transaction, project.id, &new, app.clock.now()).await;
    inserted.on_constraint("project_variables_pkey", || Violations::single("key", TAKEN).into())?;
    commit(transaction).await?;
    Ok(Variable { key: key.to_owned(), value: value.to_owned() })
}

#[crate::boxed]
pub async fn update(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    key: &str,
    value: Option<&str>,
) -> Result<Variable> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    // A variable that was encrypted with another key cannot be read, but it can be overwritten.
    variable::find(&mut transaction, project.id, key).await?.ok_or(Error::NotFound(Resource::Variable))?;
    if let Some(value) = value {
        let new = encrypt(app, project.id, key, value)?;
        variable::update(&mut transaction, project.id, &new, app.clock.now()).await?;
    }
    let saved = find(app, &mut transaction, project.id, key).await?;
    commit(transaction).await?;
    Ok(saved)
}

#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, key: &str) -> Result<Variable> {
    let mut transaction = app.database.begin().await?;
    let project = access::lock_project(app, &mut transaction, actor, project, ProjectAction::ManageCi).await?;
    let found = variable::find(&mut transaction, project.id, key).await?.ok_or(Error::NotFound(Resource::Variable))?;
    variable::delete(&mut transaction, project.id, key).await?;
    commit(transaction).await?;
    // A variable that cannot be decrypted is deleted as well.
    Ok(decrypt(app, project.id, found).unwrap_or(Variable { key: key.to_owned(), value: String::new() }))
}

/// Maximum number of variables in one request that creates a pipeline.
const MAX_REQUEST_VARIABLES: usize = 100;

/// Returns the reason why a request to create a pipeline must not set these variables, if there is one: some names
/// would let the sender change what the scripts of the project do. `subject` is the beginning of the text, such as
/// `A trigger`.
pub(super) fn find_forbidden(variables: &[(String, String)], subject: &str) -> Option<String> {
    if variables.len() > MAX_REQUEST_VARIABLES {
        return Some(format!("There are more than {MAX_REQUEST_VARIABLES} variables"));
    }
    let reserved = variables.iter().find(|(name, _)| is_reserved(name));
    reserved.map(|(name, _)| format!("{subject} cannot set the variable {name}"))
}

/// The context that the variables of a request are encrypted for. Its text names triggers, because they were the first
/// requests with variables.
const REQUEST_CONTEXT: &str = "variables of a trigger";

/// Encrypts the variables of a request to create a pipeline, which are stored with the pipeline. Returns `None` if
/// there are none.
pub(super) fn encrypt_request_variables(
    app: &App,
    project: ProjectId,
    variables: &[(String, String)],
) -> Result<Option<Vec<u8>>> {
    if variables.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_vec(variables).map_err(|error| Error::Internal(error.into()))?;
    Ok(Some(app.cipher.seal(&associated_data(project, REQUEST_CONTEXT), &text)?))
}

/// Decrypts the variables of the request that created a pipeline.
pub(super) fn decrypt_request_variables(
    app: &App,
    project: ProjectId,
    encrypted: &[u8],
) -> Result<Vec<(String, String)>> {
    let text = app.cipher.open(&associated_data(project, REQUEST_CONTEXT), encrypted)?;
    serde_json::from_slice(&text).map_err(|error| Error::Internal(error.into()))
}

/// Decrypts the variables of a build: those of the project, followed by those of the request that created its
/// pipeline.
pub(super) fn decrypt_all(app: &App, details: &JobDetails) -> Result<Vec<(String, String)>> {
    let damaged = |error: Error| Error::Internal(error.to_string().into());
    let pairs = details.variable_keys.iter().zip(&details.variable_values);
    let decrypt_pair = |(key, value): (&String, &Vec<u8>)| {
        let stored = EncryptedVariable { key: key.clone(), value: value.clone() };
        decrypt(app, details.project_id, stored).map(|it| (it.key, it.value)).map_err(damaged)
    };
    let mut variables: Vec<(String, String)> = pairs.map(decrypt_pair).collect::<Result<_>>()?;
    if let Some(encrypted) = &details.request_variables {
        variables.extend(decrypt_request_variables(app, details.project_id, encrypted).map_err(damaged)?);
    }
    Ok(variables)
}
