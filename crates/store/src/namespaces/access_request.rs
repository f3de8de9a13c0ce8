//! Who asks to become a member of a group or a project.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::member::Source;
use crate::accounts::user::{Person, person_columns};
use crate::page::{List, Total, named};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AccessRequest {
    #[sqlx(flatten)]
    pub user: Person,
    pub requested_at: DateTime<Utc>,
}

/// Of a group the first is set, of a project the second.
fn keys(source: Source) -> (Option<i64>, Option<i64>) {
    match source {
        Source::Group(id) => (Some(id.get()), None),
        Source::Project(id) => (None, Some(id.get())),
    }
}

/// By user id.
pub async fn list(database: &Database, source: Source, page: PageRequest) -> Result<Page<AccessRequest>> {
    let list = List {
        columns: concat!(person_columns!(), ", r.requested_at"),
        rows: "r.user_id, r.requested_at",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from access_requests r where ");
            match source {
                Source::Group(id) => query.push("r.group_id = ").push_bind(id.get()),
                Source::Project(id) => query.push("r.project_id = ").push_bind(id.get()),
            };
        },
        order: "r.user_id",
        page: named("r join users u on u.id = r.user_id"),
        total: Total::Bounded,
        varies: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Whether it is new.
pub async fn insert(connection: &mut Connection, source: Source, user: UserId, now: DateTime<Utc>) -> Result<bool> {
    let (group, project) = keys(source);
    let made = sqlx::query!(
        "insert into access_requests (group_id, project_id, user_id, requested_at) values ($1, $2, $3, $4)
         on conflict do nothing",
        group,
        project,
        user.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(made.rows_affected() > 0)
}

/// The request that was.
pub async fn delete(connection: &mut Connection, source: Source, user: UserId) -> Result<Option<DateTime<Utc>>> {
    let (group, project) = keys(source);
    Ok(sqlx::query_scalar!(
        "delete from access_requests where (group_id = $1 or project_id = $2) and user_id = $3 returning requested_at",
        group,
        project,
        user.get(),
    )
    .fetch_optional(connection)
    .await?)
}
