//! Kinds of credentials, and the statements that find them.
//!
//! The statements are the same for every kind of credential, except for the parts that [`CredentialSql`] has.

use std::future::Future;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::FromRow;
use sqlx::postgres::PgRow;

use super::account::ACCOUNT_COLUMNS;
use crate::accounts::user::USER_COLUMNS;
use crate::namespaces::group::COLUMNS as GROUP_COLUMNS;
use crate::projects::project::{self, PROJECT_COLUMNS, PROJECT_JOINS};
use crate::{Connection, Result};

/// How far the recorded last use of a credential may lag behind. A write with every request would cost more than the
/// request.
pub(super) const LAST_USE_PRECISION: TimeDelta = TimeDelta::minutes(10);

/// A kind of credential. Its columns have names that no user, project or group has.
pub trait Credential: for<'row> FromRow<'row, PgRow> + Send + Sized {
    /// Returns the statements that find credentials of this kind.
    fn statements() -> &'static CredentialStatements;

    /// Records that the credential is used now.
    fn record_use(&self, connection: &mut Connection, now: DateTime<Utc>) -> impl Future<Output = Result<()>> + Send;
}

/// The parts of a statement that differ between the kinds of credentials.
pub(super) struct CredentialSql<'a> {
    /// The columns of the credential.
    pub columns: &'a str,
    /// The table of the credential with the alias `c`. It has a column `user_id`.
    pub table: &'a str,
    /// The condition for a valid credential with the digest $1 at the time $2. It may refer to the user `u`.
    pub is_valid: &'a str,
}

/// The statements that find a valid credential with the digest $1 at the time $2.
pub struct CredentialStatements {
    pub(super) account: String,
    pub(super) profile: String,
    pub(super) project_by_id: String,
    pub(super) project_by_path: String,
    pub(super) group_by_id: String,
    pub(super) group_by_path: String,
}

impl CredentialStatements {
    pub(super) fn new(sql: &CredentialSql<'_>) -> Self {
        Self {
            account: sql.select(ACCOUNT_COLUMNS, ""),
            profile: sql.select(USER_COLUMNS, ""),
            project_by_id: sql.select_with_project(project::ID_CONDITION),
            project_by_path: sql.select_with_project(project::PATH_CONDITION),
            group_by_id: sql.select_with_group("n.id = $3"),
            group_by_path: sql.select_with_group("lower(n.path) = $3"),
        }
    }
}

impl CredentialSql<'_> {
    /// Returns a statement for the credential, the columns `columns`, and the tables that `joins` adds.
    fn select(&self, columns: &str, joins: &str) -> String {
        let Self { columns: own, table, is_valid } = self;
        format!("select {own}, {columns} from {table} c join users u on u.id = c.user_id{joins} where {is_valid}")
    }

    /// Returns a statement that also finds a project as the user sees it.
    fn select_with_project(&self, condition: &str) -> String {
        let viewer = " cross join lateral (select u.id, ($2 at time zone 'utc')::date as today) viewer";
        let joins = [viewer, " left join (projects p", PROJECT_JOINS, ") on ", condition].concat();
        self.select(&[ACCOUNT_COLUMNS, ", ", PROJECT_COLUMNS].concat(), &joins)
    }

    /// Returns a statement that also finds a group, with the level of the user in it.
    fn select_with_group(&self, condition: &str) -> String {
        let group = [" left join namespaces n on n.kind = 'group' and ", condition].concat();
        let member = " left join group_members m on m.group_id = n.id and m.user_id = u.id \
                      and (m.expires_at is null or m.expires_at > ($2 at time zone 'utc')::date)";
        self.select(&[ACCOUNT_COLUMNS, ", m.access_level, ", GROUP_COLUMNS].concat(), &[&group, member].concat())
    }
}
