//! Redirects from former paths of namespaces and projects.

use holdfast_domain::ids::{NamespaceId, ProjectId};

use crate::{Connection, Result};

/// Redirects the former path of a namespace.
pub async fn insert_for_namespace(connection: &mut Connection, path: &str, namespace: NamespaceId) -> Result<()> {
    sqlx::query!(
        "insert into namespace_redirects (path, namespace_id) values (lower($1), $2)
         on conflict (path) do update set namespace_id = excluded.namespace_id",
        path,
        namespace.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Redirects the former path of a project in its former namespace.
pub async fn insert_for_project(
    connection: &mut Connection,
    namespace: NamespaceId,
    path: &str,
    project: ProjectId,
) -> Result<()> {
    sqlx::query!(
        "insert into project_redirects (namespace_id, path, project_id) values ($1, lower($2), $3)
         on conflict (namespace_id, path) do update set project_id = excluded.project_id",
        namespace.get(),
        path,
        project.get(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Finds a project by its current or former path, in a namespace by its current or former path. Both paths are in lower
/// case.
pub(crate) async fn resolve_project(
    connection: &mut Connection,
    namespace: &str,
    path: &str,
) -> Result<Option<ProjectId>> {
    let found = sqlx::query_scalar!(
        r#"select project_id as "project_id!" from (
             select 1 as rank, id from namespaces where lower(path) = $1
             union all
             select 2, namespace_id from namespace_redirects where path = $1
           ) n cross join lateral (
             select coalesce(
               (select p.id from projects p where p.namespace_id = n.id and lower(p.path) = $2
                  and regexp_replace(lower(p.path), '(\.wiki)+$', '') = regexp_replace($2, '(\.wiki)+$', '')),
               (select r.project_id from project_redirects r where r.namespace_id = n.id and r.path = $2)
             ) as project_id
           ) p
           where project_id is not null order by rank limit 1"#,
        namespace,
        path,
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.map(Into::into))
}

/// Finds a group by a former path, in lower case.
pub(crate) async fn resolve_group(connection: &mut Connection, path: &str) -> Result<Option<NamespaceId>> {
    let found = sqlx::query_scalar!("select namespace_id from namespace_redirects where path = $1", path)
        .fetch_optional(connection)
        .await?;
    Ok(found.map(Into::into))
}
