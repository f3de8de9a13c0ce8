//! Assignees by username, as forms and quick actions name them.

use holdfast_domain::ids::UserId;
use holdfast_store::Connection;
use holdfast_store::accounts::user;

use crate::{Actor, Result};

/// Finds a user by name: `ada` or `@ada`, or `@me` for the current user. Returns None if there is no such user. The
/// caller has authorized the actor, and does not report which names exist.
pub(super) async fn find_by_name(connection: &mut Connection, actor: &Actor, name: &str) -> Result<Option<UserId>> {
    let name = name.trim();
    if name == "@me" {
        return Ok(actor.user_id());
    }
    let found = user::find_by_username(connection, name.strip_prefix('@').unwrap_or(name)).await?;
    Ok(found.map(|user| user.id))
}
