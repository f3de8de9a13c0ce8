//! The issues and merge requests that need the attention of a user: those that are assigned to the user, and those of the
//! user's todos. One statement reads the first ones of each kind, through the indexes of their lists.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::TodoId;
use holdfast_domain::planning::TodoAction;
use sqlx::{Postgres, QueryBuilder};

use crate::merge_requests::list as request_list;
use crate::planning::issue_list;
use crate::planning::todo::{self, TargetKind};
use crate::{Connection, Result};

/// An issue or a merge request that needs the attention of a user.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct InboxTask {
    todo_id: Option<i64>,
    todo_action: Option<i16>,
    is_issue: bool,
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub iid: i64,
    pub title: String,
    pub confidential: bool,
    pub due_date: Option<NaiveDate>,
    pub notes_count: i32,
    /// When the todo, or the assigned issue or merge request, was created.
    pub created_at: DateTime<Utc>,
}

impl InboxTask {
    pub const fn target(&self) -> TargetKind {
        if self.is_issue { TargetKind::Issue } else { TargetKind::MergeRequest }
    }

    /// Returns the todo that it comes from, or None if it is assigned to the user.
    pub fn todo(&self) -> Option<(TodoId, TodoAction)> {
        Some((self.todo_id?.into(), self.todo_action?.try_into().ok()?))
    }
}

/// Lists the issues and the merge requests of two filters and the pending todos of their viewer, at most `limit` of each
/// and all together oldest first. Leaves out the todos about assignments: the filters select what is assigned now.
pub async fn list(
    connection: &mut Connection,
    issues: &issue_list::Filter,
    requests: &request_list::Filter,
    limit: i64,
) -> Result<Vec<InboxTask>> {
    let Some(user) = issues.viewer.user else { return Ok(Vec::new()) };
    let mut query = QueryBuilder::<Postgres>::new(
        "(select null::bigint as todo_id, null::smallint as todo_action, true as is_issue, \
         n.path || '/' || p.path as project_path, i.iid, i.title, i.confidential, i.due_date, i.notes_count, \
         i.created_at from (select found_id, place ",
    );
    issue_list::push_first(&mut query, issues, limit);
    push_end(&mut query, "place, found_id", limit);
    query.push(" page join issues i on i.id = page.found_id join projects p on p.id = i.project_id ");
    query.push("join namespaces n on n.id = p.namespace_id) union all (select null, null, false, ");
    query.push("n.path || '/' || p.path, mr.iid, mr.title, false, null, mr.notes_count, mr.created_at ");
    query.push("from (select found_id, place ");
    request_list::push_first(&mut query, requests, limit);
    push_end(&mut query, "place, found_id", limit);
    query.push(" page join merge_requests mr on mr.id = page.found_id join projects p on p.id = mr.project_id ");
    query
        .push("join namespaces n on n.id = p.namespace_id) union all (select t.id, t.action, t.issue_id is not null, ");
    query.push("n.path || '/' || p.path, coalesce(i.iid, mr.iid), coalesce(i.title, mr.title), ");
    query.push("coalesce(i.confidential, false), i.due_date, coalesce(i.notes_count, mr.notes_count), t.created_at ");
    query.push("from (select t.* ");
    todo::push_readable(&mut query, user, issues.viewer.today);
    query.push(" and not t.done and t.action <> ").push(TodoAction::Assigned.as_i16());
    push_end(&mut query, "t.id", limit);
    query.push(" t left join issues i on i.id = t.issue_id left join merge_requests mr on mr.id = t.merge_request_id ");
    query.push("join projects p on p.id = coalesce(i.project_id, mr.project_id) ");
    query.push("join namespaces n on n.id = p.namespace_id) order by created_at, is_issue, project_path, iid");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

/// Writes the end of the rows of one kind.
fn push_end(query: &mut QueryBuilder<Postgres>, order: &'static str, limit: i64) {
    query.push(" order by ").push(order).push(" limit ").push(limit).push(")");
}
