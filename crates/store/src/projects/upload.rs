//! Uploaded files of projects. A row is inserted before the bytes are stored (ADR 0011).

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{ProjectId, UserId};

use crate::{Connection, Result};

/// A file that was uploaded to be linked in texts.
#[derive(Clone, Debug)]
pub struct Upload {
    pub file_name: String,
    pub object_key: String,
    pub bytes: i64,
}

/// An upload that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewUpload<'a> {
    pub project: ProjectId,
    pub creator: UserId,
    pub secret: &'a str,
    pub file_name: &'a str,
    pub object_key: &'a str,
    pub bytes: i64,
}

/// Inserts the row of an upload before its bytes are stored. [`find`] does not return it before [`confirm_stored`].
pub async fn insert_intent(connection: &mut Connection, new: NewUpload<'_>, now: DateTime<Utc>) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        "insert into uploads (project_id, creator_id, secret, file_name, object_key, bytes, created_at)
         values ($1, $2, $3, $4, $5, $6, $7) returning id",
        new.project.get(),
        new.creator.get(),
        new.secret,
        new.file_name,
        new.object_key,
        new.bytes,
        now,
    )
    .fetch_one(connection)
    .await?)
}

/// Marks an upload as stored. Returns false if the sweep has deleted its row or the project has been deleted.
pub async fn confirm_stored(connection: &mut Connection, id: i64, now: DateTime<Utc>) -> Result<bool> {
    let updated = sqlx::query!(
        "update uploads u set stored_at = $2 from projects p
         where u.id = $1 and p.id = u.project_id and p.namespace_id is not null",
        id,
        now,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() > 0)
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    secret: &str,
    file_name: &str,
) -> Result<Option<Upload>> {
    Ok(sqlx::query_as!(
        Upload,
        "select file_name, object_key, bytes from uploads
         where project_id = $1 and secret = $2 and file_name = $3 and stored_at is not null",
        project.get(),
        secret,
        file_name,
    )
    .fetch_optional(connection)
    .await?)
}

/// Detaches the unfinished uploads of a project from it. The sweep deletes them.
pub async fn detach_unfinished(connection: &mut Connection, project: ProjectId) -> Result<()> {
    sqlx::query!("update uploads set project_id = null where project_id = $1 and stored_at is null", project.get())
        .execute(connection)
        .await?;
    Ok(())
}

/// The object of an upload.
#[derive(Clone, Debug)]
pub struct UploadObject {
    /// The id of the upload.
    pub id: i64,
    pub object_key: String,
}

/// Returns the objects of at most `limit` uploads of a project.
pub async fn next_project_batch(
    connection: &mut Connection,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<UploadObject>> {
    Ok(sqlx::query_as!(
        UploadObject,
        "select id, object_key from uploads where project_id = $1 limit $2",
        project.get(),
        limit,
    )
    .fetch_all(connection)
    .await?)
}

/// Returns the objects of at most `limit` uploads that were started before that time and not finished.
pub async fn next_unfinished_batch(
    connection: &mut Connection,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<UploadObject>> {
    Ok(sqlx::query_as!(
        UploadObject,
        "select id, object_key from uploads where stored_at is null and created_at < $1 order by created_at limit $2",
        before,
        limit,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn delete(connection: &mut Connection, ids: &[i64]) -> Result<()> {
    sqlx::query!("delete from uploads where id = any($1)", ids).execute(connection).await?;
    Ok(())
}
