//! Rules of protected branches.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::repository::Rule;
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Error, Result};

pub async fn list(connection: &mut Connection, project: ProjectId) -> Result<Vec<Rule>> {
    let rows = sqlx::query!(
        "select name, push_level, merge_level from protected_branches where project_id = $1 order by name",
        project.get(),
    )
    .fetch_all(connection)
    .await?;
    let level = |level: i16| level.try_into().map_err(|_| Error::invalid_value("an access level"));
    rows.into_iter()
        .map(|row| Ok(Rule { name: row.name, push: level(row.push_level)?, merge: level(row.merge_level)? }))
        .collect()
}

/// A rule with its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRule<R = Rule> {
    pub id: i64,
    pub rule: R,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    name: String,
    push_level: i16,
    merge_level: i16,
}

impl Row {
    fn into_rule(self) -> Result<StoredRule> {
        let level = |level: i16| level.try_into().map_err(|_| Error::invalid_value("an access level"));
        let rule = Rule { name: self.name, push: level(self.push_level)?, merge: level(self.merge_level)? };
        Ok(StoredRule { id: self.id, rule })
    }
}

/// Lists the rules of a project whose names contain a text in any letter case, by name.
pub async fn list_stored(
    connection: &mut Connection,
    project: ProjectId,
    search: Option<&str>,
    page: PageRequest,
) -> Result<Page<StoredRule>> {
    let list = PagedQuery {
        columns: "b.id, b.name, b.push_level, b.merge_level",
        rows: "b.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from protected_branches b where b.project_id = ").push_bind(project.get());
            if let Some(text) = search {
                query.push(" and strpos(lower(b.name), lower(").push_bind(text.to_owned()).push(")) > 0");
            }
        },
        order: "b.name",
        page: table_alias("b"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch::<Row>(connection, page).await?.try_map(Row::into_rule)
}

/// Finds the rule with exactly this name.
pub async fn find(connection: &mut Connection, project: ProjectId, name: &str) -> Result<Option<StoredRule>> {
    const QUERY: &str =
        "select id, name, push_level, merge_level from protected_branches where project_id = $1 and name = $2";
    let row: Option<Row> = sqlx::query_as(QUERY).bind(project.get()).bind(name).fetch_optional(connection).await?;
    row.map(Row::into_rule).transpose()
}

/// Inserts a rule. Returns None if there is one with this name.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    rule: &Rule,
    now: DateTime<Utc>,
) -> Result<Option<StoredRule>> {
    const QUERY: &str = "insert into protected_branches (project_id, name, push_level, merge_level, created_at)
         values ($1, $2, $3, $4, $5) on conflict (project_id, name) do nothing
         returning id, name, push_level, merge_level";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(&rule.name);
    let query = query.bind(rule.push.as_i16()).bind(rule.merge.as_i16()).bind(now);
    let row: Option<Row> = query.fetch_optional(connection).await?;
    row.map(Row::into_rule).transpose()
}

/// Changes the levels of the rule with exactly this name. None leaves a level as it is. Returns None if there is no
/// such rule.
pub async fn update(
    connection: &mut Connection,
    project: ProjectId,
    name: &str,
    push: Option<AccessLevel>,
    merge: Option<AccessLevel>,
) -> Result<Option<StoredRule>> {
    const QUERY: &str = "update protected_branches
         set push_level = coalesce($3, push_level), merge_level = coalesce($4, merge_level)
         where project_id = $1 and name = $2 returning id, name, push_level, merge_level";
    let query = sqlx::query_as(QUERY).bind(project.get()).bind(name);
    let query = query.bind(push.map(AccessLevel::as_i16)).bind(merge.map(AccessLevel::as_i16));
    let row: Option<Row> = query.fetch_optional(connection).await?;
    row.map(Row::into_rule).transpose()
}

pub async fn upsert(connection: &mut Connection, project: ProjectId, rule: &Rule, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "insert into protected_branches (project_id, name, push_level, merge_level, created_at)
         values ($1, $2, $3, $4, $5)
         on conflict (project_id, name) do update set push_level = excluded.push_level,
           merge_level = excluded.merge_level",
        project.get(),
        rule.name,
        rule.push.as_i16(),
        rule.merge.as_i16(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes the rule with exactly this name.
pub async fn delete(connection: &mut Connection, project: ProjectId, name: &str) -> Result<()> {
    sqlx::query!("delete from protected_branches where project_id = $1 and name = $2", project.get(), name)
        .execute(connection)
        .await?;
    Ok(())
}
