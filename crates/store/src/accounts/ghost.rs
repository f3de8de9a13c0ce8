//! The ghost account, which owns the issues, notes and events of deleted users.
//!
//! - There is at most one. The first deletion of a user creates it.
//! - It is no user: [`super::user::find`] and the lists leave it out, so that nobody can sign in as it, change it,
//!   delete it or make it a member.
//! - An author without an account is shown as the ghost account at once ([`push_author_or_ghost`]); a job writes the ghost
//!   account's id into the rows afterwards.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::UserId;
use sqlx::{Postgres, QueryBuilder};

use crate::{Connection, Result};

/// Writes the expression for the id of the account that is shown as an author: the author, or the ghost account if the
/// author was deleted. The second part is evaluated once per statement.
pub(crate) fn push_author_or_ghost(query: &mut QueryBuilder<Postgres>, author: &'static str) {
    query.push("coalesce((select known.id from users known where known.id = ").push(author);
    query.push("), (select ghost.id from users ghost where ghost.ghost))");
}

/// The number of usernames that are tried: `ghost`, `ghost1` and so on. The first is rarely taken.
const MAX_USERNAMES: i32 = 1000;

/// Finds the ghost account. Returns None before the first deletion of a user.
pub async fn find(connection: &mut Connection) -> Result<Option<UserId>> {
    let id = sqlx::query_scalar!("select id from users where ghost").fetch_optional(connection).await?;
    Ok(id.map(Into::into))
}

/// Returns the ghost account and creates it if there is none. It has no namespace, no address and no password, and is
/// blocked.
pub async fn find_or_insert(connection: &mut Connection, now: DateTime<Utc>) -> Result<UserId> {
    // Another attempt is needed if a concurrent transaction takes the chosen username.
    for _ in 0..3 {
        if let Some(id) = find(connection).await? {
            return Ok(id);
        }
        sqlx::query!(
            "insert into users (username, name, email, password_hash, state, can_create_group, projects_limit, ghost,
               created_at, updated_at)
             select c.username, 'Ghost User', '', '', 'blocked', false, 0, true, $1, $1
             from (select 0 as number, 'ghost' as username
                   union all select n, 'ghost' || n from generate_series(1, $2) n) c
             where not exists (select from users u where lower(u.username) = c.username)
               and not exists (select from namespaces n where lower(n.path) = c.username)
             order by c.number limit 1
             on conflict do nothing",
            now,
            MAX_USERNAMES,
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(find(connection).await?.ok_or(sqlx::Error::RowNotFound)?)
}
