//! The users of the instance, for administrators.

use holdfast_domain::ids::UserId;
use holdfast_domain::page::{MAX_PAGE_SIZE, Page, PageRequest};
use holdfast_domain::policy::InstanceAction;
use holdfast_store::accounts::browser_session::{self, BrowserSession};
use holdfast_store::accounts::email::{self, Email};
use holdfast_store::accounts::ssh_key::{self, SshKey};
use holdfast_store::accounts::token::{self, Token};
use holdfast_store::accounts::user::{self, Filter, Order, User};
use holdfast_store::instance::account;

pub use holdfast_store::instance::account::{DeletionEffects, MAX_COUNTED_PROJECTS};

use crate::{Actor, App, Error, Resource, Result, access};

/// Lists the users that fulfill a filter, the newest first.
#[crate::boxed]
pub async fn list(app: &App, actor: &Actor, filter: Filter, page: PageRequest) -> Result<Page<User>> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    Ok(user::list(&app.database, &filter, Order::Id { descending: true }, page).await?)
}

/// Fails unless the actor may manage users.
pub fn authorize_management(actor: &Actor) -> Result<()> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)
}

/// A user with everything by which the user signs in. Of long lists only the newest entries are there.
#[derive(Debug)]
pub struct ManagedUser {
    pub user: User,
    pub emails: Page<Email>,
    pub ssh_keys: Page<SshKey>,
    /// The newest personal access tokens of the user.
    pub tokens: Page<Token>,
    pub sessions: Vec<BrowserSession>,
    pub effects: DeletionEffects,
}

/// Returns a user with the credentials of the account. Bots are not found.
#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, id: UserId) -> Result<ManagedUser> {
    access::authorize_instance(actor, InstanceAction::ManageUsers)?;
    let now = app.clock.now();
    let mut connection = app.database.connection().await?;
    let found = user::find(&mut connection, id).await?.filter(|user| !user.bot);
    let user = found.ok_or(Error::NotFound(Resource::User))?;
    let sessions = browser_session::list_all(&mut connection, id, now).await?;
    let effects = account::find_deletion_effects(&mut connection, id).await?;
    drop(connection);
    let newest = PageRequest::new(None, Some(MAX_PAGE_SIZE));
    let filter = token::Filter { user: Some(id), ..token::Filter::default() };
    Ok(ManagedUser {
        user,
        emails: email::list(&app.database, id, newest).await?,
        ssh_keys: ssh_key::list(&app.database, id, newest).await?,
        tokens: token::list(&app.database, &filter, newest, now).await?,
        sessions,
        effects,
    })
}
