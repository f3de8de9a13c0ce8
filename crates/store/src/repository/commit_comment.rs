//! Comments on commits.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{NoteId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total};
use crate::{Connection, Database, Result};

/// A comment on a commit.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct CommitComment {
    #[sqlx(try_from = "i64", rename = "comment_id")]
    pub id: NoteId,
    pub body: String,
    /// The file that the comment is about.
    pub path: Option<String>,
    line: Option<i32>,
    removed: Option<bool>,
    pub created_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub author: UserSummary,
}

/// A line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The number of the line in the new file. For a removed line, the number of the line that follows it.
    pub number: i32,
    pub is_removed: bool,
}

impl CommitComment {
    pub fn line(&self) -> Option<DiffLine> {
        Some(DiffLine { number: self.line?, is_removed: self.removed? })
    }
}

/// A comment to be created.
#[derive(Clone, Copy, Debug)]
pub struct NewComment<'a> {
    pub project: ProjectId,
    pub commit: &'a str,
    pub author: UserId,
    pub body: &'a str,
    pub path: Option<&'a str>,
    pub line: Option<DiffLine>,
}

pub async fn insert(connection: &mut Connection, comment: NewComment<'_>, now: DateTime<Utc>) -> Result<NoteId> {
    let id = sqlx::query_scalar!(
        "insert into commit_comments (project_id, commit_id, author_id, body, path, line, removed, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8) returning id",
        comment.project.get(),
        comment.commit,
        comment.author.get(),
        comment.body,
        comment.path,
        comment.line.map(|line| line.number),
        comment.line.map(|line| line.is_removed),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// The columns of `cc` and of its author `u`.
const COLUMNS: &str = "cc.id as comment_id, cc.body, cc.path, cc.line, cc.removed, cc.created_at, u.id, u.username, \
    u.name, u.email, u.state";

/// Finds a comment of a project that exists.
pub async fn find(connection: &mut Connection, project: ProjectId, id: NoteId) -> Result<CommitComment> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from commit_comments cc join users u on u.id = ");
    push_author_or_ghost(&mut query, "cc.author_id");
    query.push(" where cc.project_id = ").push_bind(project.get()).push(" and cc.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_one(connection).await?)
}

/// Lists the comments on a commit, oldest first.
pub async fn list(
    database: &Database,
    project: ProjectId,
    commit: &str,
    page: PageRequest,
) -> Result<Page<CommitComment>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "cc.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from commit_comments cc where cc.project_id = ").push_bind(project.get());
            query.push(" and cc.commit_id = ").push_bind(commit.to_owned());
        },
        order: "cc.id",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("cc join users u on u.id = ");
            push_author_or_ghost(query, "cc.author_id");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Deletes at most `limit` comments of a project, and returns how many were deleted.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, limit: i64) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from commit_comments where id in (select id from commit_comments where project_id = $1 limit $2)",
        project.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Reassigns at most `limit` comments of one author to another, and returns how many were changed.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, to: UserId, limit: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "update commit_comments set author_id = $2
         where id in (select id from commit_comments where author_id = $1 order by id limit $3)",
        from.get(),
        to.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}
