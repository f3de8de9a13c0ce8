//! What is told of a push beyond what was written down with it: read from the repository when somebody is told.

use std::collections::HashMap;

use holdfast_domain::ids::ProjectId;
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_git::reader::{ChangedPaths, Kind, Reader};
use holdfast_store::projects::project::ProjectRef;
use serde_json::Value;

use super::{fetch, objects, push_details};
use crate::{Actor, App, Result};

/// Of one commit. A commit that changes more is told of in part.
const PATHS: usize = 1000;

/// Looks for objects that refs need not lead to any more. What is missing was removed since; unless somebody deletes this
/// node's copy in that moment, which the second time is there again.
async fn read<T: Send + 'static>(
    app: &App,
    project: ProjectId,
    look: impl Fn(&Reader, &mut Missing) -> Result<T> + Clone + Send + 'static,
) -> Result<T> {
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
    let once = async || {
        let look = look.clone();
        let look = move |reader: &Reader| {
            let mut missing = Missing(false);
            Ok((look(reader, &mut missing)?, missing))
        };
        objects::read(app, &opened, look).await
    };
    let (found, Missing(is_any)) = once().await?;
    if !is_any {
        return Ok(found);
    }
    Ok(once().await?.0)
}

/// Whether something was.
struct Missing(bool);

impl Missing {
    fn or<T>(&mut self, found: holdfast_git::Result<T>) -> Result<Option<T>> {
        match found {
            Err(holdfast_git::Error::Missing(_)) => {
                self.0 = true;
                Ok(None)
            }
            found => Ok(Some(found?)),
        }
    }
}

/// Of those that are still there.
pub(crate) async fn changed_paths(
    app: &App,
    project: ProjectId,
    commits: Vec<ObjectId>,
) -> Result<HashMap<ObjectId, ChangedPaths>> {
    let look = move |reader: &Reader, missing: &mut Missing| {
        let mut found = HashMap::with_capacity(commits.len());
        for id in &commits {
            found.extend(missing.or(reader.changed_paths(*id, PATHS))?.map(|paths| (*id, paths)));
        }
        Ok(found)
    };
    read(app, project, look).await
}

/// What a tag says, and the commit it leads to.
pub(crate) async fn tag(
    app: &App,
    project: ProjectId,
    tag: ObjectId,
    object: ObjectId,
) -> Result<(Option<String>, Option<Value>)> {
    let look = move |reader: &Reader, missing: &mut Missing| {
        let annotation = if tag == object { None } else { missing.or(reader.annotation(tag))?.flatten() };
        let is_commit = missing.or(reader.peel(object))?.is_some_and(|(_, kind)| kind == Kind::Commit);
        let commit = if is_commit { missing.or(reader.commit(object))? } else { None };
        Ok((annotation.map(|text| push_details::text(&text)), commit.map(|commit| push_details::commit(&commit))))
    };
    read(app, project, look).await
}
