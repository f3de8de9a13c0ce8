//! The search for issues and merge requests of all projects by words of their titles.
//!
//! The titles are found by the trigram indexes `issues_title_search` and `merge_requests_title_search`, for which one of
//! the words must have at least three characters. Frequent words have more matches than can be checked: only the newest
//! ones are compared with the rights of the viewer. They are sorted by an expression, because PostgreSQL would otherwise
//! read the index of ids from its end and compare every title.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::merge_requests::MergeRequestState;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::IssueState;
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Postgres, QueryBuilder};

use crate::merge_requests::list::push_can_read;
use crate::projects::list::{Viewer, push_can_see, push_has_level};
use crate::{Connection, Result, search};

/// Maximum number of matching titles that are compared with the rights of the viewer. Arbitrary.
const MAX_COMPARED_TITLES: i64 = 20_000;

/// An issue whose title matches.
#[derive(Clone, Debug, FromRow)]
pub struct FoundIssue {
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub iid: i64,
    pub title: String,
    #[sqlx(try_from = "i16")]
    pub state: IssueState,
    pub confidential: bool,
    pub notes_count: i32,
    pub created_at: DateTime<Utc>,
}

/// A merge request whose title matches.
#[derive(Clone, Debug, FromRow)]
pub struct FoundMergeRequest {
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub iid: i64,
    pub title: String,
    #[sqlx(try_from = "i16")]
    pub state: MergeRequestState,
    pub notes_count: i32,
    pub created_at: DateTime<Utc>,
}

/// Lists the issues that the viewer can see and whose titles contain all of these words, newest first.
pub async fn list_issues(
    connection: &mut Connection,
    words: &[String],
    viewer: Viewer,
    page: PageRequest,
) -> Result<Page<FoundIssue>> {
    let mut query = QueryBuilder::new(
        "select n.path || '/' || p.path as project_path, i.iid, i.title, i.state, i.confidential, i.notes_count, \
         i.created_at from (select i.id, i.project_id, i.iid, i.title, i.state, i.confidential, i.notes_count, \
         i.created_at, i.author_id, i.assignee_id from issues i where true",
    );
    for word in words {
        query.push(" and ");
        search::push_contains(&mut query, "lower(i.title collate \"und-x-icu\") collate \"C\"", word);
    }
    query
        .push(" order by i.id + 0 desc limit ")
        .push(MAX_COMPARED_TITLES)
        .push(") i join projects p on p.id = i.project_id");
    query.push(" join namespaces n on n.id = p.namespace_id where p.issues_enabled");
    push_can_see(&mut query, viewer);
    query.push(" and (not i.confidential or ");
    push_has_level(&mut query, viewer, AccessLevel::Reporter);
    if let Some(user) = viewer.user {
        query.push(" or i.author_id = ").push_bind(user.get()).push(" or i.assignee_id = ").push_bind(user.get());
    }
    query.push(") order by i.id desc");
    fetch(connection, query, page).await
}

/// Lists the merge requests that the viewer can read and whose titles contain all of these words, newest first.
pub async fn list_merge_requests(
    connection: &mut Connection,
    words: &[String],
    viewer: Viewer,
    page: PageRequest,
) -> Result<Page<FoundMergeRequest>> {
    let mut query = QueryBuilder::new(
        "select n.path || '/' || p.path as project_path, mr.iid, mr.title, mr.state, mr.notes_count, mr.created_at \
         from (select mr.id, mr.project_id, mr.iid, mr.title, mr.state, mr.notes_count, mr.created_at \
         from merge_requests mr where true",
    );
    for word in words {
        query.push(" and ");
        search::push_contains(&mut query, "lower(mr.title collate \"und-x-icu\") collate \"C\"", word);
    }
    query.push(" order by mr.id + 0 desc limit ").push(MAX_COMPARED_TITLES);
    query.push(") mr join projects p on p.id = mr.project_id join namespaces n on n.id = p.namespace_id ");
    query.push("where p.merge_requests_enabled");
    push_can_read(&mut query, viewer);
    query.push(" order by mr.id desc");
    fetch(connection, query, page).await
}

/// Reads one page of a query, without a total. The plan depends on the words, so it is made for each request.
async fn fetch<T>(connection: &mut Connection, mut query: QueryBuilder<Postgres>, page: PageRequest) -> Result<Page<T>>
where
    T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
{
    // One row more than the page holds shows whether there is a next page.
    query.push(" limit ").push(page.size() + 1).push(" offset ").push(page.offset());
    let mut items: Vec<T> = query.build_query_as().persistent(false).fetch_all(connection).await?;
    let has_next = items.len() as i64 > page.size();
    items.truncate(page.size() as usize);
    Ok(Page { items, request: page, total: None, has_next })
}
