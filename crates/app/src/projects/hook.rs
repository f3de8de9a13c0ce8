//! A project's hooks: who is told of what happens in it.

use holdfast_domain::ids::HookId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::{Field, Violations};
use holdfast_store::projects::hook::{self, Switches};
use url::Url;

pub use holdfast_store::projects::hook::Hook;

use super::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Hook>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageHooks).await?;
    drop(connection);
    Ok(hook::list(&app.database, project.id, page).await?)
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: HookId) -> Result<Hook> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageHooks).await?;
    hook::find(&mut connection, project.id, id).await?.ok_or(Error::NotFound(Thing::Record))
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
    fn check(&self) -> Result<&str> {
        let url = self.url.trim();
        let is_address = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if !is_address {
            return Err(Error::InvalidHookUrl);
        }
        let mut violations = Violations::default();
        violations.check_length("url", url, 2000);
        if let Field::Value(token) = &self.token {
            violations.check_line("token", token);
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

pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, changes: HookChanges) -> Result<Hook> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageHooks).await?;
    let url = changes.check()?;
    let (token, switches) = (changes.token().flatten(), changes.switches(DEFAULT_SWITCHES));
    Ok(hook::insert(&mut connection, project.id, url, token, switches, app.clock.now()).await?)
}

pub async fn update(app: &App, actor: &Actor, project: &ProjectRef, id: HookId, changes: HookChanges) -> Result<Hook> {
    let mut transaction = app.database.begin().await?;
    let project = access::locked_project(app, &mut transaction, actor, project, ProjectAction::ManageHooks).await?;
    let before = hook::find(&mut transaction, project.id, id).await?.ok_or(Error::NotFound(Thing::Record))?;
    let url = changes.check()?;
    let (token, switches) = (changes.token(), changes.switches(before.switches));
    let saved = hook::update(&mut transaction, project.id, id, url, token, switches, app.clock.now()).await?;
    holdfast_store::commit(transaction).await?;
    saved.ok_or(Error::NotFound(Thing::Record))
}

/// None if there was none.
pub async fn delete(app: &App, actor: &Actor, project: &ProjectRef, id: HookId) -> Result<Option<Hook>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ManageHooks).await?;
    Ok(hook::delete(&mut connection, project.id, id).await?)
}
