//! Publishes the events of memberships, SSH keys and projects that are deleted together with their project, group or
//! user.
//!
//! - A use case calls this in its transaction, before it deletes the rows.
//! - Rows are read and events are written in batches: there can be very many of them.
//! - Only system hooks receive the events of memberships and keys, so these are written only if there is such a hook.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use holdfast_domain::ids::{NamespaceId, ProjectId};
use holdfast_store::Connection;
use holdfast_store::accounts::ssh_key;
use holdfast_store::accounts::user::User;
use holdfast_store::activity::event;
use holdfast_store::hooks::hook::{self, HookOwner};
use holdfast_store::namespaces::group::{self, Group};
use holdfast_store::projects::project::{self, Project};
use holdfast_store::worker::removed_members::{self, GroupMember, ProjectMember, Removal};

use crate::{Result, events};

/// Maximum number of events that are built and written at once. The number is arbitrary.
const EVENT_BATCH_SIZE: i64 = 2000;

/// Publishes the events of a project's memberships.
pub(crate) async fn publish_for_project(
    connection: &mut Connection,
    project: ProjectId,
    now: DateTime<Utc>,
) -> Result<()> {
    if has_system_hooks(connection).await? {
        publish_memberships(connection, Removal::Project(project), now).await?;
    }
    Ok(())
}

/// Publishes the events of a namespace's projects, of their memberships and, for a group, of its own memberships. The
/// caller has locked the namespace against new projects, and its projects against new members.
pub(crate) async fn publish_for_namespace(
    connection: &mut Connection,
    namespace: NamespaceId,
    now: DateTime<Utc>,
) -> Result<()> {
    if has_system_hooks(connection).await? {
        publish_memberships(connection, Removal::Namespace(namespace), now).await?;
    }
    publish_projects(connection, namespace, now).await
}

/// Publishes the events of a user's SSH keys and memberships.
pub(crate) async fn publish_for_user(connection: &mut Connection, user: &User, now: DateTime<Utc>) -> Result<()> {
    if has_system_hooks(connection).await? {
        publish_keys(connection, user, now).await?;
        publish_memberships(connection, Removal::User(user.id), now).await?;
    }
    Ok(())
}

async fn has_system_hooks(connection: &mut Connection) -> Result<bool> {
    Ok(hook::count(connection, HookOwner::Instance, 1).await? > 0)
}

async fn publish_memberships(connection: &mut Connection, removal: Removal, now: DateTime<Utc>) -> Result<()> {
    publish_project_memberships(connection, removal, now).await?;
    publish_group_memberships(connection, removal, now).await
}

async fn publish_project_memberships(connection: &mut Connection, removal: Removal, now: DateTime<Utc>) -> Result<()> {
    let mut after = None;
    loop {
        let members = removed_members::next_project_members(connection, removal, after, EVENT_BATCH_SIZE).await?;
        let Some(last) = members.last() else { return Ok(()) };
        after = Some((last.project_id, last.user.id));
        let mut ids: Vec<ProjectId> = members.iter().map(|it| it.project_id).collect();
        ids.dedup();
        let projects = project::find_many(connection, &ids).await?;
        let projects: HashMap<ProjectId, &Project> = projects.iter().map(|it| (it.id, it)).collect();
        // A project that another transaction has deleted since the batch was read is left out: the other transaction
        // publishes its events.
        let with_project = members.iter().filter_map(|member| Some((*projects.get(&member.project_id)?, member)));
        let outbox_events = with_project.map(|(project, ProjectMember { user, access_level, created_at, .. })| {
            (Some(project.id), events::project::member_removed(project, user, *access_level, *created_at, now))
        });
        event::publish_batch(connection, outbox_events.collect(), now).await?;
    }
}

async fn publish_group_memberships(connection: &mut Connection, removal: Removal, now: DateTime<Utc>) -> Result<()> {
    let mut after = None;
    loop {
        let members = removed_members::next_group_members(connection, removal, after, EVENT_BATCH_SIZE).await?;
        let Some(last) = members.last() else { return Ok(()) };
        after = Some((last.group_id, last.user.id));
        let mut ids: Vec<NamespaceId> = members.iter().map(|it| it.group_id).collect();
        ids.dedup();
        let groups = group::find_many(connection, &ids).await?;
        let groups: HashMap<NamespaceId, &Group> = groups.iter().map(|it| (it.id, it)).collect();
        let with_group = members.iter().filter_map(|member| Some((*groups.get(&member.group_id)?, member)));
        let outbox_events = with_group.map(|(group, GroupMember { user, access_level, created_at, .. })| {
            (None, events::group::member_removed(group, user, *access_level, *created_at, now))
        });
        event::publish_batch(connection, outbox_events.collect(), now).await?;
    }
}

async fn publish_projects(connection: &mut Connection, namespace: NamespaceId, now: DateTime<Utc>) -> Result<()> {
    let mut after = None;
    loop {
        let projects = project::next_namespace_batch(connection, namespace, after, EVENT_BATCH_SIZE).await?;
        let Some(last) = projects.last() else { return Ok(()) };
        after = Some(last.id);
        let outbox_events = projects.iter().map(|it| (Some(it.id), events::project::project_destroyed(it)));
        event::publish_batch(connection, outbox_events.collect(), now).await?;
    }
}

async fn publish_keys(connection: &mut Connection, user: &User, now: DateTime<Utc>) -> Result<()> {
    let mut after = None;
    loop {
        let keys = ssh_key::next_batch(connection, user.id, after, EVENT_BATCH_SIZE).await?;
        let Some(last) = keys.last() else { return Ok(()) };
        after = Some(last.id);
        let outbox_events = keys.iter().map(|it| (None, events::account::key_removed(it, &user.username)));
        event::publish_batch(connection, outbox_events.collect(), now).await?;
    }
}
