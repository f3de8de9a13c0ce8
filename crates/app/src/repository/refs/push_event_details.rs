//! Reads the fields of a push event that are added when the body of its deliveries is built: changed paths and tag
//! messages. Reading them during the push would make it slower.
//!
//! The objects may have become unreachable since the push. Objects that have been pruned are left out.

use std::collections::HashMap;

use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::MAX_TEXT_BYTES;
use holdfast_git::ObjectId;
use holdfast_git::reader::{ChangedPaths, Kind, Reader};
use holdfast_store::projects::project::ProjectRef;
use serde_json::Value;

use super::push_event;
use crate::repository::browse::commit::clean_text;
use crate::repository::objects;
use crate::repository::open_repository::open_repository;
use crate::{Actor, App, Result};

/// The maximum number of changed paths of one commit. The rest is left out.
const MAX_PATHS: usize = 1000;

async fn read<T: Send + 'static>(
    app: &App,
    project: ProjectId,
    read: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
) -> Result<T> {
    let repository = open_repository(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
    objects::read(app, &repository, read).await
}

fn unless_pruned<T>(found: holdfast_git::Result<T>) -> Result<Option<T>> {
    match found {
        Err(holdfast_git::Error::Missing(_)) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Returns the changed paths per commit. Commits that have been pruned since are left out.
pub(crate) async fn changed_paths(
    app: &App,
    project: ProjectId,
    commits: Vec<ObjectId>,
) -> Result<HashMap<ObjectId, ChangedPaths>> {
    let collect = move |reader: &Reader| {
        let mut found = HashMap::with_capacity(commits.len());
        for id in commits {
            found.extend(unless_pruned(reader.changed_paths(id, MAX_PATHS))?.map(|paths| (id, paths)));
        }
        Ok(found)
    };
    read(app, project, collect).await
}

/// Returns the message of an annotated tag, and the commit that the tag points to.
pub(crate) async fn tag_details(
    app: &App,
    project: ProjectId,
    tag: ObjectId,
    object: ObjectId,
) -> Result<(Option<String>, Option<Value>)> {
    let collect = move |reader: &Reader| {
        let message = if tag == object { None } else { unless_pruned(reader.tag_message(tag))?.flatten() };
        let is_commit = unless_pruned(reader.peel(object))?.is_some_and(|(_, kind)| kind == Kind::Commit);
        let commit = if is_commit { unless_pruned(reader.commit(object))? } else { None };
        let message = message.map(|text| clean_text(&text, MAX_TEXT_BYTES));
        Ok((message, commit.map(|commit| push_event::commit_json(&commit, MAX_TEXT_BYTES))))
    };
    read(app, project, collect).await
}

/// Returns a commit as the bodies of deliveries contain it, or None if it has been pruned.
pub(crate) async fn commit_details(app: &App, project: ProjectId, commit: ObjectId) -> Result<Option<Value>> {
    let find = move |reader: &Reader| {
        let commit = unless_pruned(reader.commit(commit))?;
        Ok(commit.map(|commit| push_event::commit_json(&commit, MAX_TEXT_BYTES)))
    };
    read(app, project, find).await
}
