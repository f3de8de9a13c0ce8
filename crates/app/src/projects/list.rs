//! The lists of projects.

use holdfast_domain::Visibility;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::{InstanceAction, Standing, visible_from};
use holdfast_store::projects::list::{self, Filter, Reader, Whose};

pub use holdfast_store::projects::list::{Key, Order};

use super::project::Project;
use crate::{Actor, App, Result, access};

/// Whose projects are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of which the caller is a member, by whatever way.
    Member,
    Visible,
    Owned,
    Starred,
    All,
}

#[derive(Clone, Debug)]
pub struct ListProjects {
    pub archived: Option<bool>,
    pub visibility: Option<Visibility>,
    pub search: Option<String>,
    pub order: Order,
}

impl ListProjects {
    pub(crate) fn into_filter(self, reader: Reader, whose: Whose) -> Filter {
        let Self { archived, visibility, search, order } = self;
        Filter { reader, whose, archived, visibility, search, order }
    }
}

pub async fn list(
    app: &App,
    actor: &Actor,
    scope: Scope,
    input: ListProjects,
    page: PageRequest,
) -> Result<Page<Project>> {
    let (whose, action) = match scope {
        Scope::Member => (Whose::Member, InstanceAction::ListProjects),
        Scope::Visible => (Whose::Visible, InstanceAction::ListProjects),
        Scope::Owned => (Whose::Owned, InstanceAction::ListProjects),
        Scope::Starred => (Whose::Starred, InstanceAction::ListProjects),
        Scope::All => (Whose::All, InstanceAction::ListAllProjects),
    };
    access::instance(actor, action)?;
    // Being an administrator makes nothing visible here: these lists are about what the caller has to do with.
    let standing = actor.standing().min(Standing::Ordinary);
    let reader = Reader { user: actor.user_id(), sees: visible_from(standing), today: app.today() };
    let mut connection = app.database.connection().await?;
    Ok(list::list(&mut connection, &app.database, &input.into_filter(reader, whose), page).await?)
}

/// What the caller can see, everything for administrators.
pub(crate) fn reader(app: &App, actor: &Actor) -> Reader {
    Reader { user: actor.user_id(), sees: visible_from(actor.standing()), today: app.today() }
}
