//! Labels of projects, their subscriptions, and their assignment to issues and merge requests.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{IssueId, LabelId, MergeRequestId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{Color, ConfidentialAccess, LabelTitle};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total};
use crate::search::push_contains;
use crate::{Connection, Database, Result};

/// A label with the numbers of its issues that the viewer sees.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Label {
    #[sqlx(try_from = "i64")]
    pub id: LabelId,
    pub title: String,
    pub color: String,
    pub description: Option<String>,
    pub priority: Option<i32>,
    pub open_issues: i32,
    pub closed_issues: i32,
    pub open_merge_requests: i32,
    pub subscribed: bool,
}

/// The viewer of labels.
#[derive(Clone, Copy, Debug)]
pub struct LabelViewer {
    pub user: Option<UserId>,
    /// The confidential issues that are counted.
    pub confidential_access: ConfidentialAccess,
}

/// The columns of `l` and of [`JOINS`], as seen by `viewer (id, sees_all)`.
const COLUMNS: &str = "\
    l.id, l.title, l.color, l.description, l.priority, l.open_merge_requests, \
    l.open_issues + case when viewer.sees_all then l.open_confidential_issues else own.open end as open_issues, \
    l.closed_issues + case when viewer.sees_all then l.closed_confidential_issues else own.closed end as closed_issues, \
    exists (select from label_subscriptions s where s.label_id = l.id and s.user_id = viewer.id) as subscribed";

/// Joins the counts of the viewer's own confidential issues, for viewers who do not see all of them. They are found by
/// author and assignee, of whom a user has few.
const JOINS: &str = " cross join lateral (select count(*) filter (where not i.closed)::integer as open, \
       count(*) filter (where i.closed)::integer as closed \
       from issues i join issue_labels x on x.issue_id = i.id where not viewer.sees_all and x.label_id = l.id \
       and i.confidential and i.project_id = l.project_id \
       and (i.author_id = viewer.id or i.assignee_id = viewer.id)) own ";

/// Lists the labels of a project whose title contains a text, or all of them, sorted by title.
pub async fn list(
    database: &Database,
    project: ProjectId,
    viewer: LabelViewer,
    search: Option<&str>,
    request: PageRequest,
) -> Result<Page<Label>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "l.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from labels l where l.project_id = ").push_bind(project.get());
            if let Some(term) = search {
                query.push(" and ");
                push_contains(query, "lower(l.title collate \"und-x-icu\") collate \"C\"", term);
            }
        },
        order: "l.title",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("l cross join (values (").push_bind(viewer.user.map(UserId::get)).push("::bigint, ");
            query
                .push_bind(viewer.confidential_access == ConfidentialAccess::All)
                .push("::boolean)) viewer (id, sees_all)");
            query.push(JOINS);
        },
        total: Total::Bounded,
        needs_custom_plan: search.is_some(),
    };
    list.fetch(&mut *database.connection().await?, request).await
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    id: LabelId,
    viewer: LabelViewer,
) -> Result<Option<Label>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from labels l cross join (values (").push_bind(viewer.user.map(UserId::get));
    query.push("::bigint, ").push_bind(viewer.confidential_access == ConfidentialAccess::All);
    query.push("::boolean)) viewer (id, sees_all)").push(JOINS);
    query.push("where l.project_id = ").push_bind(project.get()).push(" and l.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Returns the labels of a project with these titles.
pub async fn list_by_titles(
    connection: &mut Connection,
    project: ProjectId,
    titles: &[&str],
    viewer: LabelViewer,
) -> Result<Vec<Label>> {
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from labels l cross join (values (").push_bind(viewer.user.map(UserId::get));
    query.push("::bigint, ").push_bind(viewer.confidential_access == ConfidentialAccess::All);
    query.push("::boolean)) viewer (id, sees_all)").push(JOINS);
    query.push("where l.project_id = ").push_bind(project.get());
    query.push(" and l.title = any(").push_bind(titles).push(")");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

pub async fn find_id(connection: &mut Connection, project: ProjectId, title: &str) -> Result<Option<LabelId>> {
    let id = sqlx::query_scalar!("select id from labels where project_id = $1 and title = $2", project.get(), title)
        .fetch_optional(connection)
        .await?;
    Ok(id.map(Into::into))
}

pub async fn exists(connection: &mut Connection, project: ProjectId, id: LabelId) -> Result<bool> {
    let found = sqlx::query_scalar!("select id from labels where project_id = $1 and id = $2", project.get(), id.get())
        .fetch_optional(connection)
        .await?;
    Ok(found.is_some())
}

/// Returns whether a project has a label.
pub async fn exists_any(connection: &mut Connection, project: ProjectId) -> Result<bool> {
    const QUERY: &str = "select exists (select from labels where project_id = $1)";
    Ok(sqlx::query_scalar(QUERY).bind(project.get()).fetch_one(connection).await?)
}

/// The attributes of a label that can be set.
#[derive(Clone, Debug)]
pub struct Attributes {
    pub title: LabelTitle,
    pub color: Color,
    pub description: Option<String>,
    pub priority: Option<i32>,
}

pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<LabelId> {
    let id = sqlx::query_scalar!(
        "insert into labels (project_id, title, color, description, priority, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $6) returning id",
        project.get(),
        attributes.title.as_str(),
        attributes.color.as_str(),
        attributes.description,
        attributes.priority,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// The id and the title of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitledLabel {
    pub id: LabelId,
    pub title: String,
}

/// Inserts labels with these titles, which must not exist yet.
pub async fn insert_all(
    connection: &mut Connection,
    project: ProjectId,
    titles: &[&str],
    color: &Color,
    now: DateTime<Utc>,
) -> Result<Vec<TitledLabel>> {
    Ok(sqlx::query_as!(
        TitledLabel,
        "insert into labels (project_id, title, color, created_at, updated_at)
         select $1, unnest($2::text[]), $3, $4, $4 returning id, title",
        project.get(),
        titles as &[&str],
        color.as_str(),
        now,
    )
    .fetch_all(connection)
    .await?)
}

pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    id: LabelId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update labels set title = $3, color = $4, description = $5, priority = $6, updated_at = $7
         where project_id = $1 and id = $2",
        project.get(),
        id.get(),
        attributes.title.as_str(),
        attributes.color.as_str(),
        attributes.description,
        attributes.priority,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a label, and removes it from its issues.
pub async fn delete(connection: &mut Connection, project: ProjectId, id: LabelId) -> Result<()> {
    sqlx::query!("delete from labels where project_id = $1 and id = $2", project.get(), id.get())
        .execute(connection)
        .await?;
    Ok(())
}

/// Subscribes a user to a label. Returns false if the user is subscribed already.
pub async fn subscribe(connection: &mut Connection, id: LabelId, user: UserId, now: DateTime<Utc>) -> Result<bool> {
    let inserted = sqlx::query!(
        "insert into label_subscriptions (label_id, user_id, created_at) values ($1, $2, $3) on conflict do nothing",
        id.get(),
        user.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

/// Removes the subscription of a user to a label. Returns false if there is none.
pub async fn unsubscribe(connection: &mut Connection, id: LabelId, user: UserId) -> Result<bool> {
    let deleted =
        sqlx::query!("delete from label_subscriptions where label_id = $1 and user_id = $2", id.get(), user.get())
            .execute(connection)
            .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Returns the labels of a project that have one of these titles.
pub async fn find_by_titles(
    connection: &mut Connection,
    project: ProjectId,
    titles: &[&str],
) -> Result<Vec<TitledLabel>> {
    Ok(sqlx::query_as!(
        TitledLabel,
        "select id, title from labels where project_id = $1 and title = any($2)",
        project.get(),
        titles as &[&str],
    )
    .fetch_all(connection)
    .await?)
}

pub async fn list_for_issue(connection: &mut Connection, issue: IssueId) -> Result<Vec<TitledLabel>> {
    Ok(sqlx::query_as!(
        TitledLabel,
        "select l.id, l.title from issue_labels x join labels l on l.id = x.label_id where x.issue_id = $1
         order by l.title",
        issue.get(),
    )
    .fetch_all(connection)
    .await?)
}

/// Removes labels from an issue and adds others. The caller updates the counters with
/// [`adjust_counters`](super::issue::adjust_counters).
pub async fn update_labels(
    connection: &mut Connection,
    issue: IssueId,
    removed: &[LabelId],
    added: &[LabelId],
) -> Result<()> {
    let ids = |labels: &[LabelId]| labels.iter().map(|id| id.get()).collect::<Vec<_>>();
    sqlx::query!(
        "with removed as (delete from issue_labels where issue_id = $1 and label_id = any($2))
         insert into issue_labels (issue_id, label_id) select $1, unnest($3::bigint[]) on conflict do nothing",
        issue.get(),
        &ids(removed),
        &ids(added),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A label as a part of an issue or a merge request in a list.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AttachedLabel {
    /// The id of the issue or the merge request.
    pub target_id: i64,
    #[sqlx(try_from = "i64")]
    pub id: LabelId,
    pub title: String,
    pub color: String,
    pub description: Option<String>,
}

/// The issues or the merge requests of a list.
#[derive(Clone, Copy, Debug)]
pub enum LabeledTargets<'a> {
    Issues(&'a [i64]),
    MergeRequests(&'a [i64]),
}

/// Returns the labels of all these issues or merge requests, sorted by title.
pub async fn list_attached(connection: &mut Connection, targets: LabeledTargets<'_>) -> Result<Vec<AttachedLabel>> {
    let (query, ids) = match targets {
        LabeledTargets::Issues(ids) => (
            "select x.issue_id as target_id, l.id, l.title, l.color, l.description \
             from issue_labels x join labels l on l.id = x.label_id where x.issue_id = any($1) order by l.title",
            ids,
        ),
        LabeledTargets::MergeRequests(ids) => (
            "select x.merge_request_id as target_id, l.id, l.title, l.color, l.description \
             from merge_request_labels x join labels l on l.id = x.label_id where x.merge_request_id = any($1) \
             order by l.title",
            ids,
        ),
    };
    Ok(sqlx::query_as(query).bind(ids).fetch_all(connection).await?)
}

pub async fn list_for_merge_request(connection: &mut Connection, request: MergeRequestId) -> Result<Vec<TitledLabel>> {
    Ok(sqlx::query_as!(
        TitledLabel,
        "select l.id, l.title from merge_request_labels x join labels l on l.id = x.label_id
         where x.merge_request_id = $1 order by l.title",
        request.get(),
    )
    .fetch_all(connection)
    .await?)
}

/// Removes labels from a merge request and adds others. The caller updates the counters with
/// [`adjust_counters`](crate::merge_requests::merge_request::adjust_counters).
pub async fn update_merge_request_labels(
    connection: &mut Connection,
    request: MergeRequestId,
    removed: &[LabelId],
    added: &[LabelId],
) -> Result<()> {
    let ids = |labels: &[LabelId]| labels.iter().map(|id| id.get()).collect::<Vec<_>>();
    sqlx::query!(
        "with removed as (delete from merge_request_labels where merge_request_id = $1 and label_id = any($2))
         insert into merge_request_labels (merge_request_id, label_id)
         select $1, unnest($3::bigint[]) on conflict do nothing",
        request.get(),
        &ids(removed),
        &ids(added),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the first labels of a project, sorted by title, that have no list on its board.
pub async fn list_without_board_list(
    connection: &mut Connection,
    project: ProjectId,
    limit: i64,
) -> Result<Vec<TitledLabel>> {
    const QUERY: &str = "select l.id, l.title from labels l where l.project_id = $1 and not exists \
        (select from board_lists b where b.project_id = l.project_id and b.label_id = l.id and b.deleted_at is null) \
        order by l.title limit $2";
    let found = sqlx::query_as::<_, (i64, String)>(QUERY).bind(project.get()).bind(limit).fetch_all(connection).await?;
    Ok(found.into_iter().map(|(id, title)| TitledLabel { id: id.into(), title }).collect())
}
