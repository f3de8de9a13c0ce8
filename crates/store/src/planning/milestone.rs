use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{MilestoneId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, Total, named};
use crate::text::listed_milestone_text;
use crate::{Connection, Database, Result};

/// What is to be done by some day.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Milestone {
    #[sqlx(try_from = "i64")]
    pub id: MilestoneId,
    pub iid: i64,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    pub title: String,
    pub description: Option<String>,
    pub closed: bool,
    pub start_date: Option<NaiveDate>,
    pub due_date: Option<NaiveDate>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Of `m`. A list names another expression for the description: those that were written before there was a limit are cut
/// to it.
macro_rules! milestone_columns {
    () => {
        milestone_columns!("m.description")
    };
    ($($description:tt)+) => {
        concat!(
            "m.id, m.iid, m.project_id, m.title, ",
            $($description)+,
            " as description, m.closed, m.start_date, m.due_date, m.created_at, m.updated_at"
        )
    };
}

/// Newest first; of these numbers alone, if there are any.
pub async fn list(
    database: &Database,
    project: ProjectId,
    closed: Option<bool>,
    numbers: &[i64],
    page: PageRequest,
) -> Result<Page<Milestone>> {
    let list = List {
        columns: milestone_columns!(listed_milestone_text!("m.description")),
        rows: "m.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from milestones m where m.project_id = ").push_bind(project.get());
            let states = closed.map_or(vec![false, true], |closed| vec![closed]);
            query.push(" and m.closed = any(").push_bind(states).push(")");
            if !numbers.is_empty() {
                query.push(" and m.iid = any(").push_bind(numbers.to_vec()).push(")");
            }
        },
        order: "m.id desc",
        page: named("m"),
        total: Total::Bounded,
        varies: !numbers.is_empty(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: MilestoneId) -> Result<Option<Milestone>> {
    const QUERY: &str =
        concat!("select ", milestone_columns!(), " from milestones m where m.project_id = $1 and m.id = $2");
    Ok(sqlx::query_as(QUERY).bind(project.get()).bind(id.get()).fetch_optional(connection).await?)
}

/// Those that were named by what was found before.
pub(super) async fn some(connection: &mut Connection, ids: &[i64]) -> Result<Vec<Milestone>> {
    const QUERY: &str = concat!(
        "select ",
        milestone_columns!(listed_milestone_text!("m.description")),
        " from milestones m where m.id = any($1)"
    );
    Ok(sqlx::query_as(QUERY).bind(ids).fetch_all(connection).await?)
}

pub async fn id_of(connection: &mut Connection, project: ProjectId, title: &str) -> Result<Option<MilestoneId>> {
    let id =
        sqlx::query_scalar!("select id from milestones where project_id = $1 and title = $2", project.get(), title)
            .fetch_optional(connection)
            .await?;
    Ok(id.map(Into::into))
}

/// What is said of a milestone.
#[derive(Clone, Debug)]
pub struct Attributes {
    pub title: String,
    pub description: Option<String>,
    pub closed: bool,
    pub start_date: Option<NaiveDate>,
    pub due_date: Option<NaiveDate>,
}

/// With the project's next number.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    a: &Attributes,
    now: DateTime<Utc>,
) -> Result<Milestone> {
    const QUERY: &str = concat!(
        "with numbered as (update projects set last_milestone_iid = last_milestone_iid + 1 where id = $1 \
           returning last_milestone_iid) \
         insert into milestones as m (project_id, iid, title, description, closed, start_date, due_date, created_at, \
           updated_at) select $1, last_milestone_iid, $2, $3, $4, $5, $6, $7, $7 from numbered returning ",
        milestone_columns!()
    );
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(&a.title).bind(&a.description).bind(a.closed);
    Ok(query.bind(a.start_date).bind(a.due_date).bind(now).fetch_one(connection).await?)
}

pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    id: MilestoneId,
    a: &Attributes,
    now: DateTime<Utc>,
) -> Result<Milestone> {
    const QUERY: &str = concat!(
        "update milestones m set title = $3, description = $4, closed = $5, start_date = $6, due_date = $7, \
         updated_at = $8 where m.project_id = $1 and m.id = $2 returning ",
        milestone_columns!()
    );
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(id.get());
    let query = query.bind(&a.title).bind(&a.description).bind(a.closed).bind(a.start_date).bind(a.due_date);
    Ok(query.bind(now).fetch_one(connection).await?)
}
