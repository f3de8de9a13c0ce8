//! Notes and system notes on issues.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{IssueId, NoteId, UserId};
use holdfast_domain::page::{MAX_COUNTED_TOTAL, Page, PageRequest};
use holdfast_domain::planning::ConfidentialAccess;
use sqlx::{Postgres, QueryBuilder};

use super::issue::Issue;
use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total};
use crate::{Connection, Database, Result};

/// A note on an issue.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Note {
    #[sqlx(try_from = "i64", rename = "note_id")]
    pub id: NoteId,
    #[sqlx(try_from = "i64")]
    pub issue_id: IssueId,
    pub body: String,
    /// Whether it is a system note: written by the server about a change.
    pub system: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub author: UserSummary,
}

/// The columns of `nt` and of its author `u`.
const COLUMNS: &str = "nt.id as note_id, nt.issue_id, nt.body, nt.system, nt.created_at, nt.updated_at, \
    u.id, u.username, u.name, u.email, u.state";

/// Like [`COLUMNS`], but truncates bodies that were stored before there was a limit.
const LIST_COLUMNS: &str = "nt.id as note_id, nt.issue_id, left(nt.body, 65536) as body, nt.system, nt.created_at, \
    nt.updated_at, u.id, u.username, u.name, u.email, u.state";

/// Writes the condition that the note `nt` does not mention a confidential issue that is hidden from the viewer.
fn push_visible(query: &mut QueryBuilder<Postgres>, confidential_access: ConfidentialAccess) {
    let user = match confidential_access {
        ConfidentialAccess::All => return,
        ConfidentialAccess::Own(user) => Some(user.get()),
        ConfidentialAccess::None => None,
    };
    query.push(" and (nt.mentioned_by_id is null or exists (select from issues s where s.id = nt.mentioned_by_id ");
    query.push("and (not s.confidential or s.author_id = ").push_bind(user);
    query.push(" or s.assignee_id = ").push_bind(user).push(")))");
}

/// Lists the notes of an issue, oldest first. Mentions in issues that are hidden from the viewer are left out.
pub async fn list(
    database: &Database,
    issue: IssueId,
    confidential_access: ConfidentialAccess,
    page: PageRequest,
) -> Result<Page<Note>> {
    let list = PagedQuery {
        columns: LIST_COLUMNS,
        rows: "nt.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from notes nt where nt.issue_id = ").push_bind(issue.get());
            push_visible(query, confidential_access);
        },
        order: "nt.id",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("nt join users u on u.id = ");
            push_author_or_ghost(query, "nt.author_id");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(
    connection: &mut Connection,
    issue: IssueId,
    id: NoteId,
    confidential_access: ConfidentialAccess,
) -> Result<Option<Note>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from notes nt join users u on u.id = ");
    push_author_or_ghost(&mut query, "nt.author_id");
    query.push(" where nt.issue_id = ").push_bind(issue.get()).push(" and nt.id = ").push_bind(id.get());
    push_visible(&mut query, confidential_access);
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Returns how many notes of an issue precede this one in its list, at most [`MAX_COUNTED_TOTAL`].
pub async fn count_before(
    connection: &mut Connection,
    issue: IssueId,
    id: NoteId,
    confidential_access: ConfidentialAccess,
) -> Result<i64> {
    let mut query = QueryBuilder::new("select count(*) from (select from notes nt where nt.issue_id = ");
    query.push_bind(issue.get()).push(" and nt.id < ").push_bind(id.get());
    push_visible(&mut query, confidential_access);
    query.push(" limit ").push(MAX_COUNTED_TOTAL).push(") counted");
    Ok(query.build_query_scalar().fetch_one(connection).await?)
}

/// Inserts a note of a user and increments the issue's count of notes.
pub async fn insert(
    connection: &mut Connection,
    issue: IssueId,
    author: UserId,
    body: &str,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<NoteId> {
    let id = sqlx::query_scalar!(
        "with counted as (update issues set notes_count = notes_count + 1, updated_at = $5 where id = $1)
         insert into notes (issue_id, author_id, body, system, created_at, updated_at)
         values ($1, $2, $3, false, $4, $4) returning id",
        issue.get(),
        author.get(),
        body,
        created_at,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// Inserts system notes about a change that the author made.
pub async fn insert_system(
    connection: &mut Connection,
    issue: IssueId,
    author: UserId,
    bodies: &[String],
    now: DateTime<Utc>,
) -> Result<()> {
    if bodies.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "insert into notes (issue_id, author_id, body, system, created_at, updated_at)
         select $1, $2, body, true, $4, $4 from unnest($3::text[]) with ordinality b (body, place) order by place",
        issue.get(),
        author.get(),
        bodies,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Inserts a system note into each issue that is mentioned in this one, if its author sees it. There is at most one
/// such note for each pair of issues.
pub async fn insert_mentions(
    connection: &mut Connection,
    issue: &Issue,
    author: UserId,
    mentioned: &[i64],
    confidential_access: ConfidentialAccess,
    body: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    // An issue that is being deleted is skipped instead of waited for.
    sqlx::query!(
        "with mentioned as (
           select id from issues where project_id = $1 and iid = any($4) and id <> $2
             and (not confidential or $7 or $3 in (author_id, assignee_id)) for key share skip locked)
         insert into notes (issue_id, author_id, body, system, mentioned_by_id, created_at, updated_at)
         select id, $3, $5, true, $2, $6, $6 from mentioned on conflict do nothing",
        issue.project_id.get(),
        issue.id.get(),
        author.get(),
        mentioned,
        body,
        now,
        confidential_access == ConfidentialAccess::All,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn update(
    connection: &mut Connection,
    issue: IssueId,
    id: NoteId,
    body: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update notes set body = $3, updated_at = $4 where issue_id = $1 and id = $2",
        issue.get(),
        id.get(),
        body,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a note and decrements the issue's count of notes. Returns false if there is no such note, or if it is a
/// system note.
pub async fn delete(connection: &mut Connection, issue: IssueId, id: NoteId) -> Result<bool> {
    let counted = sqlx::query!(
        "with gone as (delete from notes where issue_id = $1 and id = $2 and not system returning 1)
         update issues set notes_count = notes_count - 1 where id = $1 and exists (select from gone)",
        issue.get(),
        id.get(),
    )
    .execute(connection)
    .await?;
    Ok(counted.rows_affected() > 0)
}

/// Copies the notes of one issue to another. Mention notes are not copied, since the mentioning text still links to the
/// old issue. Notes of authors who are not among `authors` are assigned to the ghost account, if there is one.
pub async fn copy_to_issue(
    connection: &mut Connection,
    from: IssueId,
    to: IssueId,
    authors: &[i64],
    ghost: Option<UserId>,
) -> Result<()> {
    sqlx::query!(
        "with copied as (
           insert into notes (issue_id, author_id, body, system, created_at, updated_at)
           select $2, case when author_id = any($3) then author_id else coalesce($4, author_id) end, body, system,
             created_at, updated_at
           from notes where issue_id = $1 and mentioned_by_id is null order by id
           returning system)
         update issues set notes_count = (select count(*) from copied where not system) where id = $2",
        from.get(),
        to.get(),
        authors,
        ghost.map(UserId::get),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the ids of the users who have written notes on an issue.
pub async fn list_author_ids(connection: &mut Connection, issue: IssueId) -> Result<Vec<i64>> {
    Ok(sqlx::query_scalar!("select distinct author_id from notes where issue_id = $1", issue.get())
        .fetch_all(connection)
        .await?)
}

/// Reassigns at most `limit` notes of one author to another, and returns how many were changed. Counting the locked
/// issues makes PostgreSQL lock them before it updates their notes, in the same order as a transaction that deletes an
/// issue.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, to: UserId, limit: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "with batch as (select id, issue_id from notes where author_id = $1 order by issue_id, id limit $3),
           locked as (select id from issues where id in (select issue_id from batch) order by id for key share)
         update notes set author_id = $2 where id in (select id from batch) and (select count(*) from locked) >= 0",
        from.get(),
        to.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}
