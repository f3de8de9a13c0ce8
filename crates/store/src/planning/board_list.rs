use chrono::{DateTime, Utc};
use holdfast_domain::ids::{BoardListId, LabelId, ProjectId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use crate::page::{List, Total, named};
use crate::{Connection, Database, Result};

/// A column of a project's board: the issues with its label.
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

macro_rules! list_columns {
    () => {
        "b.id, b.position, b.label_id, l.title, l.color, l.description"
    };
}

/// From left to right.
pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<BoardList>> {
    let list = List {
        columns: list_columns!(),
        rows: "b.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from board_lists b where b.position is not null and b.project_id = ").push_bind(project.get());
        },
        order: "b.position",
        page: named("b join labels l on l.id = b.label_id"),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// All of them: there are no more than there are labels.
pub async fn all(connection: &mut Connection, project: ProjectId) -> Result<Vec<BoardList>> {
    const QUERY: &str = concat!(
        "select ",
        list_columns!(),
        " from board_lists b join labels l on l.id = b.label_id \
         where b.project_id = $1 and b.position is not null order by b.position"
    );
    Ok(sqlx::query_as(QUERY).bind(project.get()).fetch_all(connection).await?)
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: BoardListId) -> Result<Option<BoardList>> {
    const QUERY: &str = concat!(
        "select ",
        list_columns!(),
        " from board_lists b join labels l on l.id = b.label_id \
         where b.project_id = $1 and b.id = $2 and b.position is not null"
    );
    Ok(sqlx::query_as(QUERY).bind(project.get()).bind(id.get()).fetch_optional(connection).await?)
}

/// How many there are.
pub async fn count(connection: &mut Connection, project: ProjectId) -> Result<i32> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(max(position) + 1, 0) as "count!" from board_lists where project_id = $1"#,
        project.get(),
    )
    .fetch_one(connection)
    .await?)
}

/// At the right end.
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

/// To another place; those between make room.
pub async fn set_position(
    connection: &mut Connection,
    project: ProjectId,
    id: BoardListId,
    from: i32,
    to: i32,
) -> Result<()> {
    sqlx::query!(
        "update board_lists set position = case when id = $2 then $4::integer else position + sign($3::integer - $4::integer)::integer end
         where project_id = $1 and position between least($3::integer, $4::integer) and greatest($3::integer, $4::integer)",
        project.get(),
        id.get(),
        from,
        to,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Those to the right close up.
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

/// The one that shows a label.
pub async fn of_label(connection: &mut Connection, project: ProjectId, label: LabelId) -> Result<Option<BoardListId>> {
    let id = sqlx::query_scalar!(
        "select id from board_lists where project_id = $1 and label_id = $2 and deleted_at is null",
        project.get(),
        label.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}
