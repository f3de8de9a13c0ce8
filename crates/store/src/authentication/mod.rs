//! Authentication of requests by a credential: an access token or a browser session.
//!
//! - One statement finds the credential, the account of its user and, if the request names one, a project or group as
//!   this user sees it.
//! - It joins the tables of accounts, namespaces and projects, which do not import each other in this direction. The
//!   plain statements about tokens and sessions are in `accounts`.

mod account;
mod browser_session;
pub mod credential;
pub mod token;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use crate::accounts::user::{Account, User};
use crate::namespaces::group::{GroupRef, GroupWithLevel};
use crate::projects::project::{self, Project, ProjectRef};
use crate::{Connection, Result};

use account::AccountColumns;
use credential::Credential;

/// Reads a credential and the account of its user from a row.
fn read<C: Credential>(row: &PgRow) -> Result<(C, Account)> {
    Ok((C::from_row(row)?, AccountColumns::from_row(row)?.into()))
}

/// Finds a valid credential, with the account of its user.
pub async fn find<C: Credential>(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<(C, Account)>> {
    let row = sqlx::query(C::statements().account.as_str()).bind(digest).bind(now).fetch_optional(connection).await?;
    row.as_ref().map(read).transpose()
}

/// Like [`find`], but loads the complete user, for requests about the user's own profile.
pub async fn find_with_profile<C: Credential>(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<(C, User)>> {
    let row = sqlx::query(C::statements().profile.as_str()).bind(digest).bind(now).fetch_optional(connection).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some((C::from_row(&row)?, User::from_row(&row)?)))
}

/// Like [`find`], but also finds a project as the user sees it, with the same statement. A former path of a project is
/// not resolved.
pub async fn find_with_project<C: Credential>(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
    project: &ProjectRef,
) -> Result<Option<((C, Account), Option<Project>)>> {
    let statements = C::statements();
    let query = |sql: &'static str| sqlx::query(sql).bind(digest).bind(now);
    let query = match project {
        ProjectRef::Id(id) => query(&statements.project_by_id).bind(id.get()),
        ProjectRef::Path { namespace, project } => {
            query(&statements.project_by_path).bind(namespace.to_ascii_lowercase()).bind(project.to_ascii_lowercase())
        }
    };
    let Some(row) = query.fetch_optional(&mut *connection).await? else { return Ok(None) };
    let (credential, account) = read::<C>(&row)?;
    let found = match row.try_get::<Option<i64>, _>("id")? {
        Some(_) => Some(Project::from_row(&row)?),
        None => None,
    };
    let found = project::with_associations(connection, found, Some(account.id()), now.date_naive()).await?;
    Ok(Some(((credential, account), found)))
}

/// Like [`find`], but also finds a group and the level of the user in it, with the same statement. A former path of a
/// group is not resolved.
pub async fn find_with_group<C: Credential>(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
    group: &GroupRef,
) -> Result<Option<((C, Account), Option<GroupWithLevel>)>> {
    let statements = C::statements();
    let query = |sql: &'static str| sqlx::query(sql).bind(digest).bind(now);
    let query = match group {
        GroupRef::Id(id) => query(&statements.group_by_id).bind(id.get()),
        GroupRef::Path(path) => query(&statements.group_by_path).bind(path.to_ascii_lowercase()),
    };
    let Some(row) = query.fetch_optional(connection).await? else { return Ok(None) };
    let found = match row.try_get::<Option<i64>, _>("id")? {
        Some(_) => Some(GroupWithLevel::from_row(&row)?),
        None => None,
    };
    Ok(Some((read(&row)?, found)))
}
