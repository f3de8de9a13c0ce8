use chrono::{DateTime, Utc};
use holdfast_domain::ids::{HookId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, Total, named};
use crate::{Connection, Database, Result};

/// A project's hook, without its token.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Hook {
    #[sqlx(try_from = "i64")]
    pub id: HookId,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    pub url: String,
    #[sqlx(flatten)]
    pub switches: Switches,
    pub created_at: DateTime<Utc>,
}

/// What a hook is told of, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Switches {
    pub push_events: bool,
    pub tag_push_events: bool,
    pub issues_events: bool,
    pub merge_requests_events: bool,
    pub note_events: bool,
    pub build_events: bool,
    pub pipeline_events: bool,
    pub wiki_page_events: bool,
    pub enable_ssl_verification: bool,
}

macro_rules! hook_columns {
    () => {
        "h.id, h.project_id, h.url, h.push_events, h.tag_push_events, h.issues_events, h.merge_requests_events, \
         h.note_events, h.build_events, h.pipeline_events, h.wiki_page_events, h.enable_ssl_verification, h.created_at"
    };
}

/// Newest first.
pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<Hook>> {
    let list = List {
        columns: hook_columns!(),
        rows: "h.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from project_hooks h where h.project_id = ").push_bind(project.get());
        },
        order: "h.id desc",
        page: named("h"),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: HookId) -> Result<Option<Hook>> {
    const QUERY: &str =
        concat!("select ", hook_columns!(), " from project_hooks h where h.project_id = $1 and h.id = $2");
    Ok(sqlx::query_as(QUERY).bind(project.get()).bind(id.get()).fetch_optional(connection).await?)
}

pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    url: &str,
    token: Option<&str>,
    s: Switches,
    now: DateTime<Utc>,
) -> Result<Hook> {
    const QUERY: &str = concat!(
        "insert into project_hooks as h (project_id, url, token, push_events, tag_push_events, issues_events, \
         merge_requests_events, note_events, build_events, pipeline_events, wiki_page_events, \
         enable_ssl_verification, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) returning ",
        hook_columns!()
    );
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(url).bind(token);
    let query = query.bind(s.push_events).bind(s.tag_push_events).bind(s.issues_events).bind(s.merge_requests_events);
    let query = query.bind(s.note_events).bind(s.build_events).bind(s.pipeline_events).bind(s.wiki_page_events);
    Ok(query.bind(s.enable_ssl_verification).bind(now).fetch_one(connection).await?)
}

/// `token` of None leaves it as it is.
pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    id: HookId,
    url: &str,
    token: Option<Option<&str>>,
    s: Switches,
    now: DateTime<Utc>,
) -> Result<Option<Hook>> {
    const QUERY: &str = concat!(
        "update project_hooks h set url = $3, token = case when $4 then $5 else token end, push_events = $6, \
         tag_push_events = $7, issues_events = $8, merge_requests_events = $9, note_events = $10, build_events = $11, \
         pipeline_events = $12, wiki_page_events = $13, enable_ssl_verification = $14, updated_at = $15 \
         where h.project_id = $1 and h.id = $2 returning ",
        hook_columns!()
    );
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(id.get()).bind(url);
    let query = query.bind(token.is_some()).bind(token.flatten());
    let query = query.bind(s.push_events).bind(s.tag_push_events).bind(s.issues_events).bind(s.merge_requests_events);
    let query = query.bind(s.note_events).bind(s.build_events).bind(s.pipeline_events).bind(s.wiki_page_events);
    Ok(query.bind(s.enable_ssl_verification).bind(now).fetch_optional(connection).await?)
}

/// The hook that was.
pub async fn delete(connection: &mut Connection, project: ProjectId, id: HookId) -> Result<Option<Hook>> {
    const QUERY: &str =
        concat!("delete from project_hooks h where h.project_id = $1 and h.id = $2 returning ", hook_columns!());
    Ok(sqlx::query_as(QUERY).bind(project.get()).bind(id.get()).fetch_optional(connection).await?)
}
