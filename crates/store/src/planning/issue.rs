//! Issues, and the counters of issues in projects and labels.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{IssueId, MilestoneId, ProjectId, UserId};
use holdfast_domain::planning::IssueState;
use sqlx::{Postgres, QueryBuilder};

use super::milestone::{self, Milestone};
use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::{self, UserSummary};
use crate::{Connection, Result};

/// An issue as a viewer sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Issue {
    #[sqlx(try_from = "i64", rename = "issue_id")]
    pub id: IssueId,
    pub iid: i64,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub title: String,
    pub description: Option<String>,
    #[sqlx(try_from = "i16", rename = "issue_state")]
    pub state: IssueState,
    pub confidential: bool,
    pub due_date: Option<NaiveDate>,
    pub notes_count: i32,
    pub upvotes: i32,
    pub downvotes: i32,
    /// Seconds.
    pub time_estimate: i64,
    /// Seconds.
    pub time_spent: i64,
    pub moved_to_id: Option<i64>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub labels: Vec<String>,
    pub subscribed: bool,
    #[sqlx(flatten)]
    pub author: UserSummary,
    assignee_id: Option<i64>,
    milestone_id: Option<i64>,
    /// Loaded afterwards, like the milestone, with one statement for all issues of a page.
    #[sqlx(skip)]
    pub assignee: Option<UserSummary>,
    #[sqlx(skip)]
    pub milestone: Option<Milestone>,
}

impl Issue {
    /// Returns whether the user is the author or the assignee.
    pub fn is_author_or_assignee(&self, user: UserId) -> bool {
        self.author.id == user || self.assignee_id == Some(user.get())
    }
}

/// The columns of `i` and of the tables that [`push_joins`] adds, as seen by `viewer (id)`, except the description.
/// Lists truncate descriptions that were stored before there was a limit.
pub(super) const ISSUE_COLUMNS: &str = "\
    i.id as issue_id, i.iid, i.project_id, n.path || '/' || p.path as project_path, i.title, \
    i.state as issue_state, i.confidential, i.due_date, i.notes_count, \
    (select count(*) from award_emoji a where a.issue_id = i.id and a.name = 'thumbsup')::integer as upvotes, \
    (select count(*) from award_emoji a where a.issue_id = i.id and a.name = 'thumbsdown')::integer as downvotes, \
    i.time_estimate, i.time_spent, i.moved_to_id, i.created_at, i.updated_at, \
    i.assignee_id, i.milestone_id, array(select l.title from issue_labels x join labels l on l.id = x.label_id \
      where x.issue_id = i.id order by l.title) as labels, \
    coalesce((select s.subscribed from issue_subscriptions s where s.issue_id = i.id and s.user_id = viewer.id), \
      viewer.id in (i.author_id, i.assignee_id), false) as subscribed, \
    u.id, u.username, u.name, u.email, u.state";

/// Joins the author, the project and its namespace to the issue `i`.
pub(super) fn push_joins(query: &mut QueryBuilder<Postgres>) {
    query.push(" join users u on u.id = ");
    push_author_or_ghost(query, "i.author_id");
    query.push(" join projects p on p.id = i.project_id join namespaces n on n.id = p.namespace_id ");
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    id: IssueId,
    viewer: Option<UserId>,
) -> Result<Option<Issue>> {
    let mut query = QueryBuilder::new("select i.description, ");
    query.push(ISSUE_COLUMNS).push(" from (values (").push_bind(viewer.map(UserId::get));
    query.push("::bigint)) viewer (id) cross join issues i");
    push_joins(&mut query);
    query.push("where i.project_id = ").push_bind(project.get()).push(" and i.id = ").push_bind(id.get());
    let found = query.build_query_as().fetch_optional(&mut *connection).await?;
    let Some(mut issue) = found else { return Ok(None) };
    load_associations(connection, std::slice::from_mut(&mut issue)).await?;
    Ok(Some(issue))
}

/// Returns the issues among these ids, with truncated descriptions as in lists. The caller has checked that the viewer may
/// read them.
pub async fn find_many(connection: &mut Connection, ids: &[IssueId], viewer: UserId) -> Result<Vec<Issue>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("select left(i.description, 65536) as description, ");
    query.push(ISSUE_COLUMNS).push(" from (values (").push_bind(viewer.get());
    query.push("::bigint)) viewer (id) cross join issues i");
    push_joins(&mut query);
    query.push("where i.id = any(").push_bind(ids.iter().map(|id| id.get()).collect::<Vec<_>>()).push(")");
    let mut issues: Vec<Issue> = query.build_query_as().fetch_all(&mut *connection).await?;
    load_associations(connection, &mut issues).await?;
    Ok(issues)
}

/// Finds the id of an issue by its number in the project.
pub async fn find_id(connection: &mut Connection, project: ProjectId, iid: i64) -> Result<Option<IssueId>> {
    let id = sqlx::query_scalar!("select id from issues where project_id = $1 and iid = $2", project.get(), iid)
        .fetch_optional(connection)
        .await?;
    Ok(id.map(Into::into))
}

/// Returns the ids of the issues of a project that have one of these numbers, by number.
pub async fn list_ids(connection: &mut Connection, project: ProjectId, iids: &[i64]) -> Result<Vec<IssueId>> {
    const QUERY: &str = "select id from issues where project_id = $1 and iid = any($2) order by iid";
    let ids: Vec<i64> = sqlx::query_scalar(QUERY).bind(project.get()).bind(iids).fetch_all(connection).await?;
    Ok(ids.into_iter().map(Into::into).collect())
}

/// Loads assignees and milestones: one statement each for all issues, and none if there is nothing to load.
pub(super) async fn load_associations(connection: &mut Connection, issues: &mut [Issue]) -> Result<()> {
    let assignee_ids: Vec<i64> = issues.iter().filter_map(|it| it.assignee_id).collect();
    if !assignee_ids.is_empty() {
        let assignees = user::find_summaries(&mut *connection, &assignee_ids).await?;
        for issue in &mut *issues {
            issue.assignee = assignees.iter().find(|it| Some(it.id.get()) == issue.assignee_id).cloned();
        }
    }
    let milestone_ids: Vec<i64> = issues.iter().filter_map(|it| it.milestone_id).collect();
    if !milestone_ids.is_empty() {
        let milestones = milestone::find_many(connection, &milestone_ids).await?;
        for issue in issues {
            issue.milestone = milestones.iter().find(|it| Some(it.id.get()) == issue.milestone_id).cloned();
        }
    }
    Ok(())
}

/// The attributes of an issue that can be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub title: String,
    pub description: Option<String>,
    pub state: IssueState,
    pub confidential: bool,
    pub due_date: Option<NaiveDate>,
    pub assignee: Option<UserId>,
    pub milestone: Option<MilestoneId>,
}

impl From<&Issue> for Attributes {
    fn from(issue: &Issue) -> Self {
        Self {
            title: issue.title.clone(),
            description: issue.description.clone(),
            state: issue.state,
            confidential: issue.confidential,
            due_date: issue.due_date,
            assignee: issue.assignee_id.map(Into::into),
            milestone: issue.milestone_id.map(Into::into),
        }
    }
}

/// Inserts an issue with the next number of the project. The caller holds the row lock of the project (ADR 0019): the
/// number and the counters are columns of that row.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    author: UserId,
    attributes: &Attributes,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<IssueId> {
    let id = sqlx::query_scalar!(
        "with numbered as (update projects set last_issue_iid = last_issue_iid + 1 where id = $1 returning last_issue_iid)
         insert into issues (project_id, iid, author_id, title, description, state, confidential, due_date, assignee_id,
           milestone_id, created_at, updated_at)
         select $1, last_issue_iid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 from numbered returning id",
        project.get(),
        author.get(),
        attributes.title,
        attributes.description,
        attributes.state.as_i16(),
        attributes.confidential,
        attributes.due_date,
        attributes.assignee.map(UserId::get),
        attributes.milestone.map(MilestoneId::get),
        created_at,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

pub async fn update(
    connection: &mut Connection,
    id: IssueId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update issues set title = $2, description = $3, state = $4, confidential = $5, due_date = $6, assignee_id = $7,
           milestone_id = $8, updated_at = $9
         where id = $1",
        id.get(),
        attributes.title,
        attributes.description,
        attributes.state.as_i16(),
        attributes.confidential,
        attributes.due_date,
        attributes.assignee.map(UserId::get),
        attributes.milestone.map(MilestoneId::get),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn set_moved_to(connection: &mut Connection, id: IssueId, to: IssueId) -> Result<()> {
    sqlx::query!("update issues set moved_to_id = $2 where id = $1", id.get(), to.get()).execute(connection).await?;
    Ok(())
}

pub async fn delete(connection: &mut Connection, id: IssueId) -> Result<()> {
    sqlx::query!("delete from issues where id = $1", id.get()).execute(connection).await?;
    Ok(())
}

/// Locks the issue's row until the end of the transaction. Numbers of new issues are protected by the row lock of the
/// project instead.
pub async fn lock(connection: &mut Connection, project: ProjectId, id: IssueId) -> Result<()> {
    sqlx::query_scalar!(
        "select id from issues where project_id = $1 and id = $2 for no key update",
        project.get(),
        id.get()
    )
    .fetch_optional(connection)
    .await?;
    Ok(())
}

/// Whether [`adjust_counters`] adds or subtracts an issue.
#[derive(Clone, Copy, Debug)]
pub enum CounterDelta {
    Increment = 1,
    Decrement = -1,
}

/// Adds an issue in its current state to the counters of its project and its labels, or subtracts it. A caller that
/// changes a counted attribute subtracts the issue before and adds it afterwards, while it holds the lock of the
/// project.
pub async fn adjust_counters(connection: &mut Connection, id: IssueId, delta: CounterDelta) -> Result<()> {
    sqlx::query!(
        "with i as (
           select id, project_id,
             case when not closed and not confidential then $2::integer else 0 end as open,
             case when closed and not confidential then $2::integer else 0 end as done,
             case when not closed and confidential then $2::integer else 0 end as hidden_open,
             case when closed and confidential then $2::integer else 0 end as hidden_done
           from issues where id = $1),
         counted as (
           update labels l set open_issues = l.open_issues + i.open, closed_issues = l.closed_issues + i.done,
             open_confidential_issues = l.open_confidential_issues + i.hidden_open,
             closed_confidential_issues = l.closed_confidential_issues + i.hidden_done
           from i join issue_labels x on x.issue_id = i.id where l.id = x.label_id)
         update projects p set open_issues = p.open_issues + i.open,
           open_confidential_issues = p.open_confidential_issues + i.hidden_open
         from i where p.id = i.project_id and i.open + i.hidden_open <> 0",
        id.get(),
        delta as i32,
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn set_subscribed(connection: &mut Connection, id: IssueId, user: UserId, is_subscribed: bool) -> Result<()> {
    sqlx::query!(
        "insert into issue_subscriptions (issue_id, user_id, subscribed) values ($1, $2, $3)
         on conflict (issue_id, user_id) do update set subscribed = $3",
        id.get(),
        user.get(),
        is_subscribed,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes at most `limit` issues of a project that is being removed, and returns how many were deleted.
pub async fn delete_project_batch(connection: &mut Connection, project: ProjectId, limit: i64) -> Result<u64> {
    let deleted = sqlx::query!(
        "delete from issues where id in (select id from issues where project_id = $1 limit $2)",
        project.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(deleted.rows_affected())
}

/// Reassigns at most `limit` issues of one author to another, and returns how many were changed.
pub async fn reassign_batch(connection: &mut Connection, from: UserId, to: UserId, limit: i64) -> Result<u64> {
    let reassigned = sqlx::query!(
        "update issues set author_id = $2 where id in (
           select id from issues where author_id = $1 order by id limit $3 for no key update)",
        from.get(),
        to.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(reassigned.rows_affected())
}

/// Removes a user as the assignee of at most `limit` issues, and returns how many were changed.
pub async fn unassign_batch(connection: &mut Connection, assignee: UserId, limit: i64) -> Result<u64> {
    let updated = sqlx::query!(
        "update issues set assignee_id = null where id in (
           select id from issues where assignee_id = $1 order by id limit $2 for no key update)",
        assignee.get(),
        limit,
    )
    .execute(connection)
    .await?;
    Ok(updated.rows_affected())
}
