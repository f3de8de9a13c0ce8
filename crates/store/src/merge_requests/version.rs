//! Versions of merge requests: a head, and the tip of the target branch when it was recorded. A version with a new head is
//! inserted only while the repository of the source branch is locked. A change of the target branch adds a version with
//! the old head, while the merge request is locked.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{MergeRequestId, MergeRequestVersionId, ProjectId, RepositoryId};
use holdfast_git::ObjectId;

use crate::repository::snapshot::object_id;
use crate::{Connection, Result};

/// A head of a merge request, and the commits that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub id: MergeRequestVersionId,
    pub request: MergeRequestId,
    /// 1 for the version with which the merge request was opened.
    pub number: i32,
    pub head: ObjectId,
    /// The tip of the target branch when the version was created. None if there was no such branch.
    pub start: Option<ObjectId>,
    pub comparison: Option<VersionComparison>,
    pub created_at: DateTime<Utc>,
}

/// What is computed when a version is read for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionComparison {
    /// The merge base of head and start. None if they have no common ancestor.
    pub base: Option<ObjectId>,
    /// The number of files that differ between base and head.
    pub files: i32,
}

struct Row {
    id: i64,
    merge_request_id: i64,
    number: i32,
    head: Vec<u8>,
    start: Option<Vec<u8>>,
    base: Option<Vec<u8>>,
    files_count: Option<i32>,
    created_at: DateTime<Utc>,
}

impl TryFrom<Row> for Version {
    type Error = crate::Error;

    fn try_from(row: Row) -> Result<Self> {
        let base = row.base.as_deref().map(object_id).transpose()?;
        Ok(Self {
            id: row.id.into(),
            request: row.merge_request_id.into(),
            number: row.number,
            head: object_id(&row.head)?,
            start: row.start.as_deref().map(object_id).transpose()?,
            comparison: row.files_count.map(|files| VersionComparison { base, files }),
            created_at: row.created_at,
        })
    }
}

/// Lists the versions of a merge request, newest first.
pub async fn list(connection: &mut Connection, request: MergeRequestId) -> Result<Vec<Version>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, merge_request_id, number, head, start, base, files_count, created_at from merge_request_versions
         where merge_request_id = $1 order by number desc",
        request.get(),
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub async fn find(
    connection: &mut Connection,
    request: MergeRequestId,
    id: MergeRequestVersionId,
) -> Result<Option<Version>> {
    let row = sqlx::query_as!(
        Row,
        "select id, merge_request_id, number, head, start, base, files_count, created_at from merge_request_versions
         where merge_request_id = $1 and id = $2",
        request.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// Returns the newest version of a merge request that exists.
pub async fn find_newest(connection: &mut Connection, request: MergeRequestId) -> Result<Version> {
    let row = sqlx::query_as!(
        Row,
        "select id, merge_request_id, number, head, start, base, files_count, created_at from merge_request_versions
         where merge_request_id = $1 order by number desc limit 1",
        request.get(),
    )
    .fetch_one(connection)
    .await?;
    row.try_into()
}

/// Inserts a version. If the head is new, the caller holds the lock of the source repository, otherwise that of the merge
/// request.
pub async fn insert(
    connection: &mut Connection,
    request: MergeRequestId,
    head: ObjectId,
    start: Option<ObjectId>,
    is_announced: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into merge_request_versions (merge_request_id, number, head, start, announced, created_at)
         select $1, 1 + coalesce(max(number), 0), $2, $3, $4, $5 from merge_request_versions where merge_request_id = $1",
        request.get(),
        head.as_bytes(),
        start.map(|start| start.as_bytes().to_vec()),
        is_announced,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the merge base of a version and the number of files that differ.
pub async fn set_comparison(
    connection: &mut Connection,
    id: MergeRequestVersionId,
    comparison: VersionComparison,
) -> Result<()> {
    sqlx::query!(
        "update merge_request_versions set base = $2, files_count = $3 where id = $1 and files_count is null",
        id.get(),
        comparison.base.map(|base| base.as_bytes().to_vec()),
        comparison.files,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A branch that a push updates, with its new tip.
#[derive(Clone, Copy, Debug)]
pub struct PushedBranch<'a> {
    pub name: &'a str,
    /// None if the branch is deleted.
    pub tip: Option<ObjectId>,
}

/// Inserts a version into each open merge request of a pushed branch within the project. Returns whether a merge request
/// has one of the branches as its source or its target. One that is being deleted is skipped. The caller holds the lock of
/// the repository and has written the refs.
pub async fn insert_pushed(
    connection: &mut Connection,
    project: ProjectId,
    repository: RepositoryId,
    branches: &[PushedBranch<'_>],
    now: DateTime<Utc>,
) -> Result<bool> {
    let names: Vec<&str> = branches.iter().map(|it| it.name).collect();
    let tips: Vec<Option<Vec<u8>>> = branches.iter().map(|it| it.tip.map(|tip| tip.as_bytes().to_vec())).collect();
    let is_affected = sqlx::query_scalar!(
        r#"with pushed as (select * from unnest($3::text[], $4::bytea[]) p (branch, tip)),
           affected as (
             select mr.id, mr.project_id, mr.target_branch, p.tip from pushed p
             join merge_requests mr on mr.source_project_id = $1 and mr.source_branch = p.branch and mr.state in (1, 3)
             for key share of mr skip locked),
           inserted as (
             insert into merge_request_versions (merge_request_id, number, head, start, created_at)
             select a.id, v.number + 1, a.tip, t.target, $5 from affected a
             join lateral (select number, head from merge_request_versions v where v.merge_request_id = a.id
               order by number desc limit 1) v on v.head <> a.tip
             left join refs t on t.repository_id = $2 and t.name = 'refs/heads/' || a.target_branch
             where a.project_id = $1)
           select (exists (select from affected) or exists (select from merge_requests mr
             where mr.project_id = $1 and mr.target_branch = any($3) and mr.state in (1, 3))) as "is_affected!""#,
        project.get(),
        repository.get(),
        &names as &[&str],
        &tips as &[Option<Vec<u8>>],
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(is_affected)
}

/// A version that has no system note yet, and the head before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnannouncedVersion {
    pub id: MergeRequestVersionId,
    pub head: ObjectId,
    pub previous_head: ObjectId,
}

/// Lists the versions of a merge request that have no system note yet, oldest first.
pub async fn list_unannounced(connection: &mut Connection, request: MergeRequestId) -> Result<Vec<UnannouncedVersion>> {
    let rows = sqlx::query!(
        "select v.id, v.head, p.head as previous_head from merge_request_versions v
         join merge_request_versions p on p.merge_request_id = v.merge_request_id and p.number = v.number - 1
         where v.merge_request_id = $1 and not v.announced order by v.number",
        request.get(),
    )
    .fetch_all(connection)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let (head, previous_head) = (object_id(&row.head)?, object_id(&row.previous_head)?);
        found.push(UnannouncedVersion { id: row.id.into(), head, previous_head });
    }
    Ok(found)
}

/// Marks versions as announced. Returns false if one of them is marked already.
pub async fn set_announced(connection: &mut Connection, versions: &[UnannouncedVersion]) -> Result<bool> {
    let ids: Vec<i64> = versions.iter().map(|it| it.id.get()).collect();
    let updated =
        sqlx::query!("update merge_request_versions set announced = true where id = any($1) and not announced", &ids,)
            .execute(connection)
            .await?;
    Ok(updated.rows_affected() == versions.len() as u64)
}

/// Lists the newest heads of merge requests of a project with their numbers, at most `limit`: of those with these numbers,
/// or of all, newest first.
pub async fn list_heads(
    connection: &mut Connection,
    project: ProjectId,
    iids: Option<&[i64]>,
    limit: i64,
) -> Result<Vec<(i64, ObjectId)>> {
    let rows = sqlx::query!(
        r#"select mr.iid, v.head as "head!" from merge_requests mr
           cross join lateral (select head from merge_request_versions v where v.merge_request_id = mr.id
             order by v.number desc limit 1) v
           where mr.project_id = $1 and ($2::bigint[] is null or mr.iid = any($2)) order by mr.iid desc limit $3"#,
        project.get(),
        iids,
        limit,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((row.iid, object_id(&row.head)?))).collect()
}

/// Returns which of these commits are heads of versions of merge requests of a project.
pub async fn find_heads(
    connection: &mut Connection,
    project: ProjectId,
    wanted: &HashSet<ObjectId>,
) -> Result<HashSet<ObjectId>> {
    let wanted: Vec<Vec<u8>> = wanted.iter().map(|id| id.as_bytes().to_vec()).collect();
    let heads = sqlx::query_scalar!(
        "select v.head from merge_request_versions v join merge_requests mr on mr.id = v.merge_request_id
         where v.head = any($2) and mr.project_id = $1",
        project.get(),
        &wanted,
    )
    .fetch_all(connection)
    .await?;
    heads.iter().map(|head| object_id(head)).collect()
}
