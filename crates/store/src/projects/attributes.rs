//! The attributes of a project that users can set.

use chrono::{DateTime, Utc};
use holdfast_domain::Visibility;
use holdfast_domain::ids::{NamespaceId, ProjectId, UserId};

use super::project::Features;
use crate::{Connection, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub name: String,
    pub path: String,
    pub description: Option<String>,
    pub visibility: Visibility,
    pub features: Features,
}

pub async fn insert(
    connection: &mut Connection,
    namespace: NamespaceId,
    creator: UserId,
    attributes: &Attributes,
    runners_token: &str,
    now: DateTime<Utc>,
) -> Result<ProjectId> {
    let features = attributes.features;
    let id = sqlx::query_scalar!(
        "insert into projects (namespace_id, creator_id, name, path, description, visibility_level, issues_enabled,
           merge_requests_enabled, wiki_enabled, builds_enabled, snippets_enabled, container_registry_enabled,
           shared_runners_enabled, public_builds, lfs_enabled, request_access_enabled,
           only_allow_merge_if_build_succeeds, only_allow_merge_if_all_discussions_are_resolved, runners_token,
           created_at, updated_at, last_activity_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $20, $20)
         returning id",
        namespace.get(),
        creator.get(),
        attributes.name,
        attributes.path,
        attributes.description,
        attributes.visibility.as_i16(),
        features.issues_enabled,
        features.merge_requests_enabled,
        features.wiki_enabled,
        features.builds_enabled,
        features.snippets_enabled,
        features.container_registry_enabled,
        features.shared_runners_enabled,
        features.public_builds,
        features.lfs_enabled,
        features.request_access_enabled,
        features.only_allow_merge_if_build_succeeds,
        features.only_allow_merge_if_all_discussions_are_resolved,
        runners_token,
        now,
    )
    .fetch_one(connection)
    .await?;
    Ok(id.into())
}

pub async fn update(
    connection: &mut Connection,
    id: ProjectId,
    attributes: &Attributes,
    now: DateTime<Utc>,
) -> Result<()> {
    let features = attributes.features;
    sqlx::query!(
        "update projects set name = $2, path = $3, description = $4, visibility_level = $5, issues_enabled = $6,
           merge_requests_enabled = $7, wiki_enabled = $8, builds_enabled = $9, snippets_enabled = $10,
           container_registry_enabled = $11, shared_runners_enabled = $12, public_builds = $13, lfs_enabled = $14,
           request_access_enabled = $15, only_allow_merge_if_build_succeeds = $16,
           only_allow_merge_if_all_discussions_are_resolved = $17, updated_at = $18
         where id = $1",
        id.get(),
        attributes.name,
        attributes.path,
        attributes.description,
        attributes.visibility.as_i16(),
        features.issues_enabled,
        features.merge_requests_enabled,
        features.wiki_enabled,
        features.builds_enabled,
        features.snippets_enabled,
        features.container_registry_enabled,
        features.shared_runners_enabled,
        features.public_builds,
        features.lfs_enabled,
        features.request_access_enabled,
        features.only_allow_merge_if_build_succeeds,
        features.only_allow_merge_if_all_discussions_are_resolved,
        now,
    )
    .execute(connection)
    .await?;
    Ok(())
}
