//! Emoji that users give to issues, merge requests and notes.

use holdfast_domain::ids::{AwardId, NoteId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::Emoji;
use holdfast_store::Connection;
use holdfast_store::planning::award::{self, AwardTarget};

pub use holdfast_store::planning::award::Award;

use super::note::{self, NoteTarget};
use crate::accounts::user::lock_author;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// What an emoji is given to, as an address names it: an issue or a merge request, or a note on it.
#[derive(Clone, Copy, Debug)]
pub struct AwardAddress {
    pub noteable: NoteTarget,
    pub note: Option<NoteId>,
}

impl AwardAddress {
    pub fn target(self) -> AwardTarget {
        self.note.map_or(AwardTarget::Noteable(self.noteable), AwardTarget::Note)
    }
}

/// Checks that the target exists and that the actor sees it. Returns whether the actor wrote it.
async fn find_target(
    connection: &mut Connection,
    actor: &Actor,
    project: &Project,
    address: AwardAddress,
) -> Result<bool> {
    let noteable = note::find_noteable(connection, actor, project, address.noteable).await?;
    let author = match address.note {
        Some(id) => note::find(connection, actor, project, address.noteable, id).await?.author.id,
        None => noteable.author(),
    };
    Ok(actor.user_id() == Some(author))
}

/// Lists the emoji of a target, oldest first.
#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: AwardAddress,
    page: PageRequest,
) -> Result<Page<Award>> {
    let mut connection = app.database.connection().await?;
    let action = note::read_action(address.noteable);
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    find_target(&mut connection, actor, &project, address).await?;
    drop(connection);
    Ok(award::list(&app.database, address.target(), page).await?)
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, address: AwardAddress, id: AwardId) -> Result<Award> {
    let mut connection = app.database.connection().await?;
    let action = note::read_action(address.noteable);
    let project = access::authorize_project(app, &mut connection, actor, project, action).await?;
    find_target(&mut connection, actor, &project, address).await?;
    find(&mut connection, address, id).await
}

async fn find(connection: &mut Connection, address: AwardAddress, id: AwardId) -> Result<Award> {
    award::find(connection, address.target(), id).await?.ok_or(Error::NotFound(Resource::Record))
}

/// Gives an emoji. An unknown one, one that the user has given already, and a thumb for what the user wrote are not
/// found, as existing clients expect.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: AwardAddress,
    name: &str,
) -> Result<Award> {
    let mut transaction = app.database.begin().await?;
    let action = note::write_action(address.noteable);
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    let is_own = find_target(&mut transaction, actor, &project, address).await?;
    let emoji = Emoji::parse(name).ok_or(Error::NotFound(Resource::AwardEmoji))?;
    if is_own && emoji.is_vote() {
        return Err(Error::NotFound(Resource::AwardEmoji));
    }
    let user = lock_author(&mut transaction, actor).await?;
    let id = award::insert(&mut transaction, address.target(), user, emoji.as_str(), app.clock.now()).await?;
    let award = find(&mut transaction, address, id.ok_or(Error::NotFound(Resource::AwardEmoji))?).await?;
    holdfast_store::commit(transaction).await?;
    Ok(award)
}

/// Takes an emoji back, and returns it. Only the user who gave it and administrators may.
#[crate::boxed]
pub async fn delete(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    address: AwardAddress,
    id: AwardId,
) -> Result<Award> {
    let mut transaction = app.database.begin().await?;
    let action = note::write_action(address.noteable);
    let project = access::authorize_project(app, &mut transaction, actor, project, action).await?;
    find_target(&mut transaction, actor, &project, address).await?;
    let award = find(&mut transaction, address, id).await?;
    if Some(award.user.id) != actor.user_id() && !actor.is_administrator() {
        // 401 instead of 403, as existing clients expect.
        return Err(Error::Unauthenticated);
    }
    if !award::delete(&mut transaction, address.target(), id).await? {
        return Err(Error::NotFound(Resource::Record));
    }
    holdfast_store::commit(transaction).await?;
    Ok(award)
}
