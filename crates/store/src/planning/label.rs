use chrono::{DateTime, Utc};
use holdfast_domain::ids::{IssueId, LabelId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::{Color, LabelTitle, Seen};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, Total};
use crate::{Connection, Database, Result};

/// A label as somebody sees it, with the issues that he sees.
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
    pub subscribed: bool,
}

/// Who looks at labels.
#[derive(Clone, Copy, Debug)]
pub struct Viewer {
    pub user: Option<UserId>,
    /// Of the confidential issues.
    pub seen: Seen,
}

/// Of `l` and what [`label_joins`] adds to it, as seen by `viewer (id, sees_all)`.
macro_rules! label_columns {
    () => {
        "l.id, l.title, l.color, l.description, l.priority, \
         l.open_issues + case when viewer.sees_all then l.open_confidential_issues else own.open end as open_issues, \
         l.closed_issues + case when viewer.sees_all then l.closed_confidential_issues else own.closed end as closed_issues, \
         exists (select from label_subscriptions s where s.label_id = l.id and s.user_id = viewer.id) as subscribed"
    };
}

/// Who does not see all confidential issues may still see some: they are found by who wrote or has them, which are few.
macro_rules! label_joins {
    () => {
        " cross join lateral (select count(*) filter (where not i.closed)::integer as open, \
           count(*) filter (where i.closed)::integer as closed \
           from issues i join issue_labels x on x.issue_id = i.id where not viewer.sees_all and x.label_id = l.id \
           and i.confidential and i.project_id = l.project_id \
           and (i.author_id = viewer.id or i.assignee_id = viewer.id)) own "
    };
}

/// By title.
pub async fn list(
    database: &Database,
    project: ProjectId,
    viewer: Viewer,
    request: PageRequest,
) -> Result<Page<Label>> {
    let list = List {
        columns: label_columns!(),
        rows: "l.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from labels l where l.project_id = ").push_bind(project.get());
        },
        order: "l.title",
        page: |query: &mut QueryBuilder<Postgres>| {
            query.push("l cross join (values (").push_bind(viewer.user.map(UserId::get)).push("::bigint, ");
            query.push_bind(viewer.seen == Seen::All).push("::boolean)) viewer (id, sees_all)");
            query.push(label_joins!());
        },
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, request).await
}

pub async fn find(
    connection: &mut Connection,
    project: ProjectId,
    id: LabelId,
    viewer: Viewer,
) -> Result<Option<Label>> {
    const QUERY: &str = concat!(
        "select ",
        label_columns!(),
        " from labels l cross join (values ($3::bigint, $4::boolean)) viewer (id, sees_all)",
        label_joins!(),
        "where l.project_id = $1 and l.id = $2"
    );
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(id.get());
    let query = query.bind(viewer.user.map(UserId::get)).bind(viewer.seen == Seen::All);
    Ok(query.fetch_optional(connection).await?)
}

pub async fn id_of(connection: &mut Connection, project: ProjectId, title: &str) -> Result<Option<LabelId>> {
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

/// What is said of a label.
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
    a: &Attributes,
    now: DateTime<Utc>,
) -> Result<LabelId> {
    let id = sqlx::query_scalar!(
        "insert into labels (project_id, title, color, description, priority, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $6) returning id",
        project.get(),
        a.title.as_str(),
        a.color.as_str(),
        a.description,
        a.priority,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// Of these titles, which there are not yet.
pub async fn insert_all(
    connection: &mut Connection,
    project: ProjectId,
    titles: &[&str],
    color: &Color,
    now: DateTime<Utc>,
) -> Result<Vec<(LabelId, String)>> {
    let rows = sqlx::query!(
        "insert into labels (project_id, title, color, created_at, updated_at)
         select $1, unnest($2::text[]), $3, $4, $4 returning id, title",
        project.get(),
        titles as &[&str],
        color.as_str(),
        now,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.title)).collect())
}

pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    id: LabelId,
    a: &Attributes,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update labels set title = $3, color = $4, description = $5, priority = $6, updated_at = $7
         where project_id = $1 and id = $2",
        project.get(),
        id.get(),
        a.title.as_str(),
        a.color.as_str(),
        a.description,
        a.priority,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// From everything that carries it, too.
pub async fn delete(connection: &mut Connection, project: ProjectId, id: LabelId) -> Result<()> {
    sqlx::query!("delete from labels where project_id = $1 and id = $2", project.get(), id.get())
        .execute(connection)
        .await?;
    Ok(())
}

/// Whether it is new.
pub async fn subscribe(connection: &mut Connection, id: LabelId, user: UserId, now: DateTime<Utc>) -> Result<bool> {
    let made = sqlx::query!(
        "insert into label_subscriptions (label_id, user_id, created_at) values ($1, $2, $3) on conflict do nothing",
        id.get(),
        user.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(made.rows_affected() > 0)
}

/// Whether there was one.
pub async fn unsubscribe(connection: &mut Connection, id: LabelId, user: UserId) -> Result<bool> {
    let gone =
        sqlx::query!("delete from label_subscriptions where label_id = $1 and user_id = $2", id.get(), user.get())
            .execute(connection)
            .await?;
    Ok(gone.rows_affected() > 0)
}

/// The project's labels of these titles.
pub async fn of_titles(
    connection: &mut Connection,
    project: ProjectId,
    titles: &[&str],
) -> Result<Vec<(LabelId, String)>> {
    let rows = sqlx::query!(
        "select id, title from labels where project_id = $1 and title = any($2)",
        project.get(),
        titles as &[&str],
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.title)).collect())
}

pub async fn of_issue(connection: &mut Connection, issue: IssueId) -> Result<Vec<(LabelId, String)>> {
    let rows = sqlx::query!(
        "select l.id, l.title from issue_labels x join labels l on l.id = x.label_id where x.issue_id = $1
         order by l.title",
        issue.get(),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id.into(), row.title)).collect())
}

/// Takes labels from an issue and gives it others. Its counts are kept by [`count`](super::issue::count).
pub async fn relabel(connection: &mut Connection, issue: IssueId, taken: &[LabelId], given: &[LabelId]) -> Result<()> {
    let ids = |labels: &[LabelId]| labels.iter().map(|id| id.get()).collect::<Vec<_>>();
    sqlx::query!(
        "with taken as (delete from issue_labels where issue_id = $1 and label_id = any($2))
         insert into issue_labels (issue_id, label_id) select $1, unnest($3::bigint[]) on conflict do nothing",
        issue.get(),
        &ids(taken),
        &ids(given),
    )
    .execute(connection)
    .await?;
    Ok(())
}
