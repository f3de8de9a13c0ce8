//! Todos of a user with the titles of their issues and merge requests, read with one statement.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NoteId, TodoId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::TodoAction;
use sqlx::{Postgres, QueryBuilder};

use super::todo::{Filter, TargetKind, push_readable};
use crate::accounts::ghost::push_author_or_ghost;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total};
use crate::{Connection, Result};

/// A todo as a row of a list.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct TodoRow {
    #[sqlx(try_from = "i64", rename = "todo_id")]
    pub id: TodoId,
    #[sqlx(try_from = "i16")]
    pub action: TodoAction,
    pub done: bool,
    pub created_at: DateTime<Utc>,
    is_issue: bool,
    note_id: Option<i64>,
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub iid: i64,
    pub title: String,
    pub confidential: bool,
    /// The user whose action it comes from.
    #[sqlx(flatten)]
    pub author: UserSummary,
}

impl TodoRow {
    pub const fn target(&self) -> TargetKind {
        if self.is_issue { TargetKind::Issue } else { TargetKind::MergeRequest }
    }

    /// Returns the note that mentions the user.
    pub fn note(&self) -> Option<NoteId> {
        self.note_id.map(Into::into)
    }
}

const COLUMNS: &str = "t.id as todo_id, t.action, t.done, t.created_at, t.issue_id is not null as is_issue, t.note_id, \
    pn.path || '/' || p.path as project_path, coalesce(i.iid, mr.iid) as iid, coalesce(i.title, mr.title) as title, \
    coalesce(i.confidential, false) as confidential, u.id, u.username, u.name, u.email, u.state";

/// Lists the todos of a user whose targets the user may read, newest first.
pub async fn list(
    connection: &mut Connection,
    user: UserId,
    filter: &Filter,
    today: NaiveDate,
    page: PageRequest,
) -> Result<Page<TodoRow>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "t.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            push_readable(query, user, today);
            filter.push(query);
        },
        order: "t.id desc",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("t left join issues i on i.id = t.issue_id ");
            query.push("left join merge_requests mr on mr.id = t.merge_request_id ");
            query.push("join projects p on p.id = coalesce(i.project_id, mr.project_id) ");
            query.push("join namespaces pn on pn.id = p.namespace_id join users u on u.id = ");
            push_author_or_ghost(query, "t.author_id");
        },
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(connection, page).await
}
