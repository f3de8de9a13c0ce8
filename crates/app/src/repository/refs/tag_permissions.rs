//! Decides who creates, changes and deletes tags.

use holdfast_domain::AccessLevel;
use holdfast_domain::repository::TagProtection;
use holdfast_store::Connection;
use holdfast_store::repository::ref_update::RefUpdate;
use holdfast_store::repository::tag_protection;

use super::planned_update::PlannedUpdate;
use super::ref_update_policy::TAG_CHANGED;
use crate::repository::open_repository::OpenRepository;
use crate::{App, Error, Result};

const PROTECTED_TAG: &str = "You are not allowed to create or change this tag, because it is protected.";
const PROTECTED_RELEASE: &str = "You are not allowed to change the release of this tag, because it is protected.";
/// The number of tags after which other tasks of the thread run. 100 rules are matched with each tag. Arbitrary.
const TAGS_PER_TURN: usize = 500;

/// Returns for each update the reason why the actor may not make it, and `None` for those that are allowed and those of
/// other refs. Only masters change or delete an existing tag. Whoever creates or changes a protected tag also needs the
/// level of its rule.
pub(in crate::repository) async fn find_denied(
    connection: &mut Connection,
    repository: &OpenRepository,
    updates: &[&RefUpdate],
) -> Result<Vec<Option<&'static str>>> {
    if updates.iter().all(|it| it.name.as_tag().is_none()) {
        return Ok(vec![None; updates.len()]);
    }
    let rules = tag_protection::list_all(connection, repository.project.id).await?;
    let level = repository.effective_level;
    let mut reasons = Vec::with_capacity(updates.len());
    for (index, update) in updates.iter().enumerate() {
        reasons.push(match update.name.as_tag() {
            None => None,
            Some(_) if update.old.is_some() && level < Some(AccessLevel::Master) => Some(TAG_CHANGED),
            Some(_) if update.new.is_none() => None,
            Some(tag) if TagProtection::for_tag(&rules, tag).can_create(level) => None,
            Some(_) => Some(PROTECTED_TAG),
        });
        if index % TAGS_PER_TURN == TAGS_PER_TURN - 1 {
            tokio::task::yield_now().await;
        }
    }
    Ok(reasons)
}

/// Returns the same as [`find_denied`] before anything of a push is stored. [`super::ref_update`] decides again, with the
/// repository locked, but then the pack and its receipt exist, and a recovery would apply the push.
pub(in crate::repository) async fn find_denied_early(
    app: &App,
    repository: &OpenRepository,
    updates: &[PlannedUpdate],
) -> Result<Vec<Option<&'static str>>> {
    let updates: Vec<&RefUpdate> = updates.iter().map(|it| &it.update).collect();
    if updates.iter().all(|it| it.name.as_tag().is_none()) {
        return Ok(vec![None; updates.len()]);
    }
    find_denied(&mut *app.database.connection().await?, repository, &updates).await
}

/// Checks whether the actor may change the release of a tag, which takes the same level as creating the tag: a release
/// says what people download.
pub(super) async fn check_release(connection: &mut Connection, repository: &OpenRepository, tag: &str) -> Result<()> {
    let rules = tag_protection::list_all(connection, repository.project.id).await?;
    match TagProtection::for_tag(&rules, tag).can_create(repository.effective_level) {
        true => Ok(()),
        false => Err(Error::Forbidden(Some(PROTECTED_RELEASE))),
    }
}
