//! Users.

use chrono::{DateTime, Utc};
use holdfast_domain::accounts::UserState;
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::InstanceRole;
use sqlx::types::Json;
use sqlx::{Postgres, QueryBuilder};

use super::identity::Identity;
use crate::page::{CountedList, PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result, search};

/// A user without the password hash.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct User {
    #[sqlx(try_from = "i64")]
    pub id: UserId,
    pub username: String,
    pub name: String,
    pub email: String,
    #[sqlx(try_from = "String")]
    pub state: UserState,
    pub admin: bool,
    pub external: bool,
    /// Whether this is the user of an access token of a project or group.
    pub bot: bool,
    pub can_create_group: bool,
    pub projects_limit: i32,
    pub bio: Option<String>,
    pub location: Option<String>,
    pub skype: String,
    pub linkedin: String,
    pub twitter: String,
    pub website_url: String,
    pub organization: String,
    pub confirmed_at: Option<DateTime<Utc>>,
    pub current_sign_in_at: Option<DateTime<Utc>>,
    pub last_sign_in_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub identities: Json<Vec<Identity>>,
    /// Whether the user's namespace holds fewer projects than `projects_limit`.
    pub can_create_project: bool,
}

impl User {
    pub fn account(&self) -> Account {
        Account {
            summary: self.summary(),
            admin: self.admin,
            external: self.external,
            can_create_group: self.can_create_group,
            projects_limit: self.projects_limit,
        }
    }

    pub fn is_active(&self) -> bool {
        self.state == UserState::Active
    }

    pub fn summary(&self) -> UserSummary {
        UserSummary {
            id: self.id,
            username: self.username.clone(),
            name: self.name.clone(),
            email: self.email.clone(),
            state: self.state,
        }
    }
}

/// The part of a user that determines the user's permissions. It is read with every request.
#[derive(Clone, Debug)]
pub struct Account {
    pub summary: UserSummary,
    pub admin: bool,
    pub external: bool,
    pub can_create_group: bool,
    pub projects_limit: i32,
}

impl Account {
    pub fn id(&self) -> UserId {
        self.summary.id
    }

    pub fn is_active(&self) -> bool {
        self.summary.state == UserState::Active
    }

    pub fn role(&self) -> InstanceRole {
        match (self.admin, self.external) {
            (true, _) => InstanceRole::Administrator,
            (false, true) => InstanceRole::External,
            (false, false) => InstanceRole::Regular,
        }
    }
}

/// The part of a user that is shown in other resources.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct UserSummary {
    #[sqlx(try_from = "i64")]
    pub id: UserId,
    pub username: String,
    pub name: String,
    pub email: String,
    #[sqlx(try_from = "String")]
    pub state: UserState,
}

/// The columns of [`User`], of a table with the alias `u`.
pub(crate) const USER_COLUMNS: &str = "\
    u.id, u.username, u.name, u.email, u.state, u.admin, u.external, u.bot, u.can_create_group, u.projects_limit, u.bio, \
    u.location, u.skype, u.linkedin, u.twitter, u.website_url, u.organization, u.confirmed_at, \
    u.current_sign_in_at, u.last_sign_in_at, u.created_at, u.updated_at, \
    coalesce((select jsonb_agg(jsonb_build_object('provider', i.provider, 'extern_uid', i.extern_uid) \
      order by i.provider) from identities i where i.user_id = u.id), '[]') as identities, \
    u.projects_limit > (select count(*) from (select from projects p where p.namespace_id = \
      (select n.id from namespaces n where n.owner_id = u.id) limit u.projects_limit) own) as can_create_project";

pub async fn find(connection: &mut Connection, id: UserId) -> Result<Option<User>> {
    let mut query = QueryBuilder::new("select ");
    query.push(USER_COLUMNS).push(" from users u where not u.ghost and u.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Like [`find`], but also finds the ghost account, which is shown as the author of reassigned content.
pub async fn find_with_ghost(connection: &mut Connection, id: UserId) -> Result<Option<User>> {
    let mut query = QueryBuilder::new("select ");
    query.push(USER_COLUMNS).push(" from users u where u.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Returns the summaries of the existing users among `ids`.
pub async fn find_summaries(connection: &mut Connection, ids: &[i64]) -> Result<Vec<UserSummary>> {
    const QUERY: &str = "select u.id, u.username, u.name, u.email, u.state from users u where u.id = any($1)";
    Ok(sqlx::query_as(QUERY).bind(ids).fetch_all(connection).await?)
}

/// The id of a user, with the username.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedUserId {
    pub id: i64,
    pub username: String,
}

/// Returns the ids of the persons with these usernames in lower case.
pub async fn find_ids_by_username(connection: &mut Connection, usernames: &[String]) -> Result<Vec<NamedUserId>> {
    Ok(sqlx::query_as!(
        NamedUserId,
        "select id, username from users where lower(username) = any($1) and not ghost and not bot",
        usernames,
    )
    .fetch_all(connection)
    .await?)
}

/// Locks the existing users among `ids` with `FOR KEY SHARE`, so that they cannot be deleted before the end of the
/// transaction, and returns their ids. Users that are being deleted concurrently are left out without waiting.
pub async fn lock_key_shared(connection: &mut Connection, ids: &[i64]) -> Result<Vec<i64>> {
    Ok(sqlx::query_scalar!("select id from users where id = any($1) for key share skip locked", ids)
        .fetch_all(connection)
        .await?)
}

pub async fn find_by_username(connection: &mut Connection, username: &str) -> Result<Option<User>> {
    let mut query = QueryBuilder::new("select ");
    query.push(USER_COLUMNS).push(" from users u where not u.ghost and lower(u.username) = ");
    query.push_bind(username.to_ascii_lowercase());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Like [`find_by_username`], but also finds the ghost account, which is shown as the author of reassigned content.
pub async fn find_by_username_with_ghost(connection: &mut Connection, username: &str) -> Result<Option<User>> {
    let mut query = QueryBuilder::new("select ");
    query.push(USER_COLUMNS).push(" from users u where lower(u.username) = ");
    query.push_bind(username.to_ascii_lowercase());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Loads a user and locks the row until the end of the transaction. Bots are not found.
pub async fn lock(connection: &mut Connection, id: UserId) -> Result<Option<User>> {
    lock_if(connection, "not u.ghost and not u.bot", id).await
}

/// Like [`lock`], but finds only bots.
pub async fn lock_bot(connection: &mut Connection, id: UserId) -> Result<Option<User>> {
    lock_if(connection, "u.bot", id).await
}

async fn lock_if(connection: &mut Connection, condition: &'static str, id: UserId) -> Result<Option<User>> {
    let mut query = QueryBuilder::new("select ");
    query.push(USER_COLUMNS).push(" from users u where ").push(condition).push(" and u.id = ").push_bind(id.get());
    query.push(" for no key update of u");
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Locks a user with `FOR UPDATE`, so that no row that refers to the user, such as a membership, can be inserted before
/// the end of the transaction.
pub async fn lock_exclusive(connection: &mut Connection, id: UserId) -> Result<()> {
    sqlx::query_scalar!("select id from users where id = $1 for update", id.get()).fetch_optional(connection).await?;
    Ok(())
}

/// What is needed to verify the password of a user.
#[derive(Clone)]
pub struct Credentials {
    pub user: UserId,
    pub password_hash: String,
}

/// Finds the credentials of the user with this username or primary address.
pub async fn find_credentials(connection: &mut Connection, login: &str) -> Result<Option<Credentials>> {
    let row = sqlx::query!(
        "select u.id, u.password_hash from users u where lower(u.username) = $1 and not u.ghost and not u.bot
         union all
         select u.id, u.password_hash from emails e join users u on u.id = e.user_id
         where e.email = $2 and e.is_primary
         limit 1",
        login.to_ascii_lowercase(),
        login.trim().to_lowercase(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.and_then(|row| Some(Credentials { user: row.id?.into(), password_hash: row.password_hash? })))
}

pub async fn password_hash(connection: &mut Connection, id: UserId) -> Result<Option<String>> {
    Ok(sqlx::query_scalar!("select password_hash from users where id = $1", id.get())
        .fetch_optional(connection)
        .await?)
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub username: Option<String>,
    pub search: Option<String>,
    pub active: bool,
    pub blocked: bool,
    pub external: bool,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.username.is_none() && self.search.is_none() && !self.active && !self.blocked && !self.external
    }

    fn push(&self, query: &mut QueryBuilder<Postgres>) {
        // Excludes the ghost account by its id instead of by `u.ghost`, because an index on the id suffices to check
        // it.
        query.push("from users u where u.id is distinct from (select g.id from users g where g.ghost)");
        query.push(" and not u.bot");
        if let Some(username) = &self.username {
            query.push(" and lower(u.username) = ").push_bind(username.to_ascii_lowercase());
        }
        if let Some(term) = &self.search {
            query.push(" and ");
            search::push_contains(query, "u.search_text", term);
        }
        if self.active {
            query.push(" and u.state = 'active'");
        }
        if self.blocked {
            query.push(" and u.state <> 'active'");
        }
        if self.external {
            query.push(" and u.external");
        }
    }
}

/// The order of a list of users. There is an index without bots for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Id { descending: bool },
    Username { descending: bool },
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::Id { descending: false } => "u.id",
            Self::Id { descending: true } => "u.id desc",
            Self::Username { descending: false } => "lower(u.username)",
            Self::Username { descending: true } => "lower(u.username) desc",
        }
    }
}

/// Lists users. The ghost account and bots are left out.
pub async fn list(database: &Database, filter: &Filter, order: Order, page: PageRequest) -> Result<Page<User>> {
    let list = PagedQuery {
        columns: USER_COLUMNS,
        rows: "u.*",
        from: |query: &mut QueryBuilder<Postgres>, _| filter.push(query),
        order: order.sql(),
        page: table_alias("u"),
        total: match filter.is_empty() {
            true => Total::SkipIfKnownLarge(CountedList::Users, &database.large_lists),
            false => Total::Bounded,
        },
        needs_custom_plan: filter.search.is_some(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

#[derive(Clone, Debug)]
pub struct Attributes {
    pub username: String,
    pub name: String,
    pub email: String,
    pub admin: bool,
    pub external: bool,
    pub can_create_group: bool,
    pub projects_limit: i32,
    pub bio: Option<String>,
    pub location: Option<String>,
    pub skype: String,
    pub linkedin: String,
    pub twitter: String,
    pub website_url: String,
    pub organization: String,
}

pub async fn insert(
    connection: &mut Connection,
    attributes: &Attributes,
    password_hash: &str,
    now: DateTime<Utc>,
) -> Result<UserId> {
    let id = sqlx::query_scalar!(
        "insert into users (username, name, email, password_hash, admin, external, can_create_group, projects_limit, bio,
           location, skype, linkedin, twitter, website_url, organization, confirmed_at, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16, $16)
         returning id",
        attributes.username,
        attributes.name,
        attributes.email,
        password_hash,
        attributes.admin,
        attributes.external,
        attributes.can_create_group,
        attributes.projects_limit,
        attributes.bio,
        attributes.location,
        attributes.skype,
        attributes.linkedin,
        attributes.twitter,
        attributes.website_url,
        attributes.organization,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

pub async fn update(
    connection: &mut Connection,
    id: UserId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update users set username = $2, name = $3, email = $4, admin = $5, external = $6, can_create_group = $7,
           projects_limit = $8, bio = $9, location = $10, skype = $11, linkedin = $12, twitter = $13, website_url = $14,
           organization = $15, updated_at = $16
         where id = $1",
        id.get(),
        attributes.username,
        attributes.name,
        attributes.email,
        attributes.admin,
        attributes.external,
        attributes.can_create_group,
        attributes.projects_limit,
        attributes.bio,
        attributes.location,
        attributes.skype,
        attributes.linkedin,
        attributes.twitter,
        attributes.website_url,
        attributes.organization,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update_password(
    connection: &mut Connection,
    id: UserId,
    password_hash: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!("update users set password_hash = $2, updated_at = $3 where id = $1", id.get(), password_hash, now)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn update_state(connection: &mut Connection, id: UserId, state: UserState, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update users set state = $2, updated_at = $3 where id = $1", id.get(), state.as_str(), now)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn record_sign_in(connection: &mut Connection, id: UserId, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "update users set last_sign_in_at = current_sign_in_at, current_sign_in_at = $2 where id = $1",
        id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, id: UserId) -> Result<()> {
    sqlx::query!("delete from users where id = $1", id.get()).execute(connection).await?;
    Ok(())
}
