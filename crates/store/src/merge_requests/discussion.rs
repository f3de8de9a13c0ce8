//! Discussions of merge requests. Their notes are rows of `notes`.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{DiscussionId, MergeRequestId, MergeRequestVersionId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total};
use crate::{Connection, Result};

/// A discussion, without its notes.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Discussion {
    #[sqlx(try_from = "i64")]
    pub id: DiscussionId,
    #[sqlx(try_from = "i64")]
    pub merge_request_id: MergeRequestId,
    version_id: Option<i64>,
    path: Option<String>,
    line: Option<i64>,
    is_in_base: Option<bool>,
    followed_version_id: Option<i64>,
    followed_path: Option<String>,
    followed_line: Option<i64>,
    resolved_at: Option<DateTime<Utc>>,
    resolved_by_id: Option<i64>,
    pub created_at: DateTime<Utc>,
}

/// A line of a file. The first line of a file has the number 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscussedLine {
    pub path: String,
    pub number: i64,
}

/// A line of a version of a merge request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub version: MergeRequestVersionId,
    pub line: DiscussedLine,
    /// Whether the line is in the merge base of the version instead of its head: a removed line.
    pub is_in_base: bool,
}

impl Discussion {
    /// Returns the line that the discussion was started on, if it was started on a line.
    pub fn position(&self) -> Option<Position> {
        let line = DiscussedLine { path: self.path.clone()?, number: self.line? };
        Some(Position { version: self.version_id?.into(), line, is_in_base: self.is_in_base? })
    }

    /// Returns where the line is in the newest version for which that was computed. The line is None if it is not there.
    pub fn followed(&self) -> Option<(MergeRequestVersionId, Option<DiscussedLine>)> {
        let line = self.followed_path.clone().zip(self.followed_line);
        Some((self.followed_version_id?.into(), line.map(|(path, number)| DiscussedLine { path, number })))
    }

    /// Returns the time at which the discussion was resolved and the user who did it.
    pub fn resolved(&self) -> Option<(DateTime<Utc>, UserId)> {
        Some((self.resolved_at?, self.resolved_by_id?.into()))
    }
}

const COLUMNS: &str = "d.id, d.merge_request_id, d.version_id, d.path, d.line, d.is_in_base, d.followed_version_id, \
    d.followed_path, d.followed_line, d.resolved_at, d.resolved_by_id, d.created_at";

/// Lists the discussions of a merge request, oldest first.
pub async fn list(connection: &mut Connection, request: MergeRequestId, page: PageRequest) -> Result<Page<Discussion>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "d.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from discussions d where d.merge_request_id = ").push_bind(request.get());
        },
        order: "d.id",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("d");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(connection, page).await
}

pub async fn find(
    connection: &mut Connection,
    request: MergeRequestId,
    id: DiscussionId,
) -> Result<Option<Discussion>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from discussions d where d.merge_request_id = ").push_bind(request.get());
    query.push(" and d.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Lists discussions about lines, at most `limit`: first those that are not resolved, and the oldest of them first.
pub async fn list_about_lines(
    connection: &mut Connection,
    request: MergeRequestId,
    limit: i64,
) -> Result<Vec<Discussion>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from discussions d where d.merge_request_id = ").push_bind(request.get());
    query.push(" and d.version_id is not null order by d.resolved_at is not null, d.id limit ").push_bind(limit);
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Returns the discussions of a merge request among these ids.
pub async fn find_many(
    connection: &mut Connection,
    request: MergeRequestId,
    ids: &[DiscussionId],
) -> Result<Vec<Discussion>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from discussions d where d.merge_request_id = ").push_bind(request.get());
    query.push(" and d.id = any(").push_bind(ids.iter().map(|id| id.get()).collect::<Vec<_>>()).push(")");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

pub async fn insert(
    connection: &mut Connection,
    request: MergeRequestId,
    position: Option<&Position>,
    now: DateTime<Utc>,
) -> Result<DiscussionId> {
    let id = sqlx::query_scalar!(
        "insert into discussions (merge_request_id, version_id, path, line, is_in_base, created_at)
         values ($1, $2, $3, $4, $5, $6) returning id",
        request.get(),
        position.map(|it| it.version.get()),
        position.map(|it| it.line.path.as_str()),
        position.map(|it| it.line.number),
        position.map(|it| it.is_in_base),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// Stores where the lines of discussions are in a version. Each line is None if it is not there any more.
pub async fn set_followed(
    connection: &mut Connection,
    version: MergeRequestVersionId,
    lines: &[(DiscussionId, Option<DiscussedLine>)],
) -> Result<()> {
    let ids: Vec<i64> = lines.iter().map(|(id, _)| id.get()).collect();
    let paths: Vec<Option<String>> = lines.iter().map(|(_, line)| line.as_ref().map(|it| it.path.clone())).collect();
    let numbers: Vec<Option<i64>> = lines.iter().map(|(_, line)| line.as_ref().map(|it| it.number)).collect();
    sqlx::query!(
        "with locked as (select id from discussions where id = any($2) order by id for no key update)
         update discussions d set followed_version_id = $1, followed_path = f.path, followed_line = f.line
         from unnest($2::bigint[], $3::text[], $4::bigint[]) f (id, path, line) join locked on locked.id = f.id
         where d.id = f.id and (d.followed_version_id is null or d.followed_version_id < $1)",
        version.get(),
        &ids,
        &paths as &[Option<String>],
        &numbers as &[Option<i64>],
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Resolves a discussion, or opens it again if there is no user.
pub async fn set_resolved(
    connection: &mut Connection,
    id: DiscussionId,
    user: Option<UserId>,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update discussions set resolved_at = $2, resolved_by_id = $3 where id = $1",
        id.get(),
        user.map(|_| now),
        user.map(UserId::get),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns whether a merge request has a discussion that is not resolved. One without notes does not count: nodes of the
/// previous version leave it when its last note is deleted.
pub async fn has_unresolved(connection: &mut Connection, request: MergeRequestId) -> Result<bool> {
    let query = "select exists (select from discussions d where d.merge_request_id = $1 and d.resolved_at is null \
        and exists (select from notes n where n.discussion_id = d.id))";
    Ok(sqlx::query_scalar(query).bind(request.get()).fetch_one(connection).await?)
}

/// Returns the number of notes of a discussion, and the size of their texts in bytes.
pub async fn measure(connection: &mut Connection, id: DiscussionId) -> Result<(i64, i64)> {
    let query = "select count(*), coalesce(sum(octet_length(body)), 0)::bigint from notes where discussion_id = $1";
    Ok(sqlx::query_as(query).bind(id.get()).fetch_one(connection).await?)
}

/// Deletes a discussion whose last note was deleted. The caller holds the lock of the merge request.
pub async fn delete_if_empty(connection: &mut Connection, id: DiscussionId) -> Result<()> {
    sqlx::query!(
        "delete from discussions d where d.id = $1 and not exists (select from notes n where n.discussion_id = d.id)",
        id.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}
