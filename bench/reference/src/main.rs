//! The reference server of the benchmarks: runs the statement of an endpoint and nothing else. No authentication, no
//! middleware, no log.
//!
//! The statements are copies of those in `holdfast-store`, and must be changed together with them.

use std::env::var;
use std::error::Error;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions, PgRow};
use sqlx::{FromRow, SqlStr};

use self::row::Row;

mod captured;
mod row;

#[derive(FromRow, Serialize)]
struct User {
    id: i64,
    username: String,
    name: String,
    email: String,
    state: String,
    admin: bool,
    external: bool,
    can_create_group: bool,
    projects_limit: i32,
    bio: Option<String>,
    location: Option<String>,
    skype: String,
    linkedin: String,
    twitter: String,
    website_url: String,
    organization: String,
    confirmed_at: Option<DateTime<Utc>>,
    current_sign_in_at: Option<DateTime<Utc>>,
    last_sign_in_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    identities: sqlx::types::Json<Vec<Identity>>,
}

#[derive(Deserialize, Serialize)]
struct Identity {
    provider: String,
    extern_uid: String,
}

#[derive(FromRow, Serialize)]
struct Group {
    id: i64,
    name: String,
    path: String,
    description: String,
    visibility_level: i16,
    request_access_enabled: bool,
    lfs_enabled: bool,
    created_at: DateTime<Utc>,
}

macro_rules! user_columns {
    () => {
        "u.id, u.username, u.name, u.email, u.state, u.admin, u.external, u.can_create_group, u.projects_limit, u.bio, \
         u.location, u.skype, u.linkedin, u.twitter, u.website_url, u.organization, u.confirmed_at, \
         u.current_sign_in_at, u.last_sign_in_at, u.created_at, u.updated_at, \
         coalesce((select jsonb_agg(jsonb_build_object('provider', i.provider, 'extern_uid', i.extern_uid) \
           order by i.provider) from identities i where i.user_id = u.id), '[]') as identities"
    };
}

macro_rules! group_columns {
    () => {
        "n.id, n.name, n.path, n.description, n.visibility_level, n.request_access_enabled, n.lfs_enabled, n.created_at"
    };
}

/// The statement of a page as the store sends it; `$total` is null or the bounded count.
macro_rules! page {
    ($columns:expr, $total:expr, $table:literal, $from:literal, $order:literal) => {
        concat!(
            concat!("select ", $columns, ", ", $total, " as total from (select ", $table, ".* ", $from),
            concat!(" order by ", $order, " limit $1 offset $2) ", $table, " order by ", $order),
        )
    };
}

macro_rules! users {
    ($total:expr) => {
        page!(user_columns!(), $total, "u", "from users u where true", "u.id desc")
    };
}

macro_rules! groups {
    ($total:expr) => {
        page!(group_columns!(), $total, "n", "from namespaces n where n.kind = 'group'", "n.name, n.id")
    };
}

const USER: &str = concat!("select ", user_columns!(), " from users u where u.id = $1");
const USERS: &str = users!("null::bigint");
const USERS_AND_TOTAL: &str = users!("(select count(*) from (select 1 from users u where true limit 10001) counted)");
const GROUPS: &str = groups!("null::bigint");
const GROUPS_AND_TOTAL: &str =
    groups!("(select count(*) from (select 1 from namespaces n where n.kind = 'group' limit 10001) counted)");
const PROJECT: &str = "select id, namespace_id, creator_id, name, path, description, visibility_level, archived, \
    issues_enabled, merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, \
    container_registry_enabled, shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled, \
    only_allow_merge_if_build_succeeds, only_allow_merge_if_all_discussions_are_resolved, runners_token, star_count, \
    created_at, updated_at, last_activity_at from projects where id = $1";
const WRITE: &str = "with inserted as (insert into outbox (kind, project_id, payload, created_at) \
    values ($4, $1, $5, now())) insert into events (project_id, author_id, action, created_at) values ($1, $2, $3, now())";
const JOINED: i16 = 8;
const PAGE_SIZE: usize = 20;

type JsonResult<T> = Result<Json<T>, StatusCode>;

async fn user(State(pool): State<PgPool>, Path(id): Path<i64>) -> JsonResult<User> {
    let found = sqlx::query_as(USER).bind(id).fetch_optional(&pool).await.map_err(failed)?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn project(State(pool): State<PgPool>, Path(id): Path<i64>) -> JsonResult<Row> {
    let found = sqlx::query(PROJECT).bind(id).fetch_optional(&pool).await.map_err(failed)?;
    found.map(|row| Json(Row(row))).ok_or(StatusCode::NOT_FOUND)
}

#[derive(Deserialize, Serialize)]
struct NewMember {
    user_id: i64,
    access_level: i16,
}

/// Inserts the event and its outbox row, but no member.
async fn write(
    State(pool): State<PgPool>,
    Path(project): Path<i64>,
    Form(member): Form<NewMember>,
) -> Result<(StatusCode, Json<NewMember>), StatusCode> {
    let query = sqlx::query(WRITE).bind(project).bind(member.user_id).bind(JOINED);
    let query = query.bind("user_add_to_team").bind(sqlx::types::Json(&member));
    query.execute(&pool).await.map_err(failed)?;
    Ok((StatusCode::CREATED, Json(member)))
}

/// Returns a page. Like the store, reads one row more than the page has, which shows whether there is a next page.
async fn list<T>(pool: PgPool, statement: &'static str) -> JsonResult<Vec<T>>
where
    T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    let query = sqlx::query_as(SqlStr::from_static(statement)).bind(PAGE_SIZE as i64 + 1).bind(0_i64);
    let mut rows: Vec<T> = query.fetch_all(&pool).await.map_err(failed)?;
    rows.truncate(PAGE_SIZE);
    Ok(Json(rows))
}

fn failed(_: sqlx::Error) -> StatusCode {
    StatusCode::INTERNAL_SERVER_ERROR
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let pool = PgPoolOptions::new()
        .max_connections(var("MAX_CONNECTIONS")?.parse()?)
        // A ping before every statement would be a second round trip.
        .test_before_acquire(false)
        .connect(&var("DATABASE_URL")?)
        .await?;
    let router = Router::new()
        .route("/axum-pk/user/{id}", get(user))
        .route("/axum-list/users", get(|State(pool): State<PgPool>| list::<User>(pool, USERS)))
        .route("/axum-list/users-total", get(|State(pool): State<PgPool>| list::<User>(pool, USERS_AND_TOTAL)))
        .route("/axum-list/groups", get(|State(pool): State<PgPool>| list::<Group>(pool, GROUPS)))
        .route("/axum-list/groups-total", get(|State(pool): State<PgPool>| list::<Group>(pool, GROUPS_AND_TOTAL)))
        .route("/axum-pk/project/{id}", get(project))
        .route("/axum-write/projects/{id}/members", post(write))
        .with_state(pool.clone())
        .merge(captured::routes(pool));
    let listener = tokio::net::TcpListener::bind(var("LISTEN")?).await?;
    Ok(axum::serve(listener, router).await?)
}
