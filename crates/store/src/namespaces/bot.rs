//! Bots: users that are not persons. The bot of an access token of a project or group acts with its token alone, and is
//! deleted with it. A placeholder stands for a user of another server who wrote a part of an imported project.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, TokenId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::member::MembershipScope;
use crate::accounts::token::Token;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// An access token of a project or group.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AccessToken {
    #[sqlx(flatten)]
    pub token: Token,
    /// The access level of the bot in the project or group.
    pub access_level: Option<i16>,
    project_id: Option<i64>,
    group_id: Option<i64>,
}

impl AccessToken {
    pub fn scope(&self) -> MembershipScope {
        match self.project_id {
            Some(project) => MembershipScope::Project(project.into()),
            None => MembershipScope::Group(self.group_id.unwrap_or_default().into()),
        }
    }
}

/// Inserts a bot. It has no namespace, no address of its own and no password, and sees no internal projects.
pub async fn insert(
    connection: &mut Connection,
    scope: MembershipScope,
    username: &str,
    name: &str,
    email: &str,
    now: DateTime<Utc>,
) -> Result<UserId> {
    let id = insert_user(&mut *connection, username, name, email, now).await?;
    let (project, group) = match scope {
        MembershipScope::Project(project) => (Some(project.get()), None),
        MembershipScope::Group(group) => (None, Some(group.get())),
    };
    sqlx::query!("insert into bots (user_id, project_id, group_id) values ($1, $2, $3)", id, project, group)
        .execute(connection)
        .await?;
    Ok(id.into())
}

/// Inserts the placeholder for a user who wrote a part of a GitLab export, and who has this id in it.
pub async fn insert_placeholder(
    connection: &mut Connection,
    project: ProjectId,
    imported_id: i64,
    username: &str,
    name: &str,
    email: &str,
    now: DateTime<Utc>,
) -> Result<UserId> {
    let id = insert_user(&mut *connection, username, name, email, now).await?;
    sqlx::query!(
        "insert into bots (user_id, project_id, imported_id) values ($1, $2, $3)",
        id,
        project.get(),
        imported_id
    )
    .execute(connection)
    .await?;
    Ok(id.into())
}

/// A placeholder for a user of a GitLab export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placeholder {
    pub user_id: i64,
    /// The id of the user in the export.
    pub imported_id: i64,
}

/// Returns at most `limit` placeholders of a project.
pub async fn list_placeholders(
    connection: &mut Connection,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<Placeholder>> {
    Ok(sqlx::query_as!(
        Placeholder,
        r#"select user_id, imported_id as "imported_id!" from bots
           where project_id = $1 and imported_id is not null limit $2"#,
        project.get(),
        limit,
    )
    .fetch_all(connection)
    .await?)
}

async fn insert_user(
    connection: &mut Connection,
    username: &str,
    name: &str,
    email: &str,
    now: DateTime<Utc>,
) -> Result<i64> {
    let id = sqlx::query_scalar!(
        "insert into users (username, name, email, password_hash, external, can_create_group, projects_limit, bot,
           confirmed_at, created_at, updated_at)
         values ($1, $2, $3, '', true, false, 0, true, $4, $4, $4)
         returning id",
        username,
        name,
        email,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id)
}

/// A bot, with its project or group. None if that was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bot {
    pub scope: Option<MembershipScope>,
}

/// Returns the bot with this id, or None if it is no bot.
pub async fn find(connection: &mut Connection, user: UserId) -> Result<Option<Bot>> {
    let row = sqlx::query!("select project_id, group_id from bots where user_id = $1", user.get())
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| {
        let project = row.project_id.map(|project| MembershipScope::Project(project.into()));
        Bot { scope: project.or(row.group_id.map(|group| MembershipScope::Group(group.into()))) }
    }))
}

/// Counts the bots of a project or group, up to `limit`, without placeholders.
pub async fn count(connection: &mut Connection, scope: MembershipScope, limit: i64) -> Result<i64> {
    let mut query = QueryBuilder::new("select count(*) from (select from bots b where b.imported_id is null and ");
    push_scope(&mut query, scope);
    query.push(" limit ").push_bind(limit).push(") counted");
    Ok(query.build_query_scalar().fetch_one(connection).await?)
}

const TOKEN_COLUMNS: &str = "t.id, t.user_id, t.kind, t.name, t.scopes, t.created_at, t.expires_at, t.revoked_at, \
    t.last_used_at, m.access_level, b.project_id, b.group_id";

fn push_scope(query: &mut QueryBuilder<Postgres>, scope: MembershipScope) {
    match scope {
        MembershipScope::Project(project) => query.push("b.project_id = ").push_bind(project.get()),
        MembershipScope::Group(group) => query.push("b.group_id = ").push_bind(group.get()),
    };
}

/// Writes the tables of the access tokens of a project or group, and the condition.
fn push_tokens(query: &mut QueryBuilder<Postgres>, scope: MembershipScope) {
    query.push("from bots b join tokens t on t.user_id = b.user_id and t.kind = 'bot' left join ");
    query.push(match scope {
        MembershipScope::Project(_) => "project_members m on m.project_id = b.project_id and m.user_id = b.user_id",
        MembershipScope::Group(_) => "group_members m on m.group_id = b.group_id and m.user_id = b.user_id",
    });
    query.push(" where ");
    push_scope(query, scope);
}

/// Lists the access tokens of a project or group, newest first. If `is_active` is given, lists only valid tokens or only
/// others.
pub async fn list_tokens(
    database: &Database,
    scope: MembershipScope,
    is_active: Option<bool>,
    page: PageRequest,
    now: DateTime<Utc>,
) -> Result<Page<AccessToken>> {
    let list = PagedQuery {
        columns: "*",
        rows: TOKEN_COLUMNS,
        from: |query: &mut QueryBuilder<Postgres>, _| {
            push_tokens(query, scope);
            if let Some(is_active) = is_active {
                query.push(if is_active { " and " } else { " and not " });
                query.push("(t.revoked_at is null and (t.expires_at is null or t.expires_at > ");
                query.push_bind(now).push("))");
            }
        },
        order: "id desc",
        page: table_alias("page"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Finds an access token of a project or group.
pub async fn find_token(
    connection: &mut Connection,
    scope: MembershipScope,
    id: TokenId,
) -> Result<Option<AccessToken>> {
    let mut query = QueryBuilder::new("select ");
    query.push(TOKEN_COLUMNS).push(" ");
    push_tokens(&mut query, scope);
    query.push(" and t.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Deletes the revoked tokens of a bot except one.
pub async fn delete_revoked_tokens(connection: &mut Connection, bot: UserId, kept: TokenId) -> Result<()> {
    sqlx::query!(
        "delete from tokens where user_id = $1 and kind = 'bot' and revoked_at is not null and id <> $2",
        bot.get(),
        kept.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A bot that is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnusedBot {
    pub id: UserId,
    pub is_placeholder: bool,
}

/// Returns the next bots after `last` whose project or group was deleted, or whose tokens have all been invalid since
/// `before`. Placeholders are returned only after their project was deleted.
pub async fn next_unused_batch(
    connection: &mut Connection,
    before: DateTime<Utc>,
    last: UserId,
    limit: i64,
) -> Result<Vec<UnusedBot>> {
    let rows = sqlx::query!(
        r#"select b.user_id, b.imported_id is not null as "is_placeholder!" from bots b
         where b.user_id > $2 and (num_nonnulls(b.project_id, b.group_id) = 0 or b.imported_id is null and not exists
           (select from tokens t where t.user_id = b.user_id and t.kind = 'bot'
              and least(t.revoked_at, t.expires_at, 'infinity') > $1))
         order by b.user_id limit $3"#,
        before,
        last.get(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| UnusedBot { id: row.user_id.into(), is_placeholder: row.is_placeholder }).collect())
}
