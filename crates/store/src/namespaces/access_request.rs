//! Requests of users to become members of a group or a project.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::UserId;
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::member::MembershipScope;
use crate::accounts::user::UserSummary;
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AccessRequest {
    #[sqlx(flatten)]
    pub user: UserSummary,
    pub requested_at: DateTime<Utc>,
}

/// Returns the values of the columns `group_id` and `project_id`, one of which is None.
fn id_columns(scope: MembershipScope) -> (Option<i64>, Option<i64>) {
    match scope {
        MembershipScope::Group(id) => (Some(id.get()), None),
        MembershipScope::Project(id) => (None, Some(id.get())),
    }
}

/// Lists the access requests of a group or a project, sorted by user id.
pub async fn list(database: &Database, scope: MembershipScope, page: PageRequest) -> Result<Page<AccessRequest>> {
    let list = PagedQuery {
        columns: "u.id, u.username, u.name, u.email, u.state, r.requested_at",
        rows: "r.user_id, r.requested_at",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from access_requests r where ");
            match scope {
                MembershipScope::Group(id) => query.push("r.group_id = ").push_bind(id.get()),
                MembershipScope::Project(id) => query.push("r.project_id = ").push_bind(id.get()),
            };
        },
        order: "r.user_id",
        page: table_alias("r join users u on u.id = r.user_id"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Returns whether a user has requested access and nobody has decided about it.
pub async fn exists(connection: &mut Connection, scope: MembershipScope, user: UserId) -> Result<bool> {
    const IN_GROUP: &str = "select exists (select from access_requests where group_id = $1 and user_id = $2)";
    const IN_PROJECT: &str = "select exists (select from access_requests where project_id = $1 and user_id = $2)";
    let (query, id) = match scope {
        MembershipScope::Group(id) => (IN_GROUP, id.get()),
        MembershipScope::Project(id) => (IN_PROJECT, id.get()),
    };
    Ok(sqlx::query_scalar(query).bind(id).bind(user.get()).fetch_one(connection).await?)
}

/// Inserts an access request. Returns false if the user has one already.
pub async fn insert(
    connection: &mut Connection,
    scope: MembershipScope,
    user: UserId,
    now: DateTime<Utc>,
) -> Result<bool> {
    let (group, project) = id_columns(scope);
    let inserted = sqlx::query!(
        "insert into access_requests (group_id, project_id, user_id, requested_at) values ($1, $2, $3, $4)
         on conflict do nothing",
        group,
        project,
        user.get(),
        now,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

/// Deletes an access request and returns when it was made. Returns None if there is none.
pub async fn delete(
    connection: &mut Connection,
    scope: MembershipScope,
    user: UserId,
) -> Result<Option<DateTime<Utc>>> {
    let (group, project) = id_columns(scope);
    Ok(sqlx::query_scalar!(
        "delete from access_requests where (group_id = $1 or project_id = $2) and user_id = $3 returning requested_at",
        group,
        project,
        user.get(),
    )
    .fetch_optional(connection)
    .await?)
}
