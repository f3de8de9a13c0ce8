//! Milestones, issues and notes that come from another server: with the numbers, the authors and the times that they had.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{IssueId, MilestoneId, ProjectId, UserId};

use super::note::NoteTarget;
use super::{issue, milestone};
use crate::{Connection, Result};

/// Returns the next number of a milestone of the project.
pub async fn reserve_milestone_number(connection: &mut Connection, project: ProjectId) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        "update projects set last_milestone_iid = last_milestone_iid + 1 where id = $1 returning last_milestone_iid",
        project.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Inserts a milestone that was created on another server, with its number there. Returns false if the project has a
/// milestone with that number or title.
pub async fn insert_milestone(
    connection: &mut Connection,
    project: ProjectId,
    iid: i64,
    attributes: &milestone::Attributes,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
) -> Result<bool> {
    let inserted = sqlx::query!(
        "insert into milestones (project_id, iid, title, description, closed, start_date, due_date, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing",
        project.get(),
        iid,
        attributes.title,
        attributes.description,
        attributes.closed,
        attributes.start_date,
        attributes.due_date,
        created_at,
        updated_at,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

/// An issue that was written on another server, with its number there.
#[derive(Clone, Debug)]
pub struct ImportedIssue {
    pub iid: i64,
    pub author: UserId,
    pub attributes: issue::Attributes,
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds.
    pub time_spent: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Inserts an issue with the number that it had. Returns None if the project has an issue with that number.
pub async fn insert_issue(
    connection: &mut Connection,
    project: ProjectId,
    issue: &ImportedIssue,
) -> Result<Option<IssueId>> {
    let attributes = &issue.attributes;
    let id = sqlx::query_scalar!(
        "insert into issues (project_id, iid, author_id, title, description, state, confidential, due_date, assignee_id,
           milestone_id, time_estimate, time_spent, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         on conflict (project_id, iid) do nothing returning id",
        project.get(),
        issue.iid,
        issue.author.get(),
        attributes.title,
        attributes.description,
        attributes.state.as_i16(),
        attributes.confidential,
        attributes.due_date,
        attributes.assignee.map(UserId::get),
        attributes.milestone.map(MilestoneId::get),
        issue.time_estimate,
        issue.time_spent,
        issue.created_at,
        issue.updated_at,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// A note that was written on another server.
#[derive(Clone, Debug)]
pub struct ImportedNote {
    pub author: UserId,
    pub body: String,
    pub system: bool,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Inserts the notes of an imported issue or merge request in this order, and counts them.
pub async fn insert_notes(connection: &mut Connection, target: NoteTarget, notes: &[ImportedNote]) -> Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let (issue, merge_request) = target.columns();
    let authors: Vec<i64> = notes.iter().map(|it| it.author.get()).collect();
    let bodies: Vec<&str> = notes.iter().map(|it| it.body.as_str()).collect();
    let system: Vec<bool> = notes.iter().map(|it| it.system).collect();
    let created: Vec<DateTime<Utc>> = notes.iter().map(|it| it.created_at).collect();
    let updated: Vec<DateTime<Utc>> = notes.iter().map(|it| it.updated_at).collect();
    let count = system.iter().filter(|is_system| !**is_system).count() as i32;
    sqlx::query!(
        "with counted as (update issues set notes_count = notes_count + $3 where id = $1),
           counted_request as (update merge_requests set notes_count = notes_count + $3 where id = $2)
         insert into notes (issue_id, merge_request_id, author_id, body, system, created_at, updated_at)
         select $1, $2, author, body, system, created, updated
         from unnest($4::bigint[], $5::text[], $6::boolean[], $7::timestamptz[], $8::timestamptz[])
           with ordinality n (author, body, system, created, updated, place) order by place",
        issue,
        merge_request,
        count,
        &authors,
        &bodies as &[&str],
        &system,
        &created,
        &updated,
    )
    .execute(connection)
    .await?;
    Ok(())
}
