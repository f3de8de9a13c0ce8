//! What is told of members and keys that go with their project, group or account: the same as of each alone.

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};

use crate::{Connection, Result};

macro_rules! told {
    ($insert:expr, $condition:literal) => {
        concat!(
            "with told as (insert into outbox (kind, project_id, payload, created_at) ",
            $insert,
            $condition,
            // Nobody else listens, and there may be very many.
            " and exists (select from hooks where project_id is null) returning id, kind, project_id, created_at) \
             insert into outbox_queue (outbox_id, kind, project_id, created_at) \
             select id, kind, project_id, created_at from told"
        )
    };
}

/// As records show it.
macro_rules! time {
    ($value:literal) => {
        concat!("to_char(", $value, " at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    };
}

macro_rules! level {
    () => {
        "case m.access_level when 10 then 'Guest' when 20 then 'Reporter' when 30 then 'Developer' when 40 then 'Master' \
         else 'Owner' end"
    };
}

macro_rules! of_team {
    () => {
        concat!(
            "select 'user_remove_from_team', p.id, jsonb_build_object('created_at', ",
            time!("m.created_at"),
            ", 'updated_at', ",
            time!("$2::timestamptz"),
            ", \
               'project_id', p.id, 'project_name', p.name, 'project_path', p.path, \
               'project_path_with_namespace', n.path || '/' || p.path, 'project_visibility', \
               case p.visibility_level when 0 then 'private' when 10 then 'internal' else 'public' end, \
               'user_id', u.id, 'user_name', u.name, 'user_username', u.username, 'user_email', u.email, 'access_level', ",
            level!(),
            ", 'project_access', ",
            level!(),
            "), $2 from project_members m join projects p on p.id = m.project_id \
             join namespaces n on n.id = p.namespace_id join users u on u.id = m.user_id where "
        )
    };
}

macro_rules! of_group {
    () => {
        concat!(
            "select 'user_remove_from_group', null::bigint, jsonb_build_object('created_at', ",
            time!("m.created_at"),
            ", 'updated_at', ",
            time!("$2::timestamptz"),
            ", 'group_id', n.id, 'group_name', n.name, 'group_path', n.path, 'user_id', u.id, \
               'user_name', u.name, 'user_username', u.username, 'user_email', u.email, 'group_access', ",
            level!(),
            "), $2 from group_members m join namespaces n on n.id = m.group_id join users u on u.id = m.user_id where "
        )
    };
}

macro_rules! of_keys {
    () => {
        concat!(
            "select 'key_destroy', null::bigint, jsonb_build_object('created_at', ",
            time!("k.created_at"),
            ", 'updated_at', ",
            time!("k.created_at"),
            ", 'id', k.id, 'key', k.key, 'username', u.username), $2 \
             from ssh_keys k join users u on u.id = k.user_id where "
        )
    };
}

async fn tell(connection: &mut Connection, statement: &'static str, id: i64, now: DateTime<Utc>) -> Result<()> {
    sqlx::query(statement).bind(id).bind(now).execute(connection).await?;
    Ok(())
}

pub(super) async fn of_project(connection: &mut Connection, project: ProjectId, now: DateTime<Utc>) -> Result<()> {
    tell(connection, told!(of_team!(), "p.id = $1"), project.get(), now).await
}

/// Of the projects in it, and of the group itself if it is one.
pub(super) async fn of_namespace(connection: &mut Connection, id: NamespaceId, now: DateTime<Utc>) -> Result<()> {
    tell(connection, told!(of_team!(), "p.namespace_id = $1"), id.get(), now).await?;
    tell(connection, told!(of_group!(), "n.id = $1"), id.get(), now).await
}

pub(super) async fn of_user(connection: &mut Connection, user: UserId, now: DateTime<Utc>) -> Result<()> {
    tell(connection, told!(of_keys!(), "k.user_id = $1"), user.get(), now).await?;
    tell(connection, told!(of_team!(), "m.user_id = $1"), user.get(), now).await?;
    tell(connection, told!(of_group!(), "m.user_id = $1"), user.get(), now).await
}
