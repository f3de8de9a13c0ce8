//! The comments of a review before it is submitted. Only their author sees them.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{DiscussionId, DraftNoteId, MergeRequestId, UserId};

use super::discussion::{DiscussedLine, Position};
use crate::{Connection, Result};

/// A comment of a review that was not submitted.
#[derive(Clone, Debug)]
pub struct DraftNote {
    pub id: DraftNoteId,
    pub place: DraftPlace,
    pub body: String,
}

/// What a comment of a review is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftPlace {
    /// A line, about which the review starts a discussion.
    Line(Position),
    /// A discussion, to which it replies.
    Discussion(DiscussionId),
}

/// The author of a review and the merge request that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Review {
    pub request: MergeRequestId,
    pub author: UserId,
}

struct Row {
    id: i64,
    discussion_id: Option<i64>,
    version_id: Option<i64>,
    path: Option<String>,
    line: Option<i64>,
    is_in_base: Option<bool>,
    body: String,
}

impl TryFrom<Row> for DraftNote {
    type Error = crate::Error;

    fn try_from(row: Row) -> Result<Self> {
        let place = match (row.discussion_id, row.version_id, row.path, row.line, row.is_in_base) {
            (Some(discussion), ..) => DraftPlace::Discussion(discussion.into()),
            (None, Some(version), Some(path), Some(number), Some(is_in_base)) => {
                let line = DiscussedLine { path, number };
                DraftPlace::Line(Position { version: version.into(), line, is_in_base })
            }
            _ => return Err(crate::Error::invalid_value("the place of a draft")),
        };
        Ok(Self { id: row.id.into(), place, body: row.body })
    }
}

/// Lists the comments of a review, oldest first. The use case that adds them limits their number.
pub async fn list_all(connection: &mut Connection, review: Review) -> Result<Vec<DraftNote>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, discussion_id, version_id, path, line, is_in_base, body
         from draft_notes where merge_request_id = $1 and author_id = $2 order by id",
        review.request.get(),
        review.author.get(),
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(DraftNote::try_from).collect()
}

pub async fn count(connection: &mut Connection, review: Review) -> Result<i64> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from draft_notes where merge_request_id = $1 and author_id = $2"#,
        review.request.get(),
        review.author.get(),
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

pub async fn insert(
    connection: &mut Connection,
    review: Review,
    place: &DraftPlace,
    body: &str,
    now: DateTime<Utc>,
) -> Result<DraftNoteId> {
    let (discussion, position) = match place {
        DraftPlace::Discussion(discussion) => (Some(*discussion), None),
        DraftPlace::Line(position) => (None, Some(position)),
    };
    let id = sqlx::query_scalar!(
        "insert into draft_notes
             (merge_request_id, author_id, discussion_id, version_id, path, line, is_in_base, body, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id",
        review.request.get(),
        review.author.get(),
        discussion.map(DiscussionId::get),
        position.map(|it| it.version.get()),
        position.map(|it| it.line.path.as_str()),
        position.map(|it| it.line.number),
        position.map(|it| it.is_in_base),
        body,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// Changes the text of a comment. Returns whether the review has it.
pub async fn update(connection: &mut Connection, review: Review, id: DraftNoteId, body: &str) -> Result<bool> {
    let updated = sqlx::query!(
        "update draft_notes set body = $4 where merge_request_id = $1 and author_id = $2 and id = $3",
        review.request.get(),
        review.author.get(),
        id.get(),
        body,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() > 0)
}

/// Deletes a comment. Returns whether the review had it.
pub async fn delete(connection: &mut Connection, review: Review, id: DraftNoteId) -> Result<bool> {
    let deleted = sqlx::query!(
        "delete from draft_notes where merge_request_id = $1 and author_id = $2 and id = $3",
        review.request.get(),
        review.author.get(),
        id.get(),
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Deletes all comments of a review and returns them, oldest first.
pub async fn take_all(connection: &mut Connection, review: Review) -> Result<Vec<DraftNote>> {
    let rows = sqlx::query_as!(
        Row,
        r#"with taken as (delete from draft_notes where merge_request_id = $1 and author_id = $2 returning *)
           select id as "id!", discussion_id, version_id, path, line, is_in_base, body as "body!" from taken order by id"#,
        review.request.get(),
        review.author.get(),
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(DraftNote::try_from).collect()
}
