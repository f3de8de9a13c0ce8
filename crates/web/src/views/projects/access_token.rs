//! The access tokens of a project or a group.

use askama::Template;
use chrono::{DateTime, Days, Utc};
use holdfast_app::namespaces::group::Group;
use holdfast_app::projects::access_token::{AccessToken, ParentTokens};
use holdfast_app::projects::project::Project;
use holdfast_domain::accounts::Scope;
use holdfast_domain::{AccessLevel, Violations};

use super::frame::{ProjectTab, project_frame};
use super::settings_nav::SettingsNav;
use crate::abilities::{Abilities, GroupAbilities};
use crate::layout::Layout;
use crate::views::accounts::token::NewToken;
use crate::views::form::{self, FormError, FormField};
use crate::views::namespaces::frame::{GroupTab, group_frame};
use crate::views::{Pages, ProjectLinks, links};
use crate::words::Time;

#[derive(Template)]
#[template(path = "projects/access_tokens.html")]
pub struct AccessTokensPage {
    pub layout: Layout,
    /// The navigation of the settings of a project.
    pub nav: Option<SettingsNav>,
    /// `project` or `group`.
    pub parent: &'static str,
    /// The address that the form is sent to.
    pub action: String,
    pub tokens: Vec<AccessTokenRow>,
    pub pages: Pages,
    /// The token that was just created.
    pub new_token: Option<NewToken>,
    pub errors: Vec<FormError>,
    pub name: FormField,
    /// The error about the scopes. The boxes are in `choices`.
    pub scopes: FormField,
    pub choices: Vec<ScopeChoice>,
    pub access_level: FormField,
    pub levels: Vec<AccessLevel>,
    pub expires_at: FormField,
}

#[derive(Clone, Debug)]
pub struct AccessTokenRow {
    pub id: i64,
    pub name: String,
    pub scopes: Vec<&'static str>,
    /// None if the bot is no member any more.
    pub level: Option<&'static str>,
    pub last_used: Option<Time>,
    pub expires: Option<Time>,
    pub is_revoked: bool,
    pub is_active: bool,
    /// The date at which a new token expires that is valid for as long as this one.
    pub next_expiry: String,
}

/// Maximum number of days that an access token is valid, as in `app`.
const MAX_LIFETIME_DAYS: i64 = 365;

impl AccessTokenRow {
    fn new(token: &AccessToken, now: DateTime<Utc>) -> Self {
        let level = token.access_level.and_then(|level| AccessLevel::try_from(level).ok());
        let token = &token.token;
        let first_day = token.created_at.date_naive();
        let lifetime = token.expires_at.map_or(MAX_LIFETIME_DAYS, |end| (end.date_naive() - first_day).num_days());
        let days = Days::new(lifetime.clamp(1, MAX_LIFETIME_DAYS).unsigned_abs());
        Self {
            id: token.id.get(),
            name: token.name.clone(),
            scopes: token.scopes.to_strings(),
            level: level.map(AccessLevel::as_str),
            last_used: token.last_used_at.map(|at| Time::ago(at, now)),
            expires: token.expires_at.map(Time::date),
            is_revoked: token.revoked_at.is_some(),
            is_active: token.is_active(now),
            next_expiry: (now.date_naive() + days).to_string(),
        }
    }
}

/// A box of the form.
#[derive(Clone, Debug)]
pub struct ScopeChoice {
    pub word: &'static str,
    pub meaning: &'static str,
    pub is_checked: bool,
}

/// The scopes of access tokens, with their meanings.
const SCOPES: [(Scope, &str); 5] = [
    (Scope::Api, "everything that its level allows, through the API and with git over HTTP"),
    (Scope::ReadApi, "read everything that its level allows to read, through the API and with git over HTTP"),
    (Scope::ReadUser, "read accounts of users, and nothing else"),
    (Scope::ReadRepository, "fetch with git over HTTP, and read files through the API"),
    (Scope::WriteRepository, "fetch and push with git over HTTP, and nothing else"),
];

/// The values of the form.
#[derive(Clone, Debug, Default)]
pub struct AccessTokenValues {
    pub name: String,
    pub scopes: Vec<String>,
    /// The number of the access level.
    pub access_level: Option<String>,
    /// The first day on which the token is no longer valid, as it was entered.
    pub expires_at: String,
}

/// The frame of the page, which differs between projects and groups.
struct Frame {
    layout: Layout,
    nav: Option<SettingsNav>,
    parent: &'static str,
    action: String,
}

/// Builds the page of the tokens of a project.
pub fn project_tokens_page(
    layout: Layout,
    project: &Project,
    abilities: Abilities,
    found: &ParentTokens,
    values: AccessTokenValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> AccessTokensPage {
    let mut layout = project_frame(layout, project, abilities, ProjectTab::Settings);
    layout.title = format!("Access tokens · {}", project.full_path());
    let action = ProjectLinks::new(&project.full_path()).settings_page("access_tokens");
    let nav = Some(SettingsNav::new(project, abilities));
    tokens_page(Frame { layout, nav, parent: "project", action }, found, values, violations, now)
}

/// Builds the page of the tokens of a group.
pub fn group_tokens_page(
    layout: Layout,
    group: &Group,
    abilities: GroupAbilities,
    found: &ParentTokens,
    values: AccessTokenValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> AccessTokensPage {
    let mut layout = group_frame(layout, group, abilities, GroupTab::AccessTokens);
    layout.title = format!("Access tokens · {}", group.name);
    let action = links::group_page(&group.path, "access_tokens");
    tokens_page(Frame { layout, nav: None, parent: "group", action }, found, values, violations, now)
}

fn tokens_page(
    frame: Frame,
    found: &ParentTokens,
    values: AccessTokenValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> AccessTokensPage {
    let Frame { layout, nav, parent, action } = frame;
    let field = |name, label, value| FormField::new(name, label, value).with_violations(violations);
    let choice = |(scope, meaning): (Scope, &'static str)| {
        let is_checked = values.scopes.iter().any(|word| word == scope.as_str());
        ScopeChoice { word: scope.as_str(), meaning, is_checked }
    };
    let choices = SCOPES.into_iter().map(choice).collect();
    let name = field("name", "Name", values.name);
    let scopes = field("scopes", "Scopes", String::new());
    let default_level = AccessLevel::Developer.min(found.max_level).as_i16().to_string();
    let access_level = field("access_level", "Level", values.access_level.unwrap_or(default_level));
    let expires_at = field("expires_at", "Expires on", values.expires_at);
    AccessTokensPage {
        layout,
        nav,
        parent,
        tokens: found.tokens.items.iter().map(|token| AccessTokenRow::new(token, now)).collect(),
        pages: Pages::new(&found.tokens, &action, &[]),
        action,
        new_token: None,
        errors: form::errors([&name, &scopes, &access_level, &expires_at]),
        name,
        scopes,
        choices,
        access_level,
        levels: AccessLevel::ALL.into_iter().filter(|level| *level <= found.max_level).collect(),
        expires_at,
    }
}

impl AccessTokensPage {
    /// Returns the page with the secret of a token.
    pub fn with_new_token(mut self, new_token: NewToken) -> Self {
        self.new_token = Some(new_token);
        self
    }
}
