//! Emoji that users give to issues, merge requests and notes.

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

/// Inserts an emoji. Returns None if the user has given it already.
pub async fn insert(
    connection: &mut Connection,
    target: AwardTarget,
    user: UserId,
    emoji: &str,
    now: DateTime<Utc>,
) -> Result<Option<AwardId>> {
    let (issue, merge_request, note) = target.columns();
    let id = sqlx::query_scalar!(
        "insert into award_emoji (issue_id, merge_request_id, note_id, user_id, name, created_at)
         values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id",
        issue,
        merge_request,
        note,
        user.get(),
        emoji,
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// Deletes an emoji. Returns false if there is no such emoji.
pub async fn delete(connection: &mut Connection, target: AwardTarget, id: AwardId) -> Result<bool> {
    let (issue, merge_request, note) = target.columns();
    let deleted = sqlx::query!(
        "delete from award_emoji where id = $4 and (issue_id = $1 or merge_request_id = $2 or note_id = $3)",
        issue,
        merge_request,
        note,
        id.get(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() > 0)
}
