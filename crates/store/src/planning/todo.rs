//! Todos of users: issues and merge requests that need their attention.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NoteId, ProjectId, TodoId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::TodoAction;
use holdfast_domain::{AccessLevel, Visibility};
use holdfast_git::ObjectId;
use sqlx::{Postgres, QueryBuilder};

use super::note::NoteTarget;
use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total, count_rows};
use crate::projects::list::push_user_has_level;
use crate::{Connection, Database, Result};

/// A todo of a user.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Todo {
    #[sqlx(try_from = "i64", rename = "todo_id")]
    pub id: TodoId,
    issue_id: Option<i64>,
    merge_request_id: Option<i64>,
    note_id: Option<i64>,
    note_body: Option<String>,
    #[sqlx(try_from = "i16")]
    pub action: TodoAction,
    pub done: bool,
    pub created_at: DateTime<Utc>,
    /// The user whose action it comes from.
    #[sqlx(flatten)]
    pub author: UserSummary,
}

impl Todo {
    /// Returns the issue or the merge request that it is about. None is not possible, by a constraint of the table.
    pub fn target(&self) -> Option<NoteTarget> {
        let issue = self.issue_id.map(|id| NoteTarget::Issue(id.into()));
        issue.or(self.merge_request_id.map(|id| NoteTarget::MergeRequest(id.into())))
    }

    /// Returns the note that mentions the user, with its text.
    pub fn note(&self) -> Option<(NoteId, &str)> {
        Some((self.note_id?.into(), self.note_body.as_deref()?))
    }
}

/// The origin of new todos.
#[derive(Clone, Copy, Debug)]
pub struct NewTodo {
    pub target: NoteTarget,
    /// The note that mentions users.
    pub note: Option<NoteId>,
    pub author: UserId,
    pub action: TodoAction,
}

/// Inserts a todo. Returns None if the user has a pending one for the same target, or is being deleted.
pub async fn insert(
    connection: &mut Connection,
    user: UserId,
    todo: NewTodo,
    now: DateTime<Utc>,
) -> Result<Option<TodoId>> {
    let (issue, merge_request) = todo.target.columns();
    let id = sqlx::query_scalar!(
        "insert into todos (user_id, author_id, issue_id, merge_request_id, note_id, action, created_at)
         select id, $2, $3, $4, $5, $6, $7 from users where id = $1 for key share skip locked
         on conflict do nothing returning id",
        user.get(),
        todo.author.get(),
        issue,
        merge_request,
        todo.note.map(NoteId::get),
        todo.action.as_i16(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// Inserts todos for those of the users who are active, may read the target, and have no pending todo for it. The names
/// are in lower case.
pub async fn insert_for_usernames(
    connection: &mut Connection,
    project: ProjectId,
    usernames: &[String],
    todo: NewTodo,
    today: NaiveDate,
    now: DateTime<Utc>,
) -> Result<()> {
    let (issue, merge_request) = todo.target.columns();
    let mut query = QueryBuilder::new(
        "insert into todos (user_id, author_id, issue_id, merge_request_id, note_id, action, created_at) \
         select viewer.id, ",
    );
    query.push_bind(todo.author.get()).push(", ").push_bind(issue).push(", ").push_bind(merge_request).push(", ");
    query.push_bind(todo.note.map(NoteId::get)).push(", ").push_bind(todo.action.as_i16()).push(", ").push_bind(now);
    query.push(" from users viewer join projects p on p.id = ").push_bind(project.get());
    query.push(" left join issues i on i.id = ").push_bind(issue);
    query.push(" where lower(viewer.username) = any(").push_bind(usernames.to_vec());
    query.push(") and viewer.state = 'active' and not viewer.ghost");
    push_can_read(&mut query, today);
    // A user who is being deleted is skipped instead of waited for.
    query.push(" order by viewer.id for key share of viewer skip locked on conflict do nothing");
    query.build().execute(connection).await?;
    Ok(())
}

/// Writes the condition that the user `viewer` may read the issue `i` of the project `p` or, if there is no issue, the
/// merge requests of the project.
fn push_can_read(query: &mut QueryBuilder<Postgres>, today: NaiveDate) {
    // Authors and assignees see their confidential issues as other issues.
    const IS_PLAIN_ISSUE: &str =
        "(i.id is not null and (not i.confidential or viewer.id in (i.author_id, coalesce(i.assignee_id, 0))))";
    query.push(" and p.namespace_id is not null");
    query.push(" and case when i.id is null then p.merge_requests_enabled else p.issues_enabled end");
    query.push(" and (viewer.admin or (i.id is null or ").push(IS_PLAIN_ISSUE);
    query.push(") and p.visibility_level >= case when viewer.external then ").push(Visibility::Public.as_i16());
    query.push(" else ").push(Visibility::Internal.as_i16()).push(" end or ");
    let (guest, reporter) = (AccessLevel::Guest.as_i16(), AccessLevel::Reporter.as_i16());
    let min_level = format!("case when {IS_PLAIN_ISSUE} then {guest} else {reporter} end");
    let push_viewer = |query: &mut QueryBuilder<Postgres>| {
        query.push("viewer.id");
    };
    push_user_has_level(query, push_viewer, &min_level, today);
    query.push(")");
}

/// Inserts todos for the authors of the open merge requests whose head is this commit of a branch. Those that are being
/// deleted are skipped instead of waited for.
pub async fn insert_for_failed_pipeline(
    connection: &mut Connection,
    project: ProjectId,
    branch: &str,
    head: ObjectId,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "insert into todos (user_id, author_id, merge_request_id, action, created_at)
         select u.id, u.id, mr.id, $4, $5 from merge_requests mr join users u on u.id = mr.author_id
         where mr.source_project_id = $1 and mr.source_branch = $2 and mr.state in (1, 3) and u.state = 'active'
           and $3 = (select v.head from merge_request_versions v where v.merge_request_id = mr.id
             order by v.number desc limit 1)
         order by mr.id for key share of mr, u skip locked on conflict do nothing",
        project.get(),
        branch,
        head.as_bytes(),
        TodoAction::BuildFailed.as_i16(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Completes the todos about the failed pipeline of a commit of a branch.
pub async fn complete_for_pipeline(
    connection: &mut Connection,
    project: ProjectId,
    branch: &str,
    head: ObjectId,
) -> Result<()> {
    sqlx::query!(
        "update todos set done = true where id in (
           select t.id from merge_requests mr join todos t on t.merge_request_id = mr.id and t.user_id = mr.author_id
           where mr.source_project_id = $1 and mr.source_branch = $2 and mr.state in (1, 3) and not t.done and t.action = $4
             and $3 = (select v.head from merge_request_versions v where v.merge_request_id = mr.id
               order by v.number desc limit 1)
           order by t.id for no key update of t)",
        project.get(),
        branch,
        head.as_bytes(),
        TodoAction::BuildFailed.as_i16(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Completes the pending todo of a user for a target, if there is one.
pub async fn complete(connection: &mut Connection, user: UserId, target: NoteTarget) -> Result<()> {
    let (issue, merge_request) = target.columns();
    sqlx::query!(
        "update todos set done = true where user_id = $1 and not done and (issue_id = $2 or merge_request_id = $3)",
        user.get(),
        issue,
        merge_request,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The kind of what todos are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    Issue,
    MergeRequest,
}

/// The todos that a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub is_done: bool,
    pub action: Option<TodoAction>,
    pub author: Option<UserId>,
    pub project: Option<ProjectId>,
    pub kind: Option<TargetKind>,
}

impl Filter {
    pub(super) fn push(&self, query: &mut QueryBuilder<Postgres>) {
        query.push(" and t.done = ").push(self.is_done);
        if let Some(action) = self.action {
            query.push(" and t.action = ").push_bind(action.as_i16());
        }
        if let Some(author) = self.author {
            query.push(" and t.author_id = ").push_bind(author.get());
        }
        if let Some(project) = self.project {
            query.push(" and p.id = ").push_bind(project.get());
        }
        match self.kind {
            None => {}
            Some(TargetKind::Issue) => drop(query.push(" and t.issue_id is not null")),
            Some(TargetKind::MergeRequest) => drop(query.push(" and t.merge_request_id is not null")),
        }
    }
}

/// Writes the todos `t` of a user whose targets the user may read: `from todos t … where …`.
pub(crate) fn push_readable(query: &mut QueryBuilder<Postgres>, user: UserId, today: NaiveDate) {
    query.push(
        "from todos t join users viewer on viewer.id = t.user_id left join issues i on i.id = t.issue_id \
         left join merge_requests mr on mr.id = t.merge_request_id \
         join projects p on p.id = coalesce(i.project_id, mr.project_id) where t.user_id = ",
    );
    query.push_bind(user.get());
    push_can_read(query, today);
}

/// The columns of `t`, of its author `u` and of its note `nt`. Texts that were stored before there was a limit are
/// truncated.
const COLUMNS: &str = "t.id as todo_id, t.issue_id, t.merge_request_id, t.note_id, left(nt.body, 65536) as note_body, \
    t.action, t.done, t.created_at, u.id, u.username, u.name, u.email, u.state";

fn push_joins(query: &mut QueryBuilder<Postgres>) {
    query.push(" left join notes nt on nt.id = t.note_id join users u on u.id = ");
    push_author_or_ghost(query, "t.author_id");
}

/// Lists the todos of a user, newest first.
pub async fn list(
    database: &Database,
    user: UserId,
    filter: &Filter,
    today: NaiveDate,
    page: PageRequest,
) -> Result<Page<Todo>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "t.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            push_readable(query, user, today);
            filter.push(query);
        },
        order: "t.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("t");
            push_joins(query);
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Counts the pending todos of a user, up to the largest total that is shown.
pub async fn count_pending(connection: &mut Connection, user: UserId, today: NaiveDate) -> Result<i64> {
    let push_from = |query: &mut QueryBuilder<Postgres>, _| {
        push_readable(query, user, today);
        Filter::default().push(query);
    };
    count_rows(connection, push_from).await
}

pub async fn find(connection: &mut Connection, user: UserId, id: TodoId, today: NaiveDate) -> Result<Option<Todo>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from (select t.* ");
    push_readable(&mut query, user, today);
    query.push(" and t.id = ").push_bind(id.get()).push(") t");
    push_joins(&mut query);
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Completes one todo of a user.
pub async fn complete_one(connection: &mut Connection, user: UserId, id: TodoId) -> Result<()> {
    sqlx::query!("update todos set done = true where user_id = $1 and id = $2", user.get(), id.get())
        .execute(connection)
        .await?;
    Ok(())
}

/// Completes the todos of a user that a list shows, and returns their number.
pub async fn complete_all(connection: &mut Connection, user: UserId, filter: &Filter, today: NaiveDate) -> Result<u64> {
    let mut query = QueryBuilder::new("update todos set done = true where not done and id in (select t.id ");
    push_readable(&mut query, user, today);
    filter.push(&mut query);
    query.push(" order by t.id for no key update of t)");
    Ok(query.build().execute(connection).await?.rows_affected())
}
