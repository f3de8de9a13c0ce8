//! Milestones of projects.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::activity::SubjectKind;
use holdfast_domain::ids::{MilestoneId, ProjectId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::planning::ConfidentialAccess;
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result, search};

/// A milestone of a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Milestone {
    #[sqlx(try_from = "i64")]
    pub id: MilestoneId,
    pub iid: i64,
    #[sqlx(try_from = "i64")]
    pub project_id: ProjectId,
    /// The path of the project, with its namespace.
    pub project_path: String,
    pub title: String,
    pub description: Option<String>,
    pub closed: bool,
    pub start_date: Option<NaiveDate>,
    pub due_date: Option<NaiveDate>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// The columns of `m`.
const COLUMNS: &str = "m.id, m.iid, m.project_id, m.title, m.description, m.closed, m.start_date, m.due_date, \
    m.created_at, m.updated_at, coalesce((select n.path || '/' || p.path from projects p \
      join namespaces n on n.id = p.namespace_id where p.id = m.project_id), '') as project_path";

/// Like [`COLUMNS`], but truncates descriptions that were stored before there was a limit.
const LIST_COLUMNS: &str = "m.id, m.iid, m.project_id, m.title, left(m.description, 16384) as description, m.closed, \
    m.start_date, m.due_date, m.created_at, m.updated_at, coalesce((select n.path || '/' || p.path from projects p \
      join namespaces n on n.id = p.namespace_id where p.id = m.project_id), '') as project_path";

/// The milestones that a list shows. By default it shows all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub closed: Option<bool>,
    /// Only those with these numbers. All if empty.
    pub iids: Vec<i64>,
    pub title: Option<String>,
    /// A part of the title, ignoring case.
    pub search: Option<String>,
    pub updated_after: Option<DateTime<Utc>>,
    pub updated_before: Option<DateTime<Utc>>,
}

/// Lists the milestones of a project, newest first.
pub async fn list(
    database: &Database,
    project: ProjectId,
    filter: &Filter,
    page: PageRequest,
) -> Result<Page<Milestone>> {
    let list = PagedQuery {
        columns: LIST_COLUMNS,
        rows: "m.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from milestones m where m.project_id = ").push_bind(project.get());
            let states = filter.closed.map_or(vec![false, true], |closed| vec![closed]);
            query.push(" and m.closed = any(").push_bind(states).push(")");
            if !filter.iids.is_empty() {
                query.push(" and m.iid = any(").push_bind(filter.iids.clone()).push(")");
            }
            if let Some(title) = &filter.title {
                query.push(" and m.title = ").push_bind(title.clone());
            }
            if let Some(term) = &filter.search {
                query.push(" and ");
                search::push_contains(query, "lower(m.title collate \"und-x-icu\") collate \"C\"", term);
            }
            if let Some(time) = filter.updated_after {
                query.push(" and m.updated_at >= ").push_bind(time);
            }
            if let Some(time) = filter.updated_before {
                query.push(" and m.updated_at <= ").push_bind(time);
            }
        },
        order: "m.id desc",
        page: table_alias("m"),
        total: Total::Bounded,
        needs_custom_plan: filter.is_selective(),
    };
    list.fetch(&mut *database.connection().await?, page).await
}

impl Filter {
    /// Returns whether the filter may exclude most milestones, so that the best plan depends on its values.
    fn is_selective(&self) -> bool {
        let has_text = self.title.is_some() || self.search.is_some();
        let has_time = self.updated_after.is_some() || self.updated_before.is_some();
        !self.iids.is_empty() || has_text || has_time
    }
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: MilestoneId) -> Result<Option<Milestone>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from milestones m where m.project_id = ").push_bind(project.get());
    query.push(" and m.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Finds a milestone by its number in the project.
pub async fn find_by_iid(connection: &mut Connection, project: ProjectId, iid: i64) -> Result<Option<Milestone>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from milestones m where m.project_id = ").push_bind(project.get());
    query.push(" and m.iid = ").push_bind(iid);
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// The numbers of open and closed issues of a milestone that a viewer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct IssueCounts {
    #[sqlx(try_from = "i64")]
    pub milestone_id: MilestoneId,
    pub open: i64,
    pub closed: i64,
}

/// Counts the issues of these milestones, which belong to one project. Counting a milestone stops after `max_counted`
/// issues.
pub async fn count_issues(
    connection: &mut Connection,
    milestones: &[i64],
    confidential_access: ConfidentialAccess,
    max_counted: i64,
) -> Result<Vec<IssueCounts>> {
    const QUERY: &str = "\
        select m.id as milestone_id, counted.open, counted.closed from unnest($1::bigint[]) m (id) cross join lateral ( \
          select count(*) filter (where not i.closed) as open, count(*) filter (where i.closed) as closed from ( \
            select i.closed from issues i where i.milestone_id = m.id \
              and (not i.confidential or $2 or i.author_id = $3 or i.assignee_id = $3) limit $4) i) counted";
    let (sees_all, viewer) = match confidential_access {
        ConfidentialAccess::All => (true, None),
        ConfidentialAccess::Own(user) => (false, Some(UserId::get(user))),
        ConfidentialAccess::None => (false, None),
    };
    let query = sqlx::query_as(QUERY).bind(milestones).bind(sees_all).bind(viewer).bind(max_counted);
    Ok(query.fetch_all(connection).await?)
}

/// Returns the milestones with these ids, with truncated descriptions.
pub(crate) async fn find_many(connection: &mut Connection, ids: &[i64]) -> Result<Vec<Milestone>> {
    let mut query = QueryBuilder::new("select ");
    query.push(LIST_COLUMNS).push(" from milestones m where m.id = any(").push_bind(ids).push(")");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

pub async fn find_id(connection: &mut Connection, project: ProjectId, title: &str) -> Result<Option<MilestoneId>> {
    let id =
        sqlx::query_scalar!("select id from milestones where project_id = $1 and title = $2", project.get(), title)
            .fetch_optional(connection)
            .await?;
    Ok(id.map(Into::into))
}

/// The attributes of a milestone that can be set.
#[derive(Clone, Debug)]
pub struct Attributes {
    pub title: String,
    pub description: Option<String>,
    pub closed: bool,
    pub start_date: Option<NaiveDate>,
    pub due_date: Option<NaiveDate>,
}

/// Inserts a milestone with the next number of the project.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<Milestone> {
    let mut query = QueryBuilder::new(
        "with numbered as (update projects set last_milestone_iid = last_milestone_iid + 1 where id = $1 \
           returning last_milestone_iid) \
         insert into milestones as m (project_id, iid, title, description, closed, start_date, due_date, created_at, \
           updated_at) select $1, last_milestone_iid, $2, $3, $4, $5, $6, $7, $7 from numbered returning ",
    );
    let query = query
        .push(COLUMNS)
        .build_query_as()
        .bind(project.get())
        .bind(&attributes.title)
        .bind(&attributes.description)
        .bind(attributes.closed);
    Ok(query.bind(attributes.start_date).bind(attributes.due_date).bind(now).fetch_one(connection).await?)
}

pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    id: MilestoneId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<Milestone> {
    let mut query = QueryBuilder::new(
        "update milestones m set title = $3, description = $4, closed = $5, start_date = $6, due_date = $7, \
         updated_at = $8 where m.project_id = $1 and m.id = $2 returning ",
    );
    let query = query.push(COLUMNS).build_query_as().bind(project.get()).bind(id.get());
    let query = query
        .bind(&attributes.title)
        .bind(&attributes.description)
        .bind(attributes.closed)
        .bind(attributes.start_date)
        .bind(attributes.due_date);
    Ok(query.bind(now).fetch_one(connection).await?)
}

/// Deletes a milestone with its events, and removes it from its issues and merge requests. The caller holds the lock of
/// the project.
pub async fn delete(connection: &mut Connection, project: ProjectId, id: MilestoneId) -> Result<()> {
    const QUERY: &str = "\
        with described as (delete from events where subject_id = $2 and subject_kind = $3) \
        delete from milestones where project_id = $1 and id = $2";
    let query = sqlx::query(QUERY).bind(project.get()).bind(id.get()).bind(SubjectKind::Milestone.as_i16());
    query.execute(connection).await?;
    Ok(())
}
