//! Personal access tokens.

use chrono::{NaiveDate, NaiveTime};
use holdfast_domain::Violations;
use holdfast_domain::accounts::{Scopes, TokenKind};
use holdfast_domain::ids::{TokenId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_domain::violations::BLANK;
use holdfast_store::accounts::token::{self, NewToken};

pub use holdfast_store::accounts::token::Token;

use super::secret::digest;
use crate::{Actor, App, Error, Resource, Result, access};

#[derive(Clone, Debug)]
pub struct CreateToken {
    pub name: String,
    pub scopes: Vec<String>,
    /// The first day on which the token is no longer valid.
    pub expires_at: Option<NaiveDate>,
}

/// Creates a token for the current user. Its scopes must be a subset of the scopes of the token in use.
#[crate::boxed]
pub async fn create_own(app: &App, actor: &Actor, input: CreateToken) -> Result<(Token, String)> {
    let current_user = access::authorize_own_account(actor)?;
    if Scopes::parse(&input.scopes).is_ok_and(|wanted| !current_user.scopes.is_superset_of(&wanted)) {
        return Err(Error::Forbidden(Some("The token in use lacks a scope that the new one would have")));
    }
    create(app, current_user.account.id(), input).await
}

#[crate::boxed]
pub async fn create_for_user(app: &App, actor: &Actor, user: UserId, input: CreateToken) -> Result<(Token, String)> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    create(app, user, input).await
}

async fn create(app: &App, user: UserId, input: CreateToken) -> Result<(Token, String)> {
    let mut violations = Violations::default();
    if input.name.trim().is_empty() {
        violations.add("name", BLANK);
    }
    violations.check_single_line("name", &input.name);
    let scopes = violations.check("scopes", Scopes::parse(&input.scopes).map_err(|error| error.to_string()));
    if input.scopes.is_empty() {
        violations.add("scopes", BLANK);
    }
    if input.expires_at.is_some_and(|end| end <= app.today()) {
        violations.add("expires_at", "must be a day to come");
    }
    violations.into_result()?;
    let secret = app.new_secret(TokenKind::Personal.prefix());
    let new = NewToken {
        user,
        kind: TokenKind::Personal,
        name: &input.name,
        digest: &digest(&secret),
        scopes: &scopes.expect("scopes were parsed if there are no violations"),
        expires_at: input.expires_at.map(|day| day.and_time(NaiveTime::MIN).and_utc()),
    };
    let token = token::insert(&mut *app.database.connection().await?, &new, app.clock.now()).await?;
    Ok((token, secret))
}

#[crate::boxed]
pub async fn list_own(app: &App, actor: &Actor, page: PageRequest) -> Result<Page<Token>> {
    Ok(token::list(&app.database, access::authorize_own_account(actor)?.account.id(), page).await?)
}

#[crate::boxed]
pub async fn list_for_user(app: &App, actor: &Actor, user: UserId, page: PageRequest) -> Result<Page<Token>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    Ok(token::list(&app.database, user, page).await?)
}

#[crate::boxed]
pub async fn revoke_own(app: &App, actor: &Actor, id: TokenId) -> Result<()> {
    revoke(app, access::authorize_own_account(actor)?.account.id(), id).await
}

#[crate::boxed]
pub async fn revoke_for_user(app: &App, actor: &Actor, user: UserId, id: TokenId) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    revoke(app, user, id).await
}

async fn revoke(app: &App, user: UserId, id: TokenId) -> Result<()> {
    let revoked = token::revoke(&mut *app.database.connection().await?, user, id, app.clock.now()).await?;
    if revoked { Ok(()) } else { Err(Error::NotFound(Resource::Token)) }
}

impl App {
    pub fn is_active(&self, token: &Token) -> bool {
        token.is_active(self.clock.now())
    }
}
