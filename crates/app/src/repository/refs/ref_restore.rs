//! Restores refs to values of the ref log: a deleted branch, or the value before a forced push.
//!
//! A restore is a ref update like any other, applied by the same code and under the same rules as a push.

use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::protocol::receive::PushCommand;
use holdfast_git::reader::Reader;
use holdfast_git::{ObjectId, RefName, connectivity};
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use holdfast_store::repository::{protection, ref_log as rows};

use super::planned_update::PlannedUpdate;
use super::ref_log::{RefLogEntry, full_name, is_past_restore_period, restore_command};
use super::ref_update::{self, RefUpdateBatch, STALE_OLD_VALUE};
use super::ref_update_policy::{PolicyResult, RefUpdatePolicy};
use crate::repository::git_objects::GitObjects;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Resource, Result};

/// A ref that has been restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredRef {
    pub name: String,
    /// The value before the restore; `None` if the ref did not exist.
    pub from: Option<ObjectId>,
    pub target: ObjectId,
}

/// The ref log entry whose old value is restored.
#[derive(Clone, Copy)]
enum RestoreSelector {
    Generation(i64),
    Last,
    /// The update that deleted the ref.
    Deletion,
}

/// Restores a ref to its value before the update of this generation.
#[crate::boxed]
pub async fn restore(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    generation: i64,
) -> Result<RestoredRef> {
    restore_selected(app, actor, project, &full_name(name), RestoreSelector::Generation(generation)).await
}

/// Restores a ref to its value before its last update.
#[crate::boxed]
pub async fn restore_last(app: &App, actor: &Actor, project: &ProjectRef, name: &str) -> Result<RestoredRef> {
    restore_selected(app, actor, project, &full_name(name), RestoreSelector::Last).await
}

/// Restores a deleted branch to its last value.
#[crate::boxed]
pub async fn restore_branch(app: &App, actor: &Actor, project: &ProjectRef, branch: &str) -> Result<RestoredRef> {
    restore_selected(app, actor, project, &format!("refs/heads/{branch}"), RestoreSelector::Deletion).await
}

/// Maximum number of attempts, if objects are pruned concurrently.
const MAX_ATTEMPTS: usize = 3;

async fn restore_selected(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    name: &str,
    selector: RestoreSelector,
) -> Result<RestoredRef> {
    for _ in 0..MAX_ATTEMPTS {
        let repository = open_repository(app, actor, project, ProjectAction::WriteCode).await?;
        if let (RestoreSelector::Deletion, Some(existing)) = (selector, repository.refs.find(name)) {
            let branch = name.trim_start_matches("refs/heads/");
            return Err(Error::Conflict(format!("{branch} already exists, at {}", existing.id)));
        }
        let id = repository.project.repository.id;
        let mut connection = app.database.connection().await?;
        let entry = match selector {
            RestoreSelector::Generation(generation) => rows::find(&mut connection, id, generation, name).await?,
            RestoreSelector::Last | RestoreSelector::Deletion => rows::find_last(&mut connection, id, name).await?,
        };
        drop(connection);
        match apply_restore(app, actor, repository, entry.ok_or(Error::NotFound(Resource::Record))?).await {
            Err(Error::PrunedConcurrently) => {}
            result => return result,
        }
    }
    Err(Error::PrunedConcurrently)
}

async fn apply_restore(
    app: &App,
    actor: &Actor,
    repository: OpenRepository,
    entry: RefLogEntry,
) -> Result<RestoredRef> {
    let name = &entry.name;
    let Some(old) = entry.old else {
        return Err(Error::Conflict(format!("{name} was created by this update and has no previous value")));
    };
    if is_past_restore_period(app, &entry, app.clock.now()) {
        let days = app.settings.maintenance.ref_restore_period.num_days();
        return Err(Error::Conflict(format!("This update is older than {days} days and can no longer be restored")));
    }
    let conflict = || Error::Conflict(format!("{name} has been updated again since"));
    if repository.refs.find(name).map(|target| target.id) != entry.new {
        return Err(conflict());
    }
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let policy = RefUpdatePolicy::new(actor, &repository, rules).for_restore();
    let command = restore_command(&entry);
    let ref_name = policy.check_name(&command).map_err(Error::Rejected)?;
    let repository = Arc::new(repository);
    let objects = repository.objects(app).await?;
    // Tips whose objects are known to exist end the walk.
    let known_tips: Vec<ObjectId> = entry.new.into_iter().chain(repository.refs.head_target()).collect();
    if !connectivity::is_fully_connected(&app.git_runtime.git, objects.repository(), old, &known_tips).await? {
        return Err(Error::Conflict(format!("The previous target of {name} has been pruned")));
    }
    let updates = plan(objects, policy, repository.clone(), ref_name, command, actor.current_user().is_ok()).await?;
    let channel = actor.current_user().map_or(RefUpdateChannel::Cli, |user| user.ref_update_channel);
    let origin = RefUpdateOrigin { user: actor.user_id(), channel };
    let batch = RefUpdateBatch {
        restores_unreachable: true,
        ..RefUpdateBatch::new(&repository, updates, actor.current_user().ok(), origin)
    };
    let result = ref_update::apply(app, batch).await?;
    match result.rejections.into_iter().next().flatten() {
        None => Ok(RestoredRef { name: name.clone(), from: entry.new, target: old }),
        Some(STALE_OLD_VALUE) => Err(conflict()),
        Some(text) => Err(Error::Conflict(text.into())),
    }
}

/// Checks the restore against the policy and plans it.
async fn plan(
    objects: &GitObjects,
    policy: RefUpdatePolicy,
    repository: Arc<OpenRepository>,
    name: RefName,
    command: PushCommand,
    has_author: bool,
) -> Result<Vec<PlannedUpdate>> {
    let check_and_read = move |reader: &Reader| -> Result<PolicyResult<_>> {
        let update = match policy.check_objects(reader, &name, &command)? {
            Ok(update) => update,
            Err(rejection) => return Ok(Err(rejection)),
        };
        // Without an author, no event is recorded that would list the commits.
        let mut updates = match has_author {
            true => PlannedUpdate::read_all(reader, &repository, vec![update])?,
            false => vec![PlannedUpdate::from(update)],
        };
        if repository.project.features.builds_enabled {
            for planned in &mut updates {
                planned.read_ci_file(reader)?;
            }
        }
        Ok(Ok(updates))
    };
    objects.read(check_and_read).await?.map_err(Error::Rejected)
}
