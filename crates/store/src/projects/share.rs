//! Shares of projects with groups.

use chrono::{DateTime, NaiveDate, Utc};
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};
use holdfast_domain::{AccessLevel, Visibility};

use crate::{Connection, Result};

/// A group that a project is shared with.
#[derive(Clone, Debug)]
pub struct Share {
    pub group_id: NamespaceId,
    pub group_name: String,
    access_level: i16,
    visibility_level: i16,
    /// The access level of the viewer in the group.
    member_level: Option<i16>,
}

impl Share {
    pub fn access_level(&self) -> AccessLevel {
        self.access_level.try_into().unwrap_or(AccessLevel::Guest)
    }

    /// Returns the visibility of the group.
    pub fn visibility(&self) -> Visibility {
        self.visibility_level.try_into().unwrap_or(Visibility::Private)
    }

    pub fn member_level(&self) -> Option<AccessLevel> {
        self.member_level?.try_into().ok()
    }

    /// Returns the viewer's access level by this share: the lower one of the group's level and the viewer's level in
    /// the group.
    pub(super) fn level(&self) -> Option<AccessLevel> {
        Some(self.member_level()?.min(self.access_level()))
    }
}

/// A share as a list of the shares of one project shows it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ShareDetail {
    #[sqlx(try_from = "i64")]
    pub group_id: NamespaceId,
    pub group_name: String,
    pub group_path: String,
    #[sqlx(try_from = "i16")]
    pub access_level: AccessLevel,
    /// The first day on which the share is no longer valid.
    pub expires_at: Option<NaiveDate>,
}

/// Lists the shares of a project with these groups, oldest first.
pub async fn list_details(connection: &mut Connection, project: ProjectId, groups: &[i64]) -> Result<Vec<ShareDetail>> {
    const QUERY: &str = "\
        select s.group_id, g.name as group_name, g.path as group_path, s.access_level, s.expires_at \
        from project_shares s join namespaces g on g.id = s.group_id \
        where s.project_id = $1 and s.group_id = any($2) order by s.id";
    Ok(sqlx::query_as(QUERY).bind(project.get()).bind(groups).fetch_all(connection).await?)
}

struct ShareRow {
    project_id: i64,
    group_id: i64,
    access_level: i16,
    name: String,
    visibility_level: i16,
    member_level: Option<i16>,
}

/// Lists the shares of several projects with one statement, as `viewer` sees them.
pub(super) async fn list_for_projects(
    connection: &mut Connection,
    projects: &[i64],
    viewer: Option<UserId>,
    today: NaiveDate,
) -> Result<Vec<(ProjectId, Share)>> {
    let rows = sqlx::query_as!(
        ShareRow,
        r#"select s.project_id, s.group_id, s.access_level, g.name, g.visibility_level,
             m.access_level as "member_level?"
           from project_shares s join namespaces g on g.id = s.group_id
           left join group_members m on m.group_id = s.group_id and m.user_id = $2
             and (m.expires_at is null or m.expires_at > $3)
           where s.project_id = any($1) and (s.expires_at is null or s.expires_at > $3) order by s.id"#,
        projects,
        viewer.map(UserId::get),
        today,
    )
    .fetch_all(connection)
    .await?;
    let with_project = |row: ShareRow| {
        let share = Share {
            group_id: row.group_id.into(),
            group_name: row.name,
            access_level: row.access_level,
            visibility_level: row.visibility_level,
            member_level: row.member_level,
        };
        (row.project_id.into(), share)
    };
    Ok(rows.into_iter().map(with_project).collect())
}

/// Inserts a share and returns its id. An expired share with the same group is replaced.
pub async fn insert(
    connection: &mut Connection,
    project: ProjectId,
    group: NamespaceId,
    level: AccessLevel,
    expires_at: Option<NaiveDate>,
    now: DateTime<Utc>,
) -> Result<i64> {
    sqlx::query!(
        "delete from project_shares where project_id = $1 and group_id = $2 and expires_at <= $3",
        project.get(),
        group.get(),
        now.date_naive(),
    )
    .execute(&mut *connection)
    .await?;
    Ok(sqlx::query_scalar!(
        "insert into project_shares (project_id, group_id, access_level, expires_at, created_at)
         values ($1, $2, $3, $4, $5) returning id",
        project.get(),
        group.get(),
        level.as_i16(),
        expires_at,
        now,
    )
    .fetch_one(connection)
    .await?)
}

/// Deletes a share. Returns false if there is none.
pub async fn delete(connection: &mut Connection, project: ProjectId, group: NamespaceId) -> Result<bool> {
    let deleted =
        sqlx::query!("delete from project_shares where project_id = $1 and group_id = $2", project.get(), group.get())
            .execute(connection)
            .await?;
    Ok(deleted.rows_affected() > 0)
}
