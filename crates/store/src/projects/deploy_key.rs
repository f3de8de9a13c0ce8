//! Deploy keys: SSH keys of projects, which belong to no user.
//!
//! - A deploy key is a row of `ssh_keys` without a user, and is linked to one or more projects.
//! - A key is deleted with its last link. Code that adds or removes a link has locked the key with [`lock`] or
//!   [`lock_by_fingerprint`], so that a key that is deleted gets no new link.

use chrono::{DateTime, Utc};
use holdfast_domain::AccessLevel;
use holdfast_domain::accounts::PublicKey;
use holdfast_domain::ids::{ProjectId, SshKeyId, UserId};
use holdfast_domain::page::{Page, PageRequest};
use sqlx::{Postgres, QueryBuilder};

use super::list::{Viewer, push_can_see, push_has_level};
use crate::page::{PagedQuery, Total, table_alias};
use crate::{Connection, Database, Result};

/// A deploy key as a project has it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct DeployKey {
    #[sqlx(try_from = "i64")]
    pub id: SshKeyId,
    pub title: String,
    pub key: String,
    pub created_at: DateTime<Utc>,
    /// Whether the key may push to the project. In the list of all keys, whether it may push to one of its projects.
    pub can_push: bool,
}

/// What a deploy key may do in a project.
#[derive(Clone, Copy, Debug)]
pub struct DeployKeyLink {
    pub can_push: bool,
    /// The user who added the key to the project. None if this user was deleted.
    pub added_by: Option<UserId>,
}

/// A deploy key to be linked to a project.
#[derive(Clone, Copy, Debug)]
pub struct NewLink {
    pub key: SshKeyId,
    pub added_by: UserId,
    pub can_push: bool,
}

/// Lists the deploy keys of a project, sorted by id.
pub async fn list(database: &Database, project: ProjectId, page: PageRequest) -> Result<Page<DeployKey>> {
    let list = PagedQuery {
        columns: "k.id, k.title, k.key, k.created_at, l.can_push",
        rows: "l.ssh_key_id, l.can_push",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from deploy_key_projects l where l.project_id = ").push_bind(project.get());
        },
        order: "l.ssh_key_id",
        page: table_alias("l join ssh_keys k on k.id = l.ssh_key_id"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

/// Lists the deploy keys of all projects, sorted by id.
pub async fn list_all(database: &Database, page: PageRequest) -> Result<Page<DeployKey>> {
    let list = PagedQuery {
        columns: "k.id, k.title, k.key, k.created_at, \
            exists (select from deploy_key_projects l where l.ssh_key_id = k.id and l.can_push) as can_push",
        rows: "k.*",
        from: |query: &mut QueryBuilder<Postgres>, _| {
            query.push("from ssh_keys k where k.user_id is null");
        },
        order: "k.id",
        page: table_alias("k"),
        total: Total::Bounded,
        needs_custom_plan: false,
    };
    list.fetch(&mut *database.connection().await?, page).await
}

pub async fn find(connection: &mut Connection, project: ProjectId, id: SshKeyId) -> Result<Option<DeployKey>> {
    Ok(sqlx::query_as!(
        DeployKey,
        "select k.id, k.title, k.key, k.created_at, l.can_push
         from deploy_key_projects l join ssh_keys k on k.id = l.ssh_key_id
         where l.project_id = $1 and l.ssh_key_id = $2",
        project.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?)
}

/// Finds the link between a deploy key and a project.
pub async fn find_link(connection: &mut Connection, project: ProjectId, id: SshKeyId) -> Result<Option<DeployKeyLink>> {
    let row = sqlx::query!(
        "select can_push, added_by from deploy_key_projects where project_id = $1 and ssh_key_id = $2",
        project.get(),
        id.get(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| DeployKeyLink { can_push: row.can_push, added_by: row.added_by.map(Into::into) }))
}

/// Locks a deploy key until the end of the transaction. Returns false if there is none with this id.
pub async fn lock(connection: &mut Connection, id: SshKeyId) -> Result<bool> {
    let found =
        sqlx::query_scalar!("select id from ssh_keys where id = $1 and user_id is null for no key update", id.get(),)
            .fetch_optional(connection)
            .await?;
    Ok(found.is_some())
}

/// Like [`lock`], but finds the deploy key by its fingerprint and returns its id.
pub async fn lock_by_fingerprint(connection: &mut Connection, fingerprint: &str) -> Result<Option<SshKeyId>> {
    let id = sqlx::query_scalar!(
        "select id from ssh_keys where fingerprint = $1 and user_id is null for no key update",
        fingerprint,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// Inserts a deploy key without a link, and returns its id. Returns None if a key with the same fingerprint exists.
pub async fn insert(
    connection: &mut Connection,
    title: &str,
    key: &PublicKey,
    now: DateTime<Utc>,
) -> Result<Option<SshKeyId>> {
    let id = sqlx::query_scalar!(
        "insert into ssh_keys (user_id, title, key, fingerprint, created_at) values (null, $1, $2, $3, $4)
         on conflict (fingerprint) do nothing returning id",
        title,
        key.as_str(),
        key.fingerprint(),
        now,
    )
    .fetch_optional(connection)
    .await?;
    Ok(id.map(Into::into))
}

/// Returns whether the viewer is a master of one of the projects that a deploy key is linked to. A viewer who sees
/// everything is. Deleted projects do not count. A key without projects is reachable for everybody: nodes of the previous
/// version leave it when they delete its last project.
pub async fn is_reachable(connection: &mut Connection, id: SshKeyId, viewer: Viewer) -> Result<bool> {
    let mut query = QueryBuilder::new("select not exists (select from deploy_key_projects l where l.ssh_key_id = ");
    query.push_bind(id.get()).push(") or exists (select from deploy_key_projects l ");
    query.push("join projects p on p.id = l.project_id where l.ssh_key_id = ").push_bind(id.get());
    query.push(" and p.namespace_id is not null and (");
    push_has_level(&mut query, viewer, AccessLevel::Master);
    query.push("))");
    Ok(query.build_query_scalar().fetch_one(connection).await?)
}

/// Lists the paths of the other projects that deploy keys of a project are linked to, as far as the viewer can see them:
/// at most `limit` for each key.
pub async fn list_other_projects(
    connection: &mut Connection,
    project: ProjectId,
    keys: &[SshKeyId],
    viewer: Viewer,
    limit: i64,
) -> Result<Vec<(SshKeyId, String)>> {
    let ids: Vec<i64> = keys.iter().map(|id| id.get()).collect();
    let mut query = QueryBuilder::new("select k.id, o.path from unnest(");
    query.push_bind(ids).push(") k (id) cross join lateral (select o.path || '/' || p.path as path ");
    query.push("from deploy_key_projects l join projects p on p.id = l.project_id ");
    query.push("join namespaces o on o.id = p.namespace_id where l.ssh_key_id = k.id and l.project_id <> ");
    query.push_bind(project.get());
    push_can_see(&mut query, viewer);
    query.push(" order by l.project_id limit ").push_bind(limit).push(") o");
    let rows: Vec<(i64, String)> = query.build_query_as().fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, path)| (id.into(), path)).collect())
}

/// Links a deploy key to a project. An existing link stays as it is.
pub async fn link(connection: &mut Connection, project: ProjectId, link: NewLink, now: DateTime<Utc>) -> Result<()> {
    sqlx::query!(
        "insert into deploy_key_projects (project_id, ssh_key_id, added_by, can_push, created_at)
         values ($1, $2, $3, $4, $5) on conflict do nothing",
        project.get(),
        link.key.get(),
        link.added_by.get(),
        link.can_push,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets the title of a locked deploy key.
pub async fn set_title(connection: &mut Connection, id: SshKeyId, title: &str) -> Result<()> {
    let update = sqlx::query("update ssh_keys set title = $2 where id = $1 and user_id is null");
    update.bind(id.get()).bind(title).execute(connection).await?;
    Ok(())
}

/// Lets a deploy key push to a project in the name of a user, or ends that if there is none.
pub async fn set_pusher(
    connection: &mut Connection,
    project: ProjectId,
    id: SshKeyId,
    pusher: Option<UserId>,
) -> Result<()> {
    const QUERY: &str = "\
        update deploy_key_projects set can_push = $3 is not null, added_by = coalesce($3, added_by) \
        where project_id = $1 and ssh_key_id = $2";
    let update = sqlx::query(QUERY).bind(project.get()).bind(id.get()).bind(pusher.map(UserId::get));
    update.execute(connection).await?;
    Ok(())
}

/// Removes locked deploy keys from a project, and deletes those that are linked to no other one.
pub async fn unlink(connection: &mut Connection, project: ProjectId, ids: &[SshKeyId]) -> Result<()> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    sqlx::query!("delete from deploy_key_projects where project_id = $1 and ssh_key_id = any($2)", project.get(), &ids)
        .execute(&mut *connection)
        .await?;
    sqlx::query!(
        "delete from ssh_keys k where k.id = any($1) and k.user_id is null
           and not exists (select from deploy_key_projects l where l.ssh_key_id = k.id)",
        &ids,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Removes at most `limit` deploy keys from a project, as [`unlink`] does, and returns how many. The caller has opened a
/// transaction.
pub async fn unlink_project_batch(connection: &mut Connection, project: ProjectId, limit: i64) -> Result<usize> {
    // The keys are locked by a statement of their own: the next one sees links that were added meanwhile.
    let ids = sqlx::query_scalar!(
        "select k.id from deploy_key_projects l join ssh_keys k on k.id = l.ssh_key_id
         where l.project_id = $1 order by l.ssh_key_id limit $2 for no key update of k",
        project.get(),
        limit,
    )
    .fetch_all(&mut *connection)
    .await?;
    let ids: Vec<SshKeyId> = ids.into_iter().map(Into::into).collect();
    unlink(connection, project, &ids).await?;
    Ok(ids.len())
}
