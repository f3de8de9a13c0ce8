//! Emoji that users give to issues, merge requests and notes, and the counters of thumbs.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{AwardId, NoteId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::note::NoteTarget;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total};
use crate::{Connection, Database, Result};

/// What an emoji is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwardTarget {
    Noteable(NoteTarget),
    Note(NoteId),
}

impl AwardTarget {
    /// Returns the values of `issue_id`, `merge_request_id` and `note_id`.
    const fn columns(self) -> (Option<i64>, Option<i64>, Option<i64>) {
        match self {
            Self::Noteable(NoteTarget::Issue(id)) => (Some(id.get()), None, None),
            Self::Noteable(NoteTarget::MergeRequest(id)) => (None, Some(id.get()), None),
            Self::Note(id) => (None, None, Some(id.get())),
        }
    }

    /// Returns the id and the type, as responses name them.
    pub const fn subject(self) -> (i64, &'static str) {
        match self {
            Self::Noteable(target) => {
                let (kind, id) = target.subject();
                (id, kind.as_str())
            }
            Self::Note(id) => (id.get(), "Note"),
        }
    }

    /// Writes the condition that the award `a` belongs to this target.
    fn push_condition(self, query: &mut QueryBuilder<Postgres>) {
        match self {
            Self::Noteable(NoteTarget::Issue(id)) => query.push("a.issue_id = ").push_bind(id.get()),
            Self::Noteable(NoteTarget::MergeRequest(id)) => query.push("a.merge_request_id = ").push_bind(id.get()),
            Self::Note(id) => query.push("a.note_id = ").push_bind(id.get()),
        };
    }
}

/// An emoji that a user gave.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Award {
    #[sqlx(try_from = "i64", rename = "award_id")]
    pub id: AwardId,
    #[sqlx(rename = "award_name")]
    pub emoji: String,
    pub created_at: DateTime<Utc>,
    #[sqlx(flatten)]
    pub user: UserSummary,
}

/// The columns of `a` and of its user `u`.
const COLUMNS: &str =
    "a.id as award_id, a.name as award_name, a.created_at, u.id, u.username, u.name, u.email, u.state";

/// Lists the emoji of a target, oldest first.
pub async fn list(database: &Database, target: AwardTarget, page: PageRequest) -> Result<Page<Award>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "a.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from award_emoji a where ");
            target.push_condition(query);
        },
        order: "a.id",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("a join users u on u.id = a.user_id");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, target: AwardTarget, id: AwardId) -> Result<Option<Award>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from award_emoji a join users u on u.id = a.user_id where ");
    target.push_condition(&mut query);
    query.push(" and a.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// The changes of the counters of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoteDelta {
    pub up: i32,
    pub down: i32,
}

/// Inserts an emoji and changes the counters. Returns None if the user has given it already.
pub async fn insert(
    connection: &mut Connection,
    target: AwardTarget,
    user: UserId,
    emoji: &str,
    votes: VoteDelta,
    now: DateTime<Utc>,
) -> Result<Option<AwardId>> {
    let (issue, merge_request, note) = target.columns();
    let id = sqlx::query_scalar!(
        "with inserted as (
           insert into award_emoji (issue_id, merge_request_id, note_id, user_id, name, created_at)
           values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id),
         counted as (update issues set upvotes = upvotes + $7, downvotes = downvotes + $8
           where id = $1 and exists (select from inserted) and ($7 <> 0 or $8 <> 0)),
         counted_request as (update merge_requests set upvotes = upvotes + $7, downvotes = downvotes + $8
           where id = $2 and exists (select from inserted) and ($7 <> 0 or $8 <> 0))
         select id from inserted",
        issue,
        merge_request,
        note,
        user.get(),
        emoji,
        now,
        votes.up,
        votes.down,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// Deletes an emoji and changes the counters back. Returns false if there is no such emoji.
pub async fn delete(connection: &mut Connection, target: AwardTarget, id: AwardId, votes: VoteDelta) -> Result<bool> {
    let (issue, merge_request, note) = target.columns();
    let deleted = sqlx::query_scalar!(
        "with gone as (
           delete from award_emoji where id = $4 and (issue_id = $1 or merge_request_id = $2 or note_id = $3)
           returning id),
         counted as (update issues set upvotes = upvotes - $5, downvotes = downvotes - $6
           where id = $1 and exists (select from gone) and ($5 <> 0 or $6 <> 0)),
         counted_request as (update merge_requests set upvotes = upvotes - $5, downvotes = downvotes - $6
           where id = $2 and exists (select from gone) and ($5 <> 0 or $6 <> 0))
         select id from gone",
        issue,
        merge_request,
        note,
        id.get(),
        votes.up,
        votes.down,
    )
    .fetch_optional(connection)
    .await?;
    Ok(deleted.is_some())
}
