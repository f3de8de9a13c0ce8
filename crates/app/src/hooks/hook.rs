//! Manages the hooks of projects and of the instance.

use holdfast_domain::hooks::EventKind;
use holdfast_domain::ids::HookId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::{Field, Violations};
use holdfast_store::hooks::hook::{self, HookOwner};
use holdfast_store::hooks::{delivery, queue};
use holdfast_store::{Connection, commit};
use serde::Serialize;
use serde_json::json;
use url::Url;

pub use holdfast_store::hooks::hook::{EventSubscriptions, Hook};

use super::request::is_valid_signing_secret;
use super::{address, token};
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// The project whose hooks are meant, or the instance.
#[derive(Clone, Debug)]
pub enum HookScope {
    Project(ProjectRef),
    Instance,
}

impl HookScope {
    pub(super) async fn authorize(&self, app: &App, connection: &mut Connection, actor: &Actor) -> Result<HookOwner> {
        Ok(self.authorize_with_project(app, connection, actor).await?.0)
    }

    /// Like [`authorize`](Self::authorize), but also returns the project, unless the hooks are those of the instance.
    pub(super) async fn authorize_with_project(
        &self,
        app: &App,
        connection: &mut Connection,
        actor: &Actor,
    ) -> Result<(HookOwner, Option<Project>)> {
        match self {
            Self::Project(project) => {
                let project =
                    access::authorize_project(app, connection, actor, project, ProjectAction::ManageHooks).await?;
                Ok((HookOwner::Project(project.id), Some(project)))
            }
            Self::Instance => {
                access::authorize_instance(actor, InstanceAction::ManageHooks)?;
                Ok((HookOwner::Instance, None))
            }
        }
    }

    /// Like [`authorize`](Self::authorize), but locks the project until the end of the transaction.
    async fn lock(&self, app: &App, connection: &mut Connection, actor: &Actor) -> Result<HookOwner> {
        match self {
            Self::Project(project) => {
                let project = access::lock_project(app, connection, actor, project, ProjectAction::ManageHooks).await?;
                Ok(HookOwner::Project(project.id))
            }
            Self::Instance => self.authorize(app, connection, actor).await,
        }
    }
}

#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, scope: &HookScope, page: PageRequest) -> Result<Page<Hook>> {
    let mut connection = app.database.connection().await?;
    let owner = scope.authorize(app, &mut connection, actor).await?;
    drop(connection);
    Ok(hook::list(&app.database, owner, page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, scope: &HookScope, id: HookId) -> Result<Hook> {
    let mut connection = app.database.connection().await?;
    let owner = scope.authorize(app, &mut connection, actor).await?;
    hook::find(&mut connection, owner, id).await?.ok_or(Error::NotFound(Resource::Record))
}

/// The attributes of a new hook, or the changes of an update.
#[derive(Clone, Default)]
pub struct HookChanges {
    /// Required for a new hook. An update without it keeps the URL.
    pub url: Option<String>,
    pub token: Field<String>,
    pub push_events: Option<bool>,
    pub tag_push_events: Option<bool>,
    pub issues_events: Option<bool>,
    pub merge_requests_events: Option<bool>,
    pub note_events: Option<bool>,
    pub build_events: Option<bool>,
    pub pipeline_events: Option<bool>,
    pub wiki_page_events: Option<bool>,
    pub enable_ssl_verification: Option<bool>,
}

/// The subscriptions of a new hook if the request names none.
pub const DEFAULT_SUBSCRIPTIONS: EventSubscriptions = EventSubscriptions {
    push_events: true,
    tag_push_events: false,
    issues_events: false,
    merge_requests_events: false,
    note_events: false,
    build_events: false,
    pipeline_events: false,
    wiki_page_events: false,
    enable_ssl_verification: true,
};

impl HookChanges {
    /// Validates the attributes and returns the URL, if there is one, without surrounding whitespace.
    fn check(&self, owner: HookOwner) -> Result<Option<&str>> {
        let url = self.url.as_deref().map(str::trim);
        let mut violations = Violations::default();
        if let Some(url) = url {
            if !Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
                return Err(invalid_url(owner));
            }
            violations.check_length("url", url, 2000);
        }
        if let Field::Value(token) = &self.token {
            violations.check_single_line("token", token);
            if !is_valid_signing_secret(token) {
                violations.add("token", "is not a signing key: whsec_ must be followed by base64");
            }
        }
        violations.into_result()?;
        Ok(url)
    }

    /// Returns the new token, or `None` if the token stays as it is. Null and an empty text both remove the token.
    fn token(&self) -> Option<Option<&str>> {
        match &self.token {
            Field::Absent => None,
            Field::Null => Some(None),
            Field::Value(token) => Some(Some(token.as_str()).filter(|token| !token.is_empty())),
        }
    }

    fn merge_subscriptions(&self, current: EventSubscriptions) -> EventSubscriptions {
        EventSubscriptions {
            push_events: self.push_events.unwrap_or(current.push_events),
            tag_push_events: self.tag_push_events.unwrap_or(current.tag_push_events),
            issues_events: self.issues_events.unwrap_or(current.issues_events),
            merge_requests_events: self.merge_requests_events.unwrap_or(current.merge_requests_events),
            note_events: self.note_events.unwrap_or(current.note_events),
            build_events: self.build_events.unwrap_or(current.build_events),
            pipeline_events: self.pipeline_events.unwrap_or(current.pipeline_events),
            wiki_page_events: self.wiki_page_events.unwrap_or(current.wiki_page_events),
            enable_ssl_verification: self.enable_ssl_verification.unwrap_or(current.enable_ssl_verification),
        }
    }
}

fn invalid_url(owner: HookOwner) -> Error {
    match owner {
        HookOwner::Project(_) => Error::InvalidHookUrl,
        HookOwner::Instance => Violations::single("url", "must be a valid URL").into(),
    }
}

/// Maximum number of hooks of one project, and of the instance. An event fans out to all of them in one transaction.
const MAX_HOOKS: i64 = 10_000;

#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, scope: &HookScope, changes: HookChanges) -> Result<Hook> {
    let mut transaction = app.database.begin().await?;
    let owner = scope.authorize(app, &mut transaction, actor).await?;
    let url = changes.check(owner)?.ok_or_else(|| invalid_url(owner))?;
    if hook::count(&mut transaction, owner, MAX_HOOKS).await? == MAX_HOOKS {
        return Err(Error::Rejected(format!("The maximum of {MAX_HOOKS} hooks has been reached")));
    }
    let subscriptions = changes.merge_subscriptions(DEFAULT_SUBSCRIPTIONS);
    let hook = hook::insert(&mut transaction, owner, url, subscriptions, app.clock.now()).await?;
    if let Some(token) = changes.token().flatten() {
        token::store(app, &mut transaction, hook.id, Some(token)).await?;
    }
    commit(transaction).await?;
    Ok(hook)
}

/// Updates a hook of a project. See [`update_in`].
#[crate::boxed]
pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, id: HookId, changes: HookChanges) -> Result<Hook> {
    update_in(app, actor, &HookScope::Project(project.clone()), id, changes).await
}

/// Updates a hook of a project. Attributes that the changes leave out keep their values.
///
/// The token and the credentials in the URL are kept only for the same endpoint. With another URL they are dropped
/// unless the request contains them; otherwise every master could have them sent to a server of their own.
///
/// Pending deliveries of a failing hook are sent at once, because the change has most likely fixed it. If a dispatcher
/// is serving the hook, its next batch uses the new attributes.
#[crate::boxed]
pub async fn update_in(app: &App, actor: &Actor, scope: &HookScope, id: HookId, changes: HookChanges) -> Result<Hook> {
    let mut transaction = app.database.begin().await?;
    let owner = scope.lock(app, &mut transaction, actor).await?;
    // What the request does not change is read under the lock, because another update may be changing it.
    hook::lock(&mut transaction, owner, id).await?;
    let before = hook::find(&mut transaction, owner, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    let new_url = changes.check(owner)?.unwrap_or(&before.url);
    let is_same_address = address::is_same_endpoint(&before.url, new_url);
    let keeps_credentials = is_same_address && !address::has_credentials(new_url);
    let url = if keeps_credentials && address::has_credentials(&before.url) { &before.url } else { new_url };
    let now = app.clock.now();
    hook::update(&mut transaction, owner, id, url, changes.merge_subscriptions(before.subscriptions), now).await?;
    match changes.token() {
        Some(token) => token::store(app, &mut transaction, id, token).await?,
        None if !is_same_address => token::store(app, &mut transaction, id, None).await?,
        None => {}
    }
    queue::retry_now(&mut transaction, id, None, now).await?;
    let saved = hook::find(&mut transaction, owner, id).await?;
    commit(transaction).await?;
    saved.ok_or(Error::NotFound(Resource::Record))
}

/// Deletes a hook and returns it, or `None` if there is no such hook.
#[crate::boxed]
pub async fn delete(app: &App, actor: &Actor, scope: &HookScope, id: HookId) -> Result<Option<Hook>> {
    let mut connection = app.database.connection().await?;
    let owner = scope.authorize(app, &mut connection, actor).await?;
    Ok(hook::delete(&mut connection, owner, id).await?)
}

/// The payload of a test delivery, as existing clients expect.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TestPayload {
    pub event_name: &'static str,
    pub name: &'static str,
    pub path: &'static str,
    pub project_id: i64,
    pub owner_name: &'static str,
    pub owner_email: &'static str,
}

const TEST_PAYLOAD: TestPayload = TestPayload {
    event_name: EventKind::ProjectCreate.as_str(),
    name: "Ruby",
    path: "ruby",
    project_id: 1,
    owner_name: "Someone",
    owner_email: "example@gitlabhq.com",
};

/// Enqueues a test delivery and returns its payload. The outcome is shown among the hook's deliveries only: a response
/// that depended on it would reveal something about hosts that only this server can reach.
#[crate::boxed]
pub async fn test(app: &App, actor: &Actor, id: HookId) -> Result<TestPayload> {
    let mut transaction = app.database.begin().await?;
    let owner = HookScope::Instance.authorize(app, &mut transaction, actor).await?;
    hook::find(&mut transaction, owner, id).await?.ok_or(Error::NotFound(Resource::Record))?;
    delivery::publish_to_hook(&mut transaction, id, EventKind::Test, &json!(TEST_PAYLOAD), app.clock.now()).await?;
    commit(transaction).await?;
    Ok(TEST_PAYLOAD)
}
