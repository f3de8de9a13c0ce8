//! Receives a push: what HTTP and SSH have in common, from the first command to the report.

use std::collections::HashSet;
use std::sync::Arc;

use holdfast_domain::policy::ProjectAction;
use holdfast_domain::repository::RefUpdateChannel;
use holdfast_git::connectivity::{self, KnownTips};
use holdfast_git::index_pack::{self, IndexedPack, ReceivedObjects};
use holdfast_git::pack_file::PackSizes;
use holdfast_git::protocol::receive::{PushCommand, PushRequest, Reporter, read_request};
use holdfast_git::reader::Reader;
use holdfast_git::{ObjectId, Quarantine, RefName};
use holdfast_store::cache::CachedRepository;
use holdfast_store::projects::project::ProjectRef;
use holdfast_store::repository::pack::{NewPack, Pack};
use holdfast_store::repository::protection;
use holdfast_store::repository::ref_update::RefUpdateOrigin;
use tokio::io::{AsyncRead, AsyncWrite};

use super::receipt::IntendedPush;
use super::request_reader::within_request_timeout;
use crate::actor::CurrentUser;
use crate::repository::maintenance;
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::pack::store_pack;
use crate::repository::refs::planned_update::PlannedUpdate;
use crate::repository::refs::ref_update::{self, RefUpdateBatch, RefUpdateResult};
use crate::repository::refs::ref_update_policy::{PolicyResult, RefUpdatePolicy, duplicate_names};
use crate::repository::refs::tag_permissions;
use crate::{Actor, App, Error, Result, access};

/// Reads the commands and the pack of a push, applies them and reports the result. Errors are reported to the client,
/// too.
pub async fn receive(
    app: &App,
    actor: &Actor,
    repository: OpenRepository,
    channel: RefUpdateChannel,
    input: &mut (impl AsyncRead + Unpin + Send),
    output: impl AsyncWrite + Unpin + Send,
) -> Result<()> {
    let request = within_request_timeout(app, read_request(input)).await??;
    let Some(request) = request else { return Ok(()) };
    let mut reporter = Reporter::new(output, request.capabilities);
    let names = || request.commands.iter().map(|command| command.name.as_slice());
    let repository = Arc::new(repository);
    let outcome = process(app, actor, &repository, channel, &request, input, &mut reporter).await;
    match outcome {
        Ok(rejections) => {
            let results =
                names().zip(&rejections).map(|(name, rejection)| (name, rejection.as_deref().map_or(Ok(()), Err)));
            reporter.report(Ok(()), results).await?;
        }
        Err(error) => {
            let text = client_message(&error);
            reporter.report(Err(&text), names().map(|name| (name, Err("unpacker error")))).await?;
        }
    }
    Ok(())
}

/// Returns the error message for the pushing user. The details of internal errors are only logged.
fn client_message(error: &Error) -> String {
    let message = match error {
        Error::Git(cause @ (holdfast_git::Error::CommandFailed { .. } | holdfast_git::Error::Protocol(_))) => {
            return cause.to_string();
        }
        Error::DatabaseUnavailable(_) => "the database is unavailable; push again later",
        Error::ObjectStore(_) => "the object store is unavailable; push again later",
        Error::Internal(_) | Error::Git(_) => {
            "internal server error; try again, or ask an administrator to check the server log"
        }
        other => return other.to_string(),
    };
    tracing::error!(%error, "push failed");
    message.into()
}

/// A push that has been received and not checked yet.
struct ReceivedPush<'a> {
    author: &'a CurrentUser,
    origin: RefUpdateOrigin,
    request: &'a PushRequest,
    quarantine: Quarantine,
    /// `None` if the push only deletes refs, which needs no objects.
    cached_repository: Option<CachedRepository>,
    pack: Option<IndexedPack>,
}

/// Maximum number of times that a push is checked, if objects are pruned concurrently.
const MAX_ATTEMPTS: usize = 3;

/// Receives the pack, then checks and applies the commands. Returns the reason for each command that was rejected,
/// `None` for the others.
async fn process<W: AsyncWrite + Unpin + Send>(
    app: &App,
    actor: &Actor,
    repository: &Arc<OpenRepository>,
    channel: RefUpdateChannel,
    request: &PushRequest,
    input: &mut (impl AsyncRead + Unpin + Send),
    reporter: &mut Reporter<W>,
) -> Result<Vec<Option<String>>> {
    let author = &*access::find_push_author(app, actor, &repository.project).await?;
    if request.has_pack() {
        maintenance::apply_backpressure(app, &repository.project, reporter).await?;
    }
    let _permit = app.git_runtime.acquire_push_permit(repository.client).await;
    let id = repository.project.repository.id;
    let cached_repository = match request.has_pack() {
        true => Some(app.cached_repository(id, repository.refs.generation).await?),
        false => None,
    };
    let quarantine = app.git_runtime.cache()?.quarantine(cached_repository.as_ref().map(|cached| &cached.bare))?;
    let pack = if request.has_pack() {
        let limits = app.git_runtime.settings.pack_limits;
        index_pack::receive(&app.git_runtime.git, &quarantine, input, limits, reporter).await?
    } else {
        None
    };
    let origin = RefUpdateOrigin { user: Some(author.account.id()), channel };
    let received = ReceivedPush { author, origin, request, quarantine, cached_repository, pack };
    let (mut repository, mut stored) = (repository.clone(), None);
    for _ in 0..MAX_ATTEMPTS {
        match validate_and_apply(app, actor, &repository, &received, &mut stored).await {
            Err(Error::PrunedConcurrently) => {}
            result => return result,
        }
        let project = ProjectRef::Id(repository.project.id);
        repository = Arc::new(open_repository(app, actor, &project, ProjectAction::WriteCode).await?);
        if received.cached_repository.is_some() {
            app.cached_repository(id, repository.refs.generation).await?;
        }
    }
    Err(Error::PrunedConcurrently)
}

async fn validate_and_apply(
    app: &App,
    actor: &Actor,
    repository: &Arc<OpenRepository>,
    received: &ReceivedPush<'_>,
    stored: &mut Option<NewPack>,
) -> Result<Vec<Option<String>>> {
    let ReceivedPush { author, origin, request, quarantine, cached_repository, pack } = received;
    let rules = protection::list(&mut *app.database.connection().await?, repository.project.id).await?;
    let policy = RefUpdatePolicy::new(actor, repository, rules);
    let duplicates = duplicate_names(&request.commands);
    let mut name_results: Vec<PolicyResult<RefName>> =
        request.commands.iter().map(|command| policy.check_name(command)).collect();
    for (result, command) in name_results.iter_mut().zip(&request.commands) {
        if duplicates.contains(command.name.as_slice()) {
            *result = Err("the push updates this ref more than once".into());
        }
    }
    reject_disconnected(app, repository, quarantine, pack.as_ref(), &request.commands, &mut name_results).await?;
    let (mut rejections, mut updates) =
        check_objects(policy, repository, quarantine, &request.commands, name_results).await?;
    reject_tags(app, repository, &mut updates, &mut rejections).await?;
    if request.capabilities.atomic && rejections.iter().any(Option::is_some) {
        rejections.iter_mut().for_each(|rejection| _ = rejection.get_or_insert_with(|| "atomic push failed".into()));
        return Ok(rejections);
    }
    if updates.is_empty() {
        return Ok(rejections);
    }
    let is_atomic = request.capabilities.atomic;
    if let (Some(pack), None) = (pack, &stored) {
        let intended_push = IntendedPush { repository, updates: &updates, origin: *origin, is_atomic };
        *stored = Some(store_pack(app, pack, Some(intended_push)).await?);
    }
    let files = pack.as_ref().zip(stored.as_ref().map(|pack| pack.sizes));
    let batch = RefUpdateBatch {
        is_atomic,
        pack: stored.clone(),
        ..RefUpdateBatch::new(repository, updates, Some(author), *origin)
    };
    let update_result = ref_update::apply(app, batch).await?;
    if let Some(cached_repository) = cached_repository {
        update_local_cache(app, cached_repository, &update_result, files, repository).await;
    }
    add_rejections(&mut rejections, update_result.rejections);
    Ok(rejections)
}

/// Rejects the updates of tags that the actor may not make.
async fn reject_tags(
    app: &App,
    repository: &OpenRepository,
    updates: &mut Vec<PlannedUpdate>,
    rejections: &mut [Option<String>],
) -> Result<()> {
    let denied = tag_permissions::find_denied_early(app, repository, updates).await?;
    let mut is_allowed = denied.iter().map(Option::is_none);
    updates.retain(|_| is_allowed.next().unwrap_or_default());
    add_rejections(rejections, denied);
    Ok(())
}

/// Adds the results of the commands that had not been rejected before.
fn add_rejections(rejections: &mut [Option<String>], later: Vec<Option<&'static str>>) {
    let mut later = later.into_iter();
    for rejection in rejections.iter_mut().filter(|rejection| rejection.is_none()) {
        *rejection = later.next().flatten().map(str::to_owned);
    }
}

/// Maximum number of new tips that are checked one by one to find the incomplete ones. If there are more, all are
/// rejected.
const MAX_TIPS_CHECKED_INDIVIDUALLY: usize = 20;

/// Rejects the commands whose new objects fail the connectivity check.
async fn reject_disconnected(
    app: &App,
    repository: &OpenRepository,
    quarantine: &Quarantine,
    pack: Option<&IndexedPack>,
    commands: &[PushCommand],
    results: &mut [PolicyResult<RefName>],
) -> Result<()> {
    let git = &app.git_runtime.git;
    let all_tips = || repository.refs.tips().collect();
    let mut likely_tips: Vec<ObjectId> = repository.refs.head_target().into_iter().collect();
    for command in commands {
        // Only current values of refs end a walk: the old value that the client sends is checked later.
        likely_tips.extend(std::str::from_utf8(&command.name).ok().and_then(|name| find_ref_id(repository, name)));
    }
    let new: HashSet<ObjectId> =
        commands.iter().zip(&*results).filter(|(_, result)| result.is_ok()).filter_map(|(it, _)| it.new).collect();
    let new: Vec<ObjectId> = new.into_iter().collect();
    let received = match pack.cloned() {
        None => ReceivedObjects::default(),
        Some(pack) => {
            let (bare, new, known) = (quarantine.repository().clone(), new.clone(), likely_tips.clone());
            let checking = tokio::task::spawn_blocking(move || {
                let received = pack.received_objects()?;
                // An error is no evidence either, and git reports it better.
                let is_connected = Reader::open(&bare)
                    .and_then(|reader| reader.is_evidently_connected(&new, &known, &received))
                    .unwrap_or(false);
                Ok::<_, Error>((received, is_connected))
            });
            let (received, is_connected) = checking.await.map_err(|panicked| Error::Internal(panicked.into()))??;
            if is_connected {
                return Ok(());
            }
            received
        }
    };
    let check = async |new: &[ObjectId]| {
        connectivity::is_connected(
            git,
            quarantine.repository(),
            new,
            KnownTips { likely: &likely_tips, all: &all_tips },
            &received,
        )
        .await
    };
    if check(&new).await? {
        return Ok(());
    }
    // Files of the cached repository may have been deleted meanwhile. Acquiring it again downloads them.
    app.cached_repository(repository.project.repository.id, repository.refs.generation).await?;
    if check(&new).await? {
        return Ok(());
    }
    for (command, result) in commands.iter().zip(results) {
        if let (Some(tip), Ok(_)) = (command.new, &result)
            && (new.len() > MAX_TIPS_CHECKED_INDIVIDUALLY || !check(&[tip]).await?)
        {
            *result = Err("missing necessary objects".into());
        }
    }
    Ok(())
}

fn find_ref_id(repository: &OpenRepository, name: &str) -> Option<ObjectId> {
    use holdfast_git::protocol::advertisement::RefLookup;
    Some(repository.refs.find(name)?.id)
}

/// Maximum number of updates of a push that can get a pipeline.
const MAX_CI_REFS: usize = 100;

/// Checks the objects of the commands on a blocking thread. Returns the reason for each command that is rejected, and
/// the updates of the others.
async fn check_objects(
    policy: RefUpdatePolicy,
    repository: &Arc<OpenRepository>,
    quarantine: &Quarantine,
    commands: &[PushCommand],
    names: Vec<PolicyResult<RefName>>,
) -> Result<(Vec<Option<String>>, Vec<PlannedUpdate>)> {
    let (repository, bare, commands) = (repository.clone(), quarantine.repository().clone(), commands.to_vec());
    let checking = tokio::task::spawn_blocking(move || {
        let reader = Reader::open(&bare)?;
        let (mut rejections, mut accepted) = (Vec::with_capacity(names.len()), Vec::new());
        for (command, name) in commands.iter().zip(names) {
            let result = match name {
                Ok(name) => policy.check_objects(&reader, &name, command)?,
                Err(rejection) => Err(rejection),
            };
            rejections.push(match result {
                Ok(update) => {
                    accepted.push(update);
                    None
                }
                Err(rejection) => Some(rejection),
            });
        }
        let mut updates = PlannedUpdate::read_all(&reader, &repository, accepted)?;
        if repository.project.features.builds_enabled {
            for planned in updates.iter_mut().take(MAX_CI_REFS) {
                planned.read_ci_file(&reader)?;
            }
        }
        Ok((rejections, updates))
    });
    checking.await.map_err(|panicked| Error::Internal(panicked.into()))?
}

/// Adds the committed pack to the local cache and requests maintenance. Errors are only logged, since the push is
/// committed already.
pub(in crate::repository) async fn update_local_cache(
    app: &App,
    cached_repository: &CachedRepository,
    result: &RefUpdateResult,
    files: Option<(&IndexedPack, PackSizes)>,
    repository: &OpenRepository,
) {
    let Some(committed) = &result.committed else { return };
    let update_cache = async {
        let new = committed.pack.zip(files).map(|(id, (files, sizes))| {
            (Pack { id, checksum: files.checksum.clone(), object_key: None, sizes, cruft_since: None }, files)
        });
        let has_new_pack = new.is_some();
        app.git_runtime.cache()?.add_committed_pack(cached_repository, committed.generation, new).await?;
        if has_new_pack {
            maintenance::request_if_due(app, &repository.project).await?;
        }
        Ok::<_, Error>(())
    };
    if let Err(error) = update_cache.await {
        tracing::warn!(%error, "push committed, local cache update failed");
    }
}
