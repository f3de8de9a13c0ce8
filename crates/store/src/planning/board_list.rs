//! Lists of a project's board.
//!
//! Positions are dense and begin with 0. A deleted list has no position.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{BoardListId, LabelId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// A list of a project's board: the issues with its label.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct BoardList {
    #[sqlx(try_from = "i64")]
    pub id: BoardListId,
    pub position: i32,
    #[sqlx(try_from = "i64")]
    pub label_id: LabelId,
    pub title: String,
    pub color: String,
    pub description: Option<String>,
}

/// The columns of a list `b` and of its label `l`.
const COLUMNS: &str = "b.id, b.position, b.label_id, l.title, l.color, l.description";

/// Lists the board lists of a project from left to right.
pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<BoardList>> {
    let list = PagedQuery {
        columns: COLUMNS,
        rows: "b.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from board_lists b where b.position is not null and b.project_id = ").push_bind(project.get());
        },
        order: "b.position",
        page: table_alias("b join labels l on l.id = b.label_id"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Returns all board lists of a project from left to right. There are at most as many as the project has labels.
pub async fn list_all(connection: &mut Connection, project: ProjectId) -> Result<Vec<BoardList>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from board_lists b join labels l on l.id = b.label_id ");
    query.push("where b.position is not null and b.project_id = ").push_bind(project.get());
    query.push(" order by b.position");
    Ok(query.build_query_as().fetch_all(connection).await?)
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: BoardListId) -> Result<Option<BoardList>> {
    let mut query = QueryBuilder::new("select ");
    query.push(COLUMNS).push(" from board_lists b join labels l on l.id = b.label_id ");
    query.push("where b.position is not null and b.project_id = ").push_bind(project.get());
    query.push(" and b.id = ").push_bind(id.get());
    Ok(query.build_query_as().fetch_optional(connection).await?)
}

/// Returns the number of board lists of a project.
pub async fn count(connection: &mut Connection, project: ProjectId) -> Result<i32> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(max(position) + 1, 0) as "count!" from board_lists where project_id = $1"#,
        project.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// Appends a list at the right end of the board.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    label: LabelId,
    now: DateTime<Utc>,
) -> Result<BoardListId> {
    let id = sqlx::query_scalar!(
        "insert into board_lists (project_id, label_id, position, created_at)
         select $1, $2, coalesce(max(position) + 1, 0), $3 from board_lists where project_id = $1 returning id",
        project.get(),
        label.get(),
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

/// Moves a list to another position, and shifts the lists in between.
pub async fn set_position(
    connection: &mut Connection,
    project: ProjectId,
    id: BoardListId,
    old_position: i32,
    new_position: i32,
) -> Result<()> {
    sqlx::query!(
        "update board_lists set position = case when id = $2 then $4::integer else position + sign($3::integer - $4::integer)::integer end
         where project_id = $1 and position between least($3::integer, $4::integer) and greatest($3::integer, $4::integer)",
        project.get(),
        id.get(),
        old_position,
        new_position,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Marks a list as deleted, and shifts the lists to its right.
pub async fn delete(
    connection: &mut Connection,
    project: ProjectId,
    id: BoardListId,
    now: DateTime<Utc>,
) -> Result<()> {
    sqlx::query!(
        "update board_lists set position = case when id = $2 then null else position - 1 end,
           deleted_at = case when id = $2 then $3::timestamptz end
         where project_id = $1
           and position >= (select position from board_lists where project_id = $1 and id = $2)",
        project.get(),
        id.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Finds the board list of a label.
pub async fn find_by_label(
    connection: &mut Connection,
    project: ProjectId,
    label: LabelId,
) -> Result<Option<BoardListId>> {
    let id = sqlx::query_scalar!(
        "select id from board_lists where project_id = $1 and label_id = $2 and deleted_at is null",
        project.get(),
        label.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}
