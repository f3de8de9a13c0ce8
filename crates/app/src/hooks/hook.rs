//! Hooks of a project and of the instance.

use holdfast_domain::hooks::Kind;
use holdfast_domain::ids::HookId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, ProjectAction};
use holdfast_domain::{Field, Violations};
use holdfast_store::hooks::hook::{self, Owner, Switches};
use holdfast_store::hooks::{delivery, queue};
use holdfast_store::{Connection, commit};
use serde::Serialize;
use serde_json::json;
use url::Url;

pub use holdfast_store::hooks::hook::Hook;

use super::request::is_key;
use super::{address, token};
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

/// Whose hooks are meant.
#[derive(Clone, Debug)]
pub enum Whose {
    Project(ProjectRef),
    Instance,
}

impl Whose {
    pub(super) async fn owner(&self, app: &App, connection: &mut Connection, actor: &Actor) -> Result<Owner> {
        match self {
            Self::Project(project) => {
                let project = access::project(app, connection, actor, project, ProjectAction::ManageHooks).await?;
                Ok(Owner::Project(project.id))
            }
            Self::Instance => {
                access::instance(actor, InstanceAction::ManageHooks)?;
                Ok(Owner::Instance)
            }
        }
    }
}

pub async fn list(app: &App, actor: &Actor, whose: &Whose, page: PageRequest) -> Result<Page<Hook>> {
    let mut connection = app.database.connection().await?;
    let owner = whose.owner(app, &mut connection, actor).await?;
    drop(connection);
    Ok(hook::list(&app.database, owner, page).await?)
}

pub async fn show(app: &App, actor: &Actor, whose: &Whose, id: HookId) -> Result<Hook> {
    let mut connection = app.database.connection().await?;
    let owner = whose.owner(app, &mut connection, actor).await?;
    hook::find(&mut connection, owner, id).await?.ok_or(Error::NotFound(Thing::Record))
}

/// What a creation gives or an update changes.
#[derive(Clone, Default)]
pub struct HookChanges {
    pub url: String,
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

/// Of a hook for which nothing was said.
const DEFAULT_SWITCHES: Switches = Switches {
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
    /// The address without the blanks around it.
    fn check(&self, owner: Owner) -> Result<&str> {
        let url = self.url.trim();
        let is_address = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        match owner {
            Owner::Project(_) if !is_address => return Err(Error::InvalidHookUrl),
            Owner::Instance if !is_address => return Err(Violations::of("url", "must be a valid URL").into()),
            _ => {}
        }
        let mut violations = Violations::default();
        violations.check_length("url", url, 2000);
        if let Field::Value(token) = &self.token {
            violations.check_line("token", token);
            if !is_key(token) {
                violations.add("token", "is no key: after whsec_ it has to be base64");
            }
        }
        violations.into_result()?;
        Ok(url)
    }

    /// Null and an empty text both mean none.
    fn token(&self) -> Option<Option<&str>> {
        match &self.token {
            Field::Absent => None,
            Field::Null => Some(None),
            Field::Value(token) => Some(Some(token.as_str()).filter(|token| !token.is_empty())),
        }
    }

    fn switches(&self, now: Switches) -> Switches {
        Switches {
            push_events: self.push_events.unwrap_or(now.push_events),
            tag_push_events: self.tag_push_events.unwrap_or(now.tag_push_events),
            issues_events: self.issues_events.unwrap_or(now.issues_events),
            merge_requests_events: self.merge_requests_events.unwrap_or(now.merge_requests_events),
            note_events: self.note_events.unwrap_or(now.note_events),
            build_events: self.build_events.unwrap_or(now.build_events),
            pipeline_events: self.pipeline_events.unwrap_or(now.pipeline_events),
            wiki_page_events: self.wiki_page_events.unwrap_or(now.wiki_page_events),
            enable_ssl_verification: self.enable_ssl_verification.unwrap_or(now.enable_ssl_verification),
        }
    }
}

/// Of one project, and of the instance: all of them are told in one transaction.
const MOST_HOOKS: i64 = 10_000;

pub async fn create(app: &App, actor: &Actor, whose: &Whose, changes: HookChanges) -> Result<Hook> {
    let mut transaction = app.database.begin().await?;
    let owner = whose.owner(app, &mut transaction, actor).await?;
    let url = changes.check(owner)?;
    if hook::count(&mut transaction, owner, MOST_HOOKS).await? == MOST_HOOKS {
        return Err(Error::Refused(format!("There are {MOST_HOOKS} hooks already, and there cannot be more")));
    }
    let switches = changes.switches(DEFAULT_SWITCHES);
    let hook = hook::insert(&mut transaction, owner, url, switches, app.clock.now()).await?;
    if let Some(token) = changes.token().flatten() {
        token::store(app, &mut transaction, hook.id, Some(token)).await?;
    }
    commit(transaction).await?;
    Ok(hook)
}

/// Changes a hook. A token, and a name and a password in the address, stay with the address that they were given for: with
/// another address they are dropped unless they are given again, or every master could have them sent to themselves.
///
/// A hook that failed has what it missed sent at once: whoever changes it has most likely mended it. One that is being told
/// something hears the rest in its new form.
pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, id: HookId, changes: HookChanges) -> Result<Hook> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageHooks).await?;
    let owner = Owner::Project(project.id);
    let before = hook::find(&mut transaction, owner, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    let given = changes.check(owner)?;
    let is_same_address = address::is_same(&before.url, given);
    let keeps_credentials = is_same_address && !address::has_credentials(given);
    let url = if keeps_credentials && address::has_credentials(&before.url) { &before.url } else { given };
    let now = app.clock.now();
    hook::update(&mut transaction, owner, id, url, changes.switches(before.switches), now).await?;
    match changes.token() {
        Some(token) => token::store(app, &mut transaction, id, token).await?,
        None if !is_same_address => token::store(app, &mut transaction, id, None).await?,
        None => {}
    }
    queue::hurry(&mut transaction, id, None, now).await?;
    let saved = hook::find(&mut transaction, owner, id).await?;
    commit(transaction).await?;
    saved.ok_or(Error::NotFound(Thing::Record))
}

/// None if there was none.
pub async fn delete(app: &App, actor: &Actor, whose: &Whose, id: HookId) -> Result<Option<Hook>> {
    let mut connection = app.database.connection().await?;
    let owner = whose.owner(app, &mut connection, actor).await?;
    Ok(hook::delete(&mut connection, owner, id).await?)
}

/// What is delivered to try a hook, as existing receivers know it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Example {
    pub event_name: &'static str,
    pub name: &'static str,
    pub path: &'static str,
    pub project_id: i64,
    pub owner_name: &'static str,
    pub owner_email: &'static str,
}

const EXAMPLE: Example = Example {
    event_name: Kind::ProjectCreate.word(),
    name: "Ruby",
    path: "ruby",
    project_id: 1,
    owner_name: "Someone",
    owner_email: "example@gitlabhq.com",
};

/// Has the same example delivered as everything else is, and says what that is. What becomes of it stands among the
/// hook's deliveries: whoever waited for it here would learn about machines that only this one can reach.
pub async fn test(app: &App, actor: &Actor, id: HookId) -> Result<Example> {
    let mut transaction = app.database.begin().await?;
    let owner = Whose::Instance.owner(app, &mut transaction, actor).await?;
    hook::find(&mut transaction, owner, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    delivery::tell(&mut transaction, id, Kind::Test, &json!(EXAMPLE), app.clock.now()).await?;
    commit(transaction).await?;
    Ok(EXAMPLE)
}
