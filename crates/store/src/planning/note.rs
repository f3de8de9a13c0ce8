use chrono::{DateTime, Utc};
use holdfast_domain::ids::{IssueId, NoteId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::Seen;
use sqlx::{Postgres, QueryBuilder};

use super::issue::Issue;
use crate::accounts::ghost::author_or_ghost;
use crate::accounts::user::{Person, person_columns};
use crate::page::{List, Total, named};
use crate::text::listed_text;
use crate::{Connection, Database, Result};

/// What was said about an issue.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Note {
    #[sqlx(try_from = "i64", rename = "note_id")]
    pub id: NoteId,
    #[sqlx(try_from = "i64")]
    pub issue_id: IssueId,
    pub body: String,
    /// Written by the service, of what somebody did.
    pub system: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub author: Person,
}

/// Of `nt` and its author `u`. A list names another expression for the body: those that were written before there was a
/// limit are cut to it.
macro_rules! note_columns {
    ($($body:tt)+) => {
        concat!(
            "nt.id as note_id, nt.issue_id, ",
            $($body)+,
            " as body, nt.system, nt.created_at, nt.updated_at, ",
            person_columns!()
        )
    };
}

/// The condition that the note `nt` tells of nothing that is hidden.
fn push_seen(query: &mut QueryBuilder<Postgres>, seen: Seen) {
    let user = match seen {
        Seen::All => return,
        Seen::Own(user) => Some(user.get()),
        Seen::None => None,
    };
    query.push(" and (nt.mentioned_by_id is null or exists (select from issues s where s.id = nt.mentioned_by_id ");
    query.push("and (not s.confidential or s.author_id = ").push_bind(user);
    query.push(" or s.assignee_id = ").push_bind(user).push(")))");
}

/// Oldest first, as far as the reader sees what they tell of.
pub async fn list(database: &Database, issue: IssueId, seen: Seen, page: PageRequest) -> Result<Page<Note>> {
    let list = List {
        columns: note_columns!(listed_text!("nt.body")),
        rows: "nt.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from notes nt where nt.issue_id = ").push_bind(issue.get());
            push_seen(query, seen);
        },
        order: "nt.id",
        page: named(concat!("nt join users u on u.id = ", author_or_ghost!("nt.author_id"))),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, issue: IssueId, id: NoteId, seen: Seen) -> Result<Option<Note>> {
    let mut query = QueryBuilder::new(concat!(
        "select ",
        note_columns!("nt.body"),
        " from notes nt join users u on u.id = ",
        author_or_ghost!("nt.author_id"),
        " where nt.issue_id = "
    ));
    query.push_bind(issue.get()).push(" and nt.id = ").push_bind(id.get());
    push_seen(&mut query, seen);
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Something that a person said; the issue's count goes with it.
pub async fn insert(
    connection: &mut Connection,
    issue: IssueId,
    author: UserId,
    body: &str,
    at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<NoteId> {
    let id = sqlx::query_scalar!(
        "with counted as (update issues set notes_count = notes_count + 1, updated_at = $5 where id = $1)
         insert into notes (issue_id, author_id, body, system, created_at, updated_at)
         values ($1, $2, $3, false, $4, $4) returning id",
        issue.get(),
        author.get(),
        body,
        at,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// What the service has to say of what somebody did.
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

/// Tells beneath other issues of a project, as far as the author sees them, that they were mentioned in this one; once in
/// each.
pub async fn insert_mentions(
    connection: &mut Connection,
    issue: &Issue,
    author: UserId,
    mentioned: &[i64],
    seen: Seen,
    body: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    // One that is just being deleted is not waited for.
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
        seen == Seen::All,
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

/// Whether there was one; the issue's count goes with it.
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
/// old issue. Notes by others than these authors become those of the ghost account, if there is one.
pub async fn copy(
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

/// Who said anything about an issue.
pub async fn authors(connection: &mut Connection, issue: IssueId) -> Result<Vec<i64>> {
    Ok(sqlx::query_scalar!("select distinct author_id from notes where issue_id = $1", issue.get())
        .fetch_all(connection)
        .await?)
}

/// Gives a batch of notes of one author to another. Returns how many. That the locked issues are counted makes
/// PostgreSQL lock them before it touches their notes, as a transaction that deletes an issue does.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, to: UserId, at_most: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "with batch as (select id, issue_id from notes where author_id = $1 order by issue_id, id limit $3),
           locked as (select id from issues where id in (select issue_id from batch) order by id for key share)
         update notes set author_id = $2 where id in (select id from batch) and (select count(*) from locked) >= 0",
        from.get(),
        to.get(),
        at_most,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}
