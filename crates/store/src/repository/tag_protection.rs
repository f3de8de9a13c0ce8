//! Rules of protected tags.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::ids::ProjectId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::repository::TagRule;
use sqlx::{Postgres, QueryBuilder};

use super::protection::StoredRule;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Error, Result};

#[derive(sqlx::FromRow)]
struct Row {
    id: i64,
    name: String,
    create_level: i16,
}

impl Row {
    fn into_rule(self) -> Result<StoredRule<TagRule>> {
        let create = match self.create_level {
            0 => None,
            level => Some(level.try_into().map_err(|_| Error::invalid_value("an access level"))?),
        };
        Ok(StoredRule { id: self.id, rule: TagRule { name: self.name, create } })
    }
}

/// Lists the rules of a project by name.
pub async fn list(
    connection: &mut Connection,
    project: ProjectId,
    page: PageRequest,
) -> Result<Page<StoredRule<TagRule>>> {
    let list = PagedQuery {
        columns: "t.id, t.name, t.create_level",
        rows: "t.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from protected_tags t where t.project_id = ").push_bind(project.get());
        },
        order: "t.name",
        page: table_alias("t"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch::<Row>(connection, page).await?.try_map(Row::into_rule)
}

/// Lists all rules of a project. Their number is limited when they are created.
pub async fn list_all(connection: &mut Connection, project: ProjectId) -> Result<Vec<TagRule>> {
    let rows =
        sqlx::query_as!(Row, "select id, name, create_level from protected_tags where project_id = $1", project.get())
            .fetch_all(connection)
            .await?;
    rows.into_iter().map(|row| Ok(row.into_rule()?.rule)).collect()
}

/// Finds the rule with exactly this name.
pub async fn find(connection: &mut Connection, project: ProjectId, name: &str) -> Result<Option<StoredRule<TagRule>>> {
    let row = sqlx::query_as!(
        Row,
        "select id, name, create_level from protected_tags where project_id = $1 and name = $2",
        project.get(),
        name,
    )
    .fetch_optional(connection)
    .await?;
    row.map(Row::into_rule).transpose()
}

/// Inserts a rule. Returns None if there is one with this name.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    rule: &TagRule,
    now: DateTime<Utc>,
) -> Result<Option<StoredRule<TagRule>>> {
    let row = sqlx::query_as!(
        Row,
        "insert into protected_tags (project_id, name, create_level, created_at) values ($1, $2, $3, $4)
         on conflict (project_id, name) do nothing returning id, name, create_level",
        project.get(),
        rule.name,
        rule.create.map_or(0, AccessLevel::as_i16),
        now,
    )
    .fetch_optional(connection)
    .await?;
    row.map(Row::into_rule).transpose()
}

/// Deletes the rule with exactly this name. Returns false if there is none.
pub async fn delete(connection: &mut Connection, project: ProjectId, name: &str) -> Result<bool> {
    let deleted = sqlx::query!("delete from protected_tags where project_id = $1 and name = $2", project.get(), name)
        .execute(connection)
        .await?;
    Ok(deleted.rows_affected() > 0)
}
