//! Finds the token of a request with the account of its user, and with the project or group that the request names.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::{Scopes, UserState};
use holdfast_domain::ids::{TokenId, UserId};
use sqlx::{FromRow, Row};

use crate::accounts::user::{Account, USER_COLUMNS, User, UserSummary};
use crate::namespaces::group::{COLUMNS as GROUP_COLUMNS, GroupRef, GroupWithLevel};
use crate::projects::project::{self, PROJECT_COLUMNS, PROJECT_JOINS, Project, ProjectRef};
use crate::{Connection, Result};

/// A token that a client has sent, and that is neither revoked nor expired.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ActiveToken {
    #[sqlx(try_from = "i64", rename = "token_id")]
    pub id: TokenId,
    #[sqlx(try_from = "Vec<String>", rename = "token_scopes")]
    pub scopes: Scopes,
    #[sqlx(rename = "token_last_used_at")]
    pub last_used_at: Option<DateTime<Utc>>,
}

/// The columns of an [`ActiveToken`].
const TOKEN_COLUMNS: &str = "t.id as token_id, t.scopes as token_scopes, t.last_used_at as token_last_used_at, ";

/// An active token and the account of its user. The columns have prefixes, because those of a project or group follow.
#[derive(sqlx::FromRow)]
struct TokenAndAccount {
    #[sqlx(flatten)]
    token: ActiveToken,
    #[sqlx(try_from = "i64")]
    account_id: UserId,
    account_username: String,
    account_name: String,
    account_email: String,
    #[sqlx(try_from = "String")]
    account_state: UserState,
    account_admin: bool,
    account_external: bool,
    account_can_create_group: bool,
    account_projects_limit: i32,
}

impl TokenAndAccount {
    fn into_parts(self) -> (ActiveToken, Account) {
        let summary = UserSummary {
            id: self.account_id,
            username: self.account_username,
            name: self.account_name,
            email: self.account_email,
            state: self.account_state,
        };
        let account = Account {
            summary,
            admin: self.account_admin,
            external: self.account_external,
            can_create_group: self.account_can_create_group,
            projects_limit: self.account_projects_limit,
        };
        (self.token, account)
    }
}

/// The account columns of a [`TokenAndAccount`].
const ACCOUNT_COLUMNS: &str = "\
    u.id as account_id, u.username as account_username, u.name as account_name, u.email as account_email, \
    u.state as account_state, u.admin as account_admin, u.external as account_external, \
    u.can_create_group as account_can_create_group, u.projects_limit as account_projects_limit";

/// The tables of the queries for a token and its user `u`.
const FROM_TOKENS: &str = " from tokens t join users u on u.id = t.user_id";

/// The condition of the queries for a token that is neither revoked nor expired.
const WHERE_ACTIVE: &str =
    " where t.digest = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > $2)";

/// Finds a token that is neither revoked nor expired, with the account of its user.
pub async fn find_active(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<(ActiveToken, Account)>> {
    static QUERY: LazyLock<String> =
        LazyLock::new(|| ["select ", TOKEN_COLUMNS, ACCOUNT_COLUMNS, FROM_TOKENS, WHERE_ACTIVE].concat());
    let found: Option<TokenAndAccount> =
        sqlx::query_as(QUERY.as_str()).bind(digest).bind(now).fetch_optional(connection).await?;
    Ok(found.map(TokenAndAccount::into_parts))
}

/// Like [`find_active`], but loads the complete user, for requests about the user's own profile.
pub async fn find_active_with_profile(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<(ActiveToken, User)>> {
    static QUERY: LazyLock<String> =
        LazyLock::new(|| ["select ", TOKEN_COLUMNS, USER_COLUMNS, FROM_TOKENS, WHERE_ACTIVE].concat());
    let row = sqlx::query(QUERY.as_str()).bind(digest).bind(now).fetch_optional(connection).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some((ActiveToken::from_row(&row)?, User::from_row(&row)?)))
}

/// Like [`find_active`], but also finds a project as the token's user sees it, with the same statement. A former path
/// of a project is not resolved.
pub async fn find_active_with_project(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
    project: &ProjectRef,
) -> Result<Option<((ActiveToken, Account), Option<Project>)>> {
    static BY_ID: LazyLock<String> = LazyLock::new(|| select_with_project(project::ID_CONDITION));
    static BY_PATH: LazyLock<String> = LazyLock::new(|| select_with_project(project::PATH_CONDITION));
    let query = |sql: &'static str| sqlx::query(sql).bind(digest).bind(now);
    let query = match project {
        ProjectRef::Id(id) => query(&BY_ID).bind(id.get()),
        ProjectRef::Path { namespace, project } => {
            query(&BY_PATH).bind(namespace.to_ascii_lowercase()).bind(project.to_ascii_lowercase())
        }
    };
    let Some(row) = query.fetch_optional(&mut *connection).await? else { return Ok(None) };
    let (token, account) = TokenAndAccount::from_row(&row)?.into_parts();
    let found = match row.try_get::<Option<i64>, _>("id")? {
        Some(_) => Some(Project::from_row(&row)?),
        None => None,
    };
    let found = project::with_associations(connection, found, Some(account.id()), now.date_naive()).await?;
    Ok(Some(((token, account), found)))
}

/// Returns the statement of [`find_active_with_project`].
fn select_with_project(condition: &str) -> String {
    let columns = ["select ", TOKEN_COLUMNS, ACCOUNT_COLUMNS, ", ", PROJECT_COLUMNS, FROM_TOKENS].concat();
    let viewer = " cross join lateral (select u.id, ($2 at time zone 'utc')::date as today) viewer";
    [&columns, viewer, " left join (projects p", PROJECT_JOINS, ") on ", condition, WHERE_ACTIVE].concat()
}

/// Like [`find_active`], but also finds a group and the level of the token's user in it, with the same statement. A
/// former path of a group is not resolved.
pub async fn find_active_with_group(
    connection: &mut Connection,
    digest: &[u8],
    now: DateTime<Utc>,
    group: &GroupRef,
) -> Result<Option<((ActiveToken, Account), Option<GroupWithLevel>)>> {
    static BY_ID: LazyLock<String> = LazyLock::new(|| select_with_group("n.id = $3"));
    static BY_PATH: LazyLock<String> = LazyLock::new(|| select_with_group("lower(n.path) = $3"));
    let query = |sql: &'static str| sqlx::query(sql).bind(digest).bind(now);
    let query = match group {
        GroupRef::Id(id) => query(&BY_ID).bind(id.get()),
        GroupRef::Path(path) => query(&BY_PATH).bind(path.to_ascii_lowercase()),
    };
    let Some(row) = query.fetch_optional(connection).await? else { return Ok(None) };
    let (token, account) = TokenAndAccount::from_row(&row)?.into_parts();
    let found = match row.try_get::<Option<i64>, _>("id")? {
        Some(_) => Some(GroupWithLevel::from_row(&row)?),
        None => None,
    };
    Ok(Some(((token, account), found)))
}

/// Returns the statement of [`find_active_with_group`].
fn select_with_group(condition: &str) -> String {
    let columns =
        ["select ", TOKEN_COLUMNS, ACCOUNT_COLUMNS, ", m.access_level, ", GROUP_COLUMNS, FROM_TOKENS].concat();
    let group = [" left join namespaces n on n.kind = 'group' and ", condition].concat();
    let member = " left join group_members m on m.group_id = n.id and m.user_id = u.id \
                  and (m.expires_at is null or m.expires_at > ($2 at time zone 'utc')::date)";
    [&columns, &group, member, WHERE_ACTIVE].concat()
}
