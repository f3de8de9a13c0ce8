//! The own personal access tokens.

use askama::Template;
use chrono::{DateTime, Utc};
use holdfast_app::accounts::token::Token;
use holdfast_domain::Violations;
use holdfast_domain::accounts::Scope;
use holdfast_domain::page::Page;

use crate::layout::Layout;
use crate::views::Pages;
use crate::views::form::{self, FormError, FormField};
use crate::words::Time;

#[derive(Template)]
#[template(path = "accounts/tokens.html")]
pub struct TokensPage {
    pub layout: Layout,
    pub tokens: Vec<TokenRow>,
    pub pages: Pages,
    /// The token that was just created.
    pub new_token: Option<NewToken>,
    pub errors: Vec<FormError>,
    pub name: FormField,
    /// The error about the scopes. The boxes are in `choices`.
    pub scopes: FormField,
    pub choices: Vec<ScopeChoice>,
    pub expires_at: FormField,
}

/// A new token with its secret, which is shown once.
#[derive(Clone, Debug)]
pub struct NewToken {
    pub name: String,
    pub secret: String,
}

#[derive(Clone, Debug)]
pub struct TokenRow {
    pub id: i64,
    pub name: String,
    pub scopes: Vec<&'static str>,
    pub created: Time,
    pub last_used: Option<Time>,
    pub expires: Option<Time>,
    pub is_revoked: bool,
    pub is_active: bool,
}

impl TokenRow {
    fn new(token: &Token, now: DateTime<Utc>) -> Self {
        Self {
            id: token.id.get(),
            name: token.name.clone(),
            scopes: token.scopes.to_strings(),
            created: Time::ago(token.created_at, now),
            last_used: token.last_used_at.map(|at| Time::ago(at, now)),
            expires: token.expires_at.map(Time::date),
            is_revoked: token.revoked_at.is_some(),
            is_active: token.is_active(now),
        }
    }
}

/// A box of the form.
#[derive(Clone, Debug)]
pub struct ScopeChoice {
    scope: Scope,
    pub is_checked: bool,
}

impl ScopeChoice {
    pub const fn word(&self) -> &'static str {
        self.scope.as_str()
    }

    pub const fn meaning(&self) -> &'static str {
        match self.scope {
            Scope::Api => "everything that you may do, through the API and with git over HTTP",
            Scope::ReadApi => "read everything that you may read, through the API and with git over HTTP",
            Scope::ReadUser => "read your own account and those of other users, and nothing else",
            Scope::ReadRepository => "fetch with git over HTTP, and read files through the API",
            Scope::WriteRepository => "fetch and push with git over HTTP, and nothing else",
            Scope::Sudo => "act as other users, if you are an administrator",
        }
    }
}

/// The values of the form.
#[derive(Clone, Debug, Default)]
pub struct TokenValues {
    pub name: String,
    pub scopes: Vec<String>,
    /// The first day on which the token is no longer valid, as it was entered.
    pub expires_at: String,
}

/// Builds the list with its form, with the scopes that are useful for all users.
pub fn tokens_page(
    mut layout: Layout,
    tokens: &Page<Token>,
    values: TokenValues,
    violations: &Violations,
    now: DateTime<Utc>,
) -> TokensPage {
    "Access tokens".clone_into(&mut layout.title);
    let choice = |scope: Scope| {
        let is_checked = values.scopes.iter().any(|word| word == scope.as_str());
        ScopeChoice { scope, is_checked }
    };
    let choices = Scope::ALL.into_iter().map(choice).collect();
    let name = FormField::new("name", "Name", values.name).with_violations(violations);
    let scopes = FormField::new("scopes", "Scopes", "").with_violations(violations);
    let expires_at = FormField::new("expires_at", "Expires on", values.expires_at).with_violations(violations);
    TokensPage {
        layout,
        tokens: tokens.items.iter().map(|token| TokenRow::new(token, now)).collect(),
        pages: Pages::new(tokens, "/profile/tokens", &[]),
        new_token: None,
        errors: form::errors([&name, &scopes, &expires_at]),
        name,
        scopes,
        choices,
        expires_at,
    }
}

impl TokensPage {
    /// Returns the page with the secret of a token.
    pub fn with_new_token(mut self, new_token: NewToken) -> Self {
        self.new_token = Some(new_token);
        self
    }

    /// Returns the page without the scope that is for administrators alone, unless the viewer is one.
    pub fn with_all_scopes(mut self, is_administrator: bool) -> Self {
        self.choices.retain(|choice| is_administrator || choice.scope != Scope::Sudo);
        self
    }
}
