//! Events for members and SSH keys that are deleted with their project, group or user. They equal those of single
//! deletions.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};

use crate::{Connection, Result};

macro_rules! insert_events {
    ($insert:expr, $condition:literal) => {
        concat!(
            "with inserted as (insert into outbox (kind, project_id, payload, created_at) ",
            $insert,
            $condition,
            // Only system hooks receive these events, and there can be very many of them.
            " and exists (select from hooks where project_id is null) returning id, kind, project_id, created_at) \
             insert into outbox_queue (outbox_id, kind, project_id, created_at) \
             select id, kind, project_id, created_at from inserted"
        )
    };
}

/// Formats a time like the JSON of the API: UTC with milliseconds.
macro_rules! json_time {
    ($value:literal) => {
        concat!("to_char(", $value, " at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    };
}

macro_rules! access_level_name {
    () => {
        "case m.access_level when 10 then 'Guest' when 20 then 'Reporter' when 30 then 'Developer' when 40 then 'Master' \
         else 'Owner' end"
    };
}

macro_rules! project_members {
    () => {
        concat!(
            "select 'user_remove_from_team', p.id, jsonb_build_object('created_at', ",
            json_time!("m.created_at"),
            ", 'updated_at', ",
            json_time!("$2::timestamptz"),
            ", \
               'project_id', p.id, 'project_name', p.name, 'project_path', p.path, \
               'project_path_with_namespace', n.path || '/' || p.path, 'project_visibility', \
               case p.visibility_level when 0 then 'private' when 10 then 'internal' else 'public' end, \
               'user_id', u.id, 'user_name', u.name, 'user_username', u.username, 'user_email', u.email, 'access_level', ",
            access_level_name!(),
            ", 'project_access', ",
            access_level_name!(),
            "), $2 from project_members m join projects p on p.id = m.project_id \
             join namespaces n on n.id = p.namespace_id join users u on u.id = m.user_id where "
        )
    };
}

macro_rules! group_members {
    () => {
        concat!(
            "select 'user_remove_from_group', null::bigint, jsonb_build_object('created_at', ",
            json_time!("m.created_at"),
            ", 'updated_at', ",
            json_time!("$2::timestamptz"),
            ", 'group_id', n.id, 'group_name', n.name, 'group_path', n.path, 'user_id', u.id, \
               'user_name', u.name, 'user_username', u.username, 'user_email', u.email, 'group_access', ",
            access_level_name!(),
            "), $2 from group_members m join namespaces n on n.id = m.group_id join users u on u.id = m.user_id where "
        )
    };
}

macro_rules! ssh_keys {
    () => {
        concat!(
            "select 'key_destroy', null::bigint, jsonb_build_object('created_at', ",
            json_time!("k.created_at"),
            ", 'updated_at', ",
            json_time!("k.created_at"),
            ", 'id', k.id, 'key', k.key, 'username', u.username), $2 \
             from ssh_keys k join users u on u.id = k.user_id where "
        )
    };
}

async fn publish(connection: &mut Connection, statement: &'static str, id: i64, now: DateTime<Utc>) -> Result<()> {
    sqlx::query(statement).bind(id).bind(now).execute(connection).await?;
    Ok(())
}

pub(super) async fn publish_for_project(
    connection: &mut Connection,
    project: ProjectId,
    now: DateTime<Utc>,
) -> Result<()> {
    publish(connection, insert_events!(project_members!(), "p.id = $1"), project.get(), now).await
}

/// Records the events for members of the namespace's projects, and of the group itself if the namespace is one.
pub(super) async fn publish_for_namespace(
    connection: &mut Connection,
    id: NamespaceId,
    now: DateTime<Utc>,
) -> Result<()> {
    publish(connection, insert_events!(project_members!(), "p.namespace_id = $1"), id.get(), now).await?;
    publish(connection, insert_events!(group_members!(), "n.id = $1"), id.get(), now).await
}

pub(super) async fn publish_for_user(connection: &mut Connection, user: UserId, now: DateTime<Utc>) -> Result<()> {
    publish(connection, insert_events!(ssh_keys!(), "k.user_id = $1"), user.get(), now).await?;
    publish(connection, insert_events!(project_members!(), "m.user_id = $1"), user.get(), now).await?;
    publish(connection, insert_events!(group_members!(), "m.user_id = $1"), user.get(), now).await
}
