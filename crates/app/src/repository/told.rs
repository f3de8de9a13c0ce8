//! What is told of a push beyond what was written down with it: read from the repository when somebody is told.

use std::collections::HashMap;

use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::reader::{ChangedPaths, Kind, Reader};
use holdfast_store::projects::project::ProjectRef;
use serde_json::Value;

use super::fetch::{self, Opened};
use super::objects::GitObjects;
use super::push_details;
use crate::{Actor, App, Result};

/// Of one commit. A commit that changes more is told of in part.
const PATHS: usize = 1000;

async fn open(app: &App, project: ProjectId) -> Result<Opened> {
    fetch::open(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await
}

pub(crate) async fn changed_paths(
    app: &App,
    project: ProjectId,
    commits: Vec<ObjectId>,
) -> Result<HashMap<ObjectId, ChangedPaths>> {
    let objects = GitObjects::of(app, &open(app, project).await?).await?;
    let one = |reader: &Reader, id: ObjectId| Ok((id, reader.changed_paths(id, PATHS)?));
    objects.read(move |reader| commits.into_iter().map(|id| one(reader, id)).collect()).await
}

/// What a tag says, and the commit it leads to.
pub(crate) async fn tag(
    app: &App,
    project: ProjectId,
    tag: ObjectId,
    object: ObjectId,
) -> Result<(Option<String>, Option<Value>)> {
    let objects = GitObjects::of(app, &open(app, project).await?).await?;
    objects
        .read(move |reader| {
            let message =
                if tag == object { None } else { reader.annotation(tag)?.map(|message| push_details::text(&message)) };
            let is_commit = reader.kind(object)? == Some(Kind::Commit);
            let commit = if is_commit { Some(push_details::commit(&reader.commit(object)?)) } else { None };
            Ok((message, commit))
        })
        .await
}
