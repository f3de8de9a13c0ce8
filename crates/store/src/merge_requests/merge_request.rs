//! Merge requests, and their counters in labels.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{MergeRequestId, MilestoneId, ProjectId, UserId};
use holdfast_domain::merge_requests::{MergeRequestState, MergeStatus};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::{self, UserSummary};
use crate::planning::issue::CounterDelta;
use crate::planning::milestone::{self, Milestone};
use crate::repository::snapshot::object_id;
use crate::{Connection, Error, Result};

/// A merge request as a viewer sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct MergeRequest {
    #[sqlx(try_from = "i64", rename = "merge_request_id")]
    pub id: MergeRequestId,
    pub iid: i64,
    /// The project of the target branch.
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The path of the project, with its namespace.
    pub project_path: String,
    source_project_id: Option<i64>,
    pub source_branch: String,
    pub target_branch: String,
    pub title: String,
    pub description: Option<String>,
    #[sqlx(try_from = "i16", rename = "merge_request_state")]
    pub state: MergeRequestState,
    /// Whether the source branch is to be deleted after the merge. None if it was never set.
    pub removes_source_branch: Option<bool>,
    /// Unchecked if one of the branches was updated since the test.
    #[sqlx(try_from = "i16")]
    pub merge_status: MergeStatus,
    /// The id of the newest commit, in hexadecimal digits.
    pub head: String,
    /// The id of the commit that merged it, in hexadecimal digits.
    pub merge_commit: Option<String>,
    /// Whether it is merged when the pipeline of its head succeeds.
    pub waits_for_build: bool,
    /// Whether the waiting merge deletes the source branch.
    pub waiting_removes_source_branch: Option<bool>,
    pub notes_count: i32,
    pub upvotes: i32,
    pub downvotes: i32,
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds.
    pub time_spent: i64,
    /// Whether all discussions are resolved.
    pub discussions_resolved: bool,
    pub merged_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub labels: Vec<String>,
    pub subscribed: bool,
    #[sqlx(flatten)]
    pub author: UserSummary,
    assignee_id: Option<i64>,
    milestone_id: Option<i64>,
    /// Loaded afterwards, like the milestone, with one statement for all requests of a page.
    #[sqlx(skip)]
    pub assignee: Option<UserSummary>,
    #[sqlx(skip)]
    pub milestone: Option<Milestone>,
}

impl MergeRequest {
    /// Returns the project of the source branch, or None if it was deleted.
    pub fn source_project(&self) -> Option<ProjectId> {
        self.source_project_id.map(Into::into)
    }

    /// Returns whether the user is the author or the assignee.
    pub fn is_author_or_assignee(&self, user: UserId) -> bool {
        self.author.id == user || self.assignee_id == Some(user.get())
    }

    pub fn head_id(&self) -> Result<ObjectId> {
        ObjectId::from_hex(self.head.as_bytes()).map_err(|_| Error::invalid_value("an object id"))
    }
}

/// The columns of `mr` and of the tables that [`push_joins`] adds, as seen by `viewer (id)`, except the description.
pub(super) const COLUMNS: &str = "\
    mr.id as merge_request_id, mr.iid, mr.project_id, n.path || '/' || p.path as project_path, \
    sp.id as source_project_id, mr.source_branch, mr.target_branch, mr.title, mr.state as merge_request_state, \
    mr.removes_source_branch, encode(v.head, 'hex') as head, encode(mr.merge_commit, 'hex') as merge_commit, \
    case when mr.tested_head = v.head and mr.tested_target = t.target then mr.merge_status else 1::smallint end \
      as merge_status, \
    coalesce(mr.waiting_head = v.head and mr.state in (1, 3), false) as waits_for_build, \
    case when mr.waiting_head = v.head then mr.waiting_removes_source_branch end as waiting_removes_source_branch, \
    (select count(*) from award_emoji a where a.merge_request_id = mr.id and a.name = 'thumbsup')::integer as upvotes, \
    (select count(*) from award_emoji a where a.merge_request_id = mr.id and a.name = 'thumbsdown')::integer \
      as downvotes, \
    not exists (select from discussions d where d.merge_request_id = mr.id and d.resolved_at is null \
      and exists (select from notes x where x.discussion_id = d.id)) as discussions_resolved, \
    mr.notes_count, mr.time_estimate, mr.time_spent, mr.merged_at, mr.created_at, mr.updated_at, mr.assignee_id, \
    mr.milestone_id, \
    array(select l.title from merge_request_labels x join labels l on l.id = x.label_id \
      where x.merge_request_id = mr.id order by l.title) as labels, \
    coalesce((select s.subscribed from merge_request_subscriptions s \
      where s.merge_request_id = mr.id and s.user_id = viewer.id), \
      viewer.id in (mr.author_id, mr.assignee_id), false) as subscribed, \
    u.id, u.username, u.name, u.email, u.state";

/// Joins to the merge request `mr`: its author, its newest version, both projects and the target branch. A source project
/// that is being deleted is left out.
pub(super) fn push_joins(query: &mut QueryBuilder<Postgres>) {
    query.push(" join users u on u.id = ");
    push_author_or_ghost(query, "mr.author_id");
    query.push(
        " join projects p on p.id = mr.project_id join namespaces n on n.id = p.namespace_id \
         join lateral (select head from merge_request_versions v where v.merge_request_id = mr.id \
           order by v.number desc limit 1) v on true \
         left join projects sp on sp.id = mr.source_project_id and sp.namespace_id is not null \
         left join repositories r on r.project_id = mr.project_id \
         left join refs t on t.repository_id = r.id and t.name = 'refs/heads/' || mr.target_branch ",
    );
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    id: MergeRequestId,
    viewer: Option<UserId>,
) -> Result<Option<MergeRequest>> {
    find_by(connection, project, "mr.id", id.get(), viewer).await
}

/// Finds a merge request by its number in the target project.
pub async fn find_by_iid(
    connection: &mut Connection,
    project: ProjectId,
    iid: i64,
    viewer: Option<UserId>,
) -> Result<Option<MergeRequest>> {
    find_by(connection, project, "mr.iid", iid, viewer).await
}

async fn find_by(
    connection: &mut Connection,
    project: ProjectId,
    column: &'static str,
    number: i64,
    viewer: Option<UserId>,
) -> Result<Option<MergeRequest>> {
    let mut query = QueryBuilder::new("select mr.description, ");
    query.push(COLUMNS).push(" from (values (").push_bind(viewer.map(UserId::get));
    query.push("::bigint)) viewer (id) cross join merge_requests mr");
    push_joins(&mut query);
    query.push("where mr.project_id = ").push_bind(project.get());
    query.push(" and ").push(column).push(" = ").push_bind(number);
    let found = query.build_query_as().fetch_optional(&mut *connection).await?;
    let Some(mut request) = found else { return Ok(None) };
    load_associations(connection, std::slice::from_mut(&mut request)).await?;
    Ok(Some(request))
}

/// Finds the id of a merge request by its number in the target project.
pub async fn find_id(connection: &mut Connection, project: ProjectId, iid: i64) -> Result<Option<MergeRequestId>> {
    const QUERY: &str = "select id from merge_requests where project_id = $1 and iid = $2";
    let id: Option<i64> = sqlx::query_scalar(QUERY).bind(project.get()).bind(iid).fetch_optional(connection).await?;
    Ok(id.map(Into::into))
}

/// Returns the merge requests among these ids, with truncated descriptions as in lists. The caller has checked that the
/// viewer may read them.
pub async fn find_many(
    connection: &mut Connection,
    ids: &[MergeRequestId],
    viewer: UserId,
) -> Result<Vec<MergeRequest>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("select left(mr.description, 65536) as description, ");
    query.push(COLUMNS).push(" from (values (").push_bind(viewer.get());
    query.push("::bigint)) viewer (id) cross join merge_requests mr");
    push_joins(&mut query);
    query.push("where mr.id = any(").push_bind(ids.iter().map(|id| id.get()).collect::<Vec<_>>()).push(")");
    let mut requests: Vec<MergeRequest> = query.build_query_as().fetch_all(&mut *connection).await?;
    load_associations(connection, &mut requests).await?;
    Ok(requests)
}

/// Loads assignees and milestones: one statement each for all requests, and none if there is nothing to load.
pub(super) async fn load_associations(connection: &mut Connection, requests: &mut [MergeRequest]) -> Result<()> {
    let assignee_ids: Vec<i64> = requests.iter().filter_map(|it| it.assignee_id).collect();
    if !assignee_ids.is_empty() {
        let assignees = user::find_summaries(&mut *connection, &assignee_ids).await?;
        for request in &mut *requests {
            request.assignee = assignees.iter().find(|it| Some(it.id.get()) == request.assignee_id).cloned();
        }
    }
    let milestone_ids: Vec<i64> = requests.iter().filter_map(|it| it.milestone_id).collect();
    if !milestone_ids.is_empty() {
        let milestones = milestone::find_many(connection, &milestone_ids).await?;
        for request in requests {
            request.milestone = milestones.iter().find(|it| Some(it.id.get()) == request.milestone_id).cloned();
        }
    }
    Ok(())
}

/// The attributes of a merge request that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub title: String,
    pub description: Option<String>,
    pub state: MergeRequestState,
    pub target_branch: String,
    pub removes_source_branch: Option<bool>,
    pub assignee: Option<UserId>,
    pub milestone: Option<MilestoneId>,
}

impl From<&MergeRequest> for Attributes {
    fn from(request: &MergeRequest) -> Self {
        Self {
            title: request.title.clone(),
            description: request.description.clone(),
            state: request.state,
            target_branch: request.target_branch.clone(),
            removes_source_branch: request.removes_source_branch,
            assignee: request.assignee_id.map(Into::into),
            milestone: request.milestone_id.map(Into::into),
        }
    }
}

/// The branch that a merge request wants to merge.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub project: ProjectId,
    pub branch: &'a str,
}

/// Inserts a merge request with the next number of the project. The caller holds the row lock of the project.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    source: Source<'_>,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<MergeRequestId> {
    let id = sqlx::query_scalar!(
        "with numbered as (update projects set last_merge_request_iid = last_merge_request_iid + 1 where id = $1
           returning last_merge_request_iid)
         insert into merge_requests (project_id, iid, author_id, source_project_id, source_branch, target_branch, title,
           description, state, removes_source_branch, assignee_id, milestone_id, created_at, updated_at)
         select $1, last_merge_request_iid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12 from numbered returning id",
        project.get(),
        author.get(),
        source.project.get(),
        source.branch,
        attributes.target_branch,
        attributes.title,
        attributes.description,
        attributes.state.as_i16(),
        attributes.removes_source_branch,
        attributes.assignee.map(UserId::get),
        attributes.milestone.map(MilestoneId::get),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

pub async fn update(
    connection: &mut Connection,
    id: MergeRequestId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update merge_requests set title = $2, description = $3, state = $4, target_branch = $5,
           removes_source_branch = $6, assignee_id = $7, milestone_id = $8, updated_at = $9
         where id = $1",
        id.get(),
        attributes.title,
        attributes.description,
        attributes.state.as_i16(),
        attributes.target_branch,
        attributes.removes_source_branch,
        attributes.assignee.map(UserId::get),
        attributes.milestone.map(MilestoneId::get),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Locks the row of a merge request until the end of the transaction.
pub async fn lock(connection: &mut Connection, project: ProjectId, id: MergeRequestId) -> Result<()> {
    sqlx::query_scalar!(
        "select id from merge_requests where project_id = $1 and id = $2 for no key update",
        project.get(),
        id.get()
    )
    .fetch_optional(connection)
    .await?;
    Ok(())
}

/// Marks an open merge request as merged. Returns false if it is not open.
pub async fn set_merged(
    connection: &mut Connection,
    project: ProjectId,
    id: MergeRequestId,
    merge_commit: Option<ObjectId>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let updated = sqlx::query!(
        "update merge_requests set state = 4, merge_commit = $2, merged_at = $3, updated_at = $3
         where id = $1 and project_id = $4 and state in (1, 3)",
        id.get(),
        merge_commit.map(|id| id.as_bytes().to_vec()),
        now,
        project.get(),
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected() > 0)
}

/// Stores whether git can merge two commits.
pub async fn set_merge_status(
    connection: &mut Connection,
    id: MergeRequestId,
    status: MergeStatus,
    head: ObjectId,
    target: ObjectId,
) -> Result<()> {
    sqlx::query!(
        "update merge_requests set merge_status = $2, tested_head = $3, tested_target = $4 where id = $1",
        id.get(),
        status.as_i16(),
        head.as_bytes(),
        target.as_bytes(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets the time of the last change, unless a later one is set.
pub async fn set_updated_at(connection: &mut Connection, id: MergeRequestId, at: DateTime<Utc>) -> Result<()> {
    sqlx::query!("update merge_requests set updated_at = greatest(updated_at, $2) where id = $1", id.get(), at)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, id: MergeRequestId) -> Result<()> {
    sqlx::query!("delete from merge_requests where id = $1", id.get()).execute(connection).await?;
    Ok(())
}

/// Adds a merge request in its current state to the counters of its labels, or subtracts it. A caller that changes the
/// state or the labels subtracts the request before and adds it afterwards, while it holds the lock of the project.
pub async fn adjust_counters(connection: &mut Connection, id: MergeRequestId, delta: CounterDelta) -> Result<()> {
    sqlx::query!(
        "update labels l set open_merge_requests = l.open_merge_requests + $2
         from merge_requests mr join merge_request_labels x on x.merge_request_id = mr.id
         where mr.id = $1 and mr.state in (1, 3) and l.id = x.label_id",
        id.get(),
        delta as i32,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes at most `limit` merge requests of a project that is being removed, and returns how many were deleted.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, limit: i64) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from merge_requests where id in (select id from merge_requests where project_id = $1 limit $2)",
        project.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Reassigns at most `limit` merge requests of one author to another, and returns how many were changed.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, to: UserId, limit: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "update merge_requests set author_id = $2 where id in (
           select id from merge_requests where author_id = $1 order by id limit $3 for no key update)",
        from.get(),
        to.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}

/// Removes a user as the assignee of at most `limit` merge requests, and returns how many were changed.
pub async fn unassign_batch(connection: &mut Connection, assignee: UserId, limit: i64) -> Result<u64> {
    let updated = sqlx::query!(
        "update merge_requests set assignee_id = null where id in (
           select id from merge_requests where assignee_id = $1 order by id limit $2 for no key update)",
        assignee.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected())
}

/// A merge request and the project of its target branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeRequestRef {
    pub project: ProjectId,
    pub id: MergeRequestId,
}

/// Lists the open merge requests whose source is this branch.
pub async fn list_open_by_source(connection: &mut Connection, source: Source<'_>) -> Result<Vec<MergeRequestRef>> {
    let rows = sqlx::query!(
        "select project_id, id from merge_requests
         where source_project_id = $1 and source_branch = $2 and state in (1, 3) order by id",
        source.project.get(),
        source.branch,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| MergeRequestRef { project: row.project_id.into(), id: row.id.into() }).collect())
}

/// Lists the open merge requests into a branch, with the head of each.
pub async fn list_open_by_target(
    connection: &mut Connection,
    project: ProjectId,
    branch: &str,
) -> Result<Vec<(MergeRequestId, ObjectId)>> {
    let rows = sqlx::query!(
        r#"select mr.id, v.head as "head!" from merge_requests mr
           cross join lateral (select head from merge_request_versions v where v.merge_request_id = mr.id
             order by v.number desc limit 1) v
           where mr.project_id = $1 and mr.target_branch = $2 and mr.state in (1, 3) order by mr.id"#,
        project.get(),
        branch,
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((row.id.into(), object_id(&row.head)?))).collect()
}
