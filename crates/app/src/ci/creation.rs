//! Creates pipelines for pushes, API requests, triggers and external commit statuses.

use std::sync::Arc;
use std::time::Duration;

use holdfast_domain::Violations;
use holdfast_domain::ci::file::{self, CiFile, Job, PipelineTarget};
use holdfast_domain::ci::{PipelineSource, Status};
use holdfast_domain::ids::{PipelineId, ProjectId, TriggerId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::cut;
use holdfast_git::protocol::advertisement::RefLookup;
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::ci::build::{self, BuildOptions, NewBuild};
use holdfast_store::ci::pipeline::{self, CommitSummary, NewPipeline, Pipeline};
use holdfast_store::projects::project;
use holdfast_store::worker::pipelines::PushedRef;
use holdfast_store::{Connection, commit};
use tokio::sync::Semaphore;

use super::pipeline_state::LockedPipeline;
use super::variable::{encrypt_request_variables, find_forbidden};
use crate::projects::project::ProjectRef;
use crate::repository::browse::ci_file::{self, CiFileContent};
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::{Actor, App, Error, Result};

/// Creates a pipeline for the tip of a branch or tag, even if the commit message contains `[ci skip]`.
#[crate::boxed]
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, ref_name: &str) -> Result<Pipeline> {
    create_for_request(app, actor, project, ref_name, &[], PipelineSource::Api).await
}

/// Like [`create`], for a user who requests it on a page.
#[crate::boxed]
pub async fn create_on_page(app: &App, actor: &Actor, project: &ProjectRef, ref_name: &str) -> Result<Pipeline> {
    create_for_request(app, actor, project, ref_name, &[], PipelineSource::Web).await
}

/// Like [`create`], and passes these variables to the builds.
#[crate::boxed]
pub async fn create_with_variables(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    ref_name: &str,
    variables: &[(String, String)],
) -> Result<Pipeline> {
    create_for_request(app, actor, project, ref_name, variables, PipelineSource::Api).await
}

async fn create_for_request(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    ref_name: &str,
    variables: &[(String, String)],
    source: PipelineSource,
) -> Result<Pipeline> {
    let repository = open_repository(app, actor, project, ProjectAction::ManageBuilds).await?;
    let user = actor.current_user()?.account.id();
    if let Some(reason) = find_forbidden(variables, "A pipeline") {
        return Err(Violations::single("base", reason).into());
    }
    let encrypted_variables = encrypt_request_variables(app, repository.project.id, variables)?;
    let input = PipelineInput { source, trigger_id: None, encrypted_variables };
    create_for_ref_name(app, &repository, ref_name, user, input).await
}

/// What a pipeline is created by, the variables of the request, and the trigger if the request has the token of one.
#[derive(Default)]
pub(super) struct PipelineInput {
    pub source: PipelineSource,
    pub trigger_id: Option<TriggerId>,
    /// The variables, encrypted; `None` if there are none.
    pub encrypted_variables: Option<Vec<u8>>,
}

pub(super) async fn create_for_ref_name(
    app: &App,
    repository: &OpenRepository,
    ref_name: &str,
    user: UserId,
    input: PipelineInput,
) -> Result<Pipeline> {
    let rejection = |text: &str| Error::from(Violations::single("base", text));
    let ref_name = ref_name.strip_prefix("refs/heads/").unwrap_or(ref_name);
    let branch = repository.refs.find(&format!("refs/heads/{ref_name}"));
    let tag = branch.is_none();
    let target = branch.or_else(|| repository.refs.find(&format!("refs/tags/{ref_name}")));
    let target = target.ok_or_else(|| rejection("Reference not found"))?;
    let found = ci_file::load(app, repository, target.peeled_or_self()).await?;
    let (summary, content) = found.ok_or_else(|| rejection("Commit not found"))?;
    let null_sha = ObjectId::null(SHA1).to_string();
    let draft = PipelineDraft {
        ref_name,
        tag,
        before_sha: &null_sha,
        commit: &summary,
        user: Some(user),
        generation: None,
        input,
    };
    let plan = match content {
        CiFileContent::Missing => return Err(rejection(MISSING)),
        CiFileContent::TooLarge => Err(TOO_LARGE.to_owned()),
        CiFileContent::Text(text) => draft.plan_builds(app, &repository.project.full_path(), text).await?,
    };
    let jobs = plan.map_err(|text| rejection(&text))?;
    if jobs.is_empty() {
        return Err(rejection("No builds for this pipeline."));
    }
    let created = draft.insert(app, repository.project.id, Ok(&jobs)).await?;
    created.ok_or_else(duplicate_pipeline)
}

pub(super) const MISSING: &str = "Missing .gitlab-ci.yml file";
pub(super) const TOO_LARGE: &str = "The file is larger than 1 MiB";

/// Creates the pipelines of a push, ref by ref. Idempotent: a ref update that already has a pipeline gets no second
/// one.
pub(crate) async fn create_for_push(
    app: &App,
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed: Vec<PushedRef>,
) -> Result<()> {
    let mut last_error = None;
    for pushed_ref in pushed {
        match create_for_pushed_ref(app, project, user, generation, pushed_ref).await {
            Ok(()) => {}
            Err(Error::NotFound(_)) => return Ok(()),
            // An error of one ref does not affect the others.
            Err(error) => last_error = Some(error),
        }
    }
    last_error.map_or(Ok(()), Err)
}

async fn create_for_pushed_ref(
    app: &App,
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed: PushedRef,
) -> Result<()> {
    let PushedRef { ref_name, tag, sha } = pushed;
    // The pushed commit is read by its id, even if the ref has been updated since. It exists until it is pruned.
    let repository = open_repository(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
    let Ok(commit_id) = ObjectId::from_hex(sha.as_bytes()) else { return Ok(()) };
    if !repository.project.features.builds_enabled {
        return Ok(());
    }
    let Some((summary, content)) = ci_file::load(app, &repository, commit_id).await? else { return Ok(()) };
    let draft = PipelineDraft {
        ref_name: &ref_name,
        tag,
        before_sha: &sha,
        commit: &summary,
        user: Some(user),
        generation: Some(generation),
        input: PipelineInput::default(),
    };
    let plan = match content {
        CiFileContent::Missing => return Ok(()),
        CiFileContent::TooLarge => Err(TOO_LARGE.to_owned()),
        CiFileContent::Text(text) => draft.plan_builds(app, &repository.project.full_path(), text).await?,
    };
    let plan_or_status = match &plan {
        Err(text) => Err((Status::Failed, Some(text.as_str()))),
        Ok(_) if is_skipped(&summary.message) => Err((Status::Skipped, None)),
        Ok(jobs) if jobs.is_empty() => return Ok(()),
        Ok(jobs) => Ok(jobs.as_slice()),
    };
    draft.insert(app, project, plan_or_status).await.map(drop)
}

fn is_skipped(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("[ci skip]") || message.contains("[skip ci]")
}

/// Returns the newest pipeline of a commit on a ref. If there is none, creates one without builds for external
/// statuses.
pub(super) async fn find_or_create_for_status(
    app: &App,
    project: ProjectId,
    user: Option<UserId>,
    (ref_name, tag): (&str, bool),
    summary: &CommitSummary,
) -> Result<PipelineId> {
    let none = ObjectId::null(SHA1).to_string();
    let draft = PipelineDraft {
        ref_name,
        tag,
        before_sha: &none,
        commit: summary,
        user,
        generation: None,
        input: PipelineInput { source: PipelineSource::External, ..PipelineInput::default() },
    };
    let mut transaction = app.database.begin().await?;
    // The lock makes concurrent first statuses of a commit share one pipeline.
    project::lock(&mut transaction, project).await?;
    let found = pipeline::find_newest_for_commit(&mut transaction, project, &summary.id, Some(ref_name)).await?;
    let id = match found {
        Some(id) => id,
        None => {
            draft
                .insert_within(app, &mut transaction, project, Err((Status::Created, None)))
                .await?
                .ok_or_else(duplicate_pipeline)?
                .id
        }
    };
    commit(transaction).await?;
    Ok(id)
}

/// Returns the error for an impossible conflict: only pipelines of pushes have a generation that can conflict.
fn duplicate_pipeline() -> Error {
    Error::Internal("a pipeline for this ref update already exists".into())
}

/// Maximum size of a commit message that is stored with a pipeline. Each of its builds, of which there may be 1,000,
/// shows it.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

struct PipelineDraft<'a> {
    ref_name: &'a str,
    tag: bool,
    before_sha: &'a str,
    commit: &'a CommitSummary,
    user: Option<UserId>,
    generation: Option<i64>,
    input: PipelineInput,
}

impl PipelineDraft<'_> {
    async fn plan_builds(
        &self,
        app: &App,
        project_path: &str,
        text: Vec<u8>,
    ) -> Result<std::result::Result<Vec<NewBuild>, String>> {
        let triggered = self.input.trigger_id.is_some();
        let target =
            PipelineTarget { ref_name: self.ref_name, is_tag: self.tag, is_triggered: triggered, project_path };
        let jobs = parse_ci_file(app, text).await?.map(|file| file.into_jobs_for(&target));
        Ok(jobs.map(|jobs| jobs.into_iter().map(new_build).collect()))
    }

    /// Inserts the pipeline with its builds, or without builds in the given status. Returns `None` if the ref update
    /// already has a pipeline.
    async fn insert(
        &self,
        app: &App,
        project: ProjectId,
        plan: std::result::Result<&[NewBuild], (Status, Option<&str>)>,
    ) -> Result<Option<Pipeline>> {
        let mut transaction = app.database.begin().await?;
        let created = self.insert_within(app, &mut transaction, project, plan).await?;
        commit(transaction).await?;
        Ok(created)
    }

    async fn insert_within(
        &self,
        app: &App,
        connection: &mut Connection,
        project: ProjectId,
        plan: std::result::Result<&[NewBuild], (Status, Option<&str>)>,
    ) -> Result<Option<Pipeline>> {
        let now = app.clock.now();
        // `[ci skip]` has been searched for in the whole message; only the beginning of it is stored.
        let message = cut(&self.commit.message, MAX_MESSAGE_BYTES).to_owned();
        let summary = CommitSummary { message, ..self.commit.clone() };
        let new = NewPipeline {
            project,
            user: self.user,
            ref_name: self.ref_name,
            tag: self.tag,
            sha: &self.commit.id,
            before_sha: self.before_sha,
            commit: &summary,
            status: plan.map_or_else(|(status, _)| status, |_| Status::Created),
            source: self.input.source,
            yaml_errors: plan.err().and_then(|(_, text)| text),
            generation: self.generation,
            variables: self.input.encrypted_variables.as_deref(),
            triggered_by: self.input.trigger_id.map(TriggerId::get),
        };
        let Some(id) = pipeline::insert(connection, new, now).await? else { return Ok(None) };
        if let Ok(builds) = plan {
            build::insert(connection, project, id, self.user, builds, now).await?;
        }
        Ok(Some(LockedPipeline::lock_new(connection, id).await?.save(app, connection, now).await?))
    }
}

fn new_build(job: Job) -> NewBuild {
    NewBuild {
        name: job.name,
        stage: job.stage,
        stage_index: i32::try_from(job.stage_index).unwrap_or(i32::MAX),
        run_when: job.when,
        allow_failure: job.allow_failure,
        tags: job.tags,
        options: BuildOptions {
            script: job.script,
            after_script: job.after_script,
            image: job.image,
            services: job.services,
            variables: job.variables,
            dependencies: job.dependencies,
            artifacts: job.artifacts,
            cache: job.cache,
            environment: job.environment,
            coverage: job.coverage,
        },
    }
}

/// Maximum length of an error text. Errors about an invalid file can be very long.
const MAX_ERROR_CHARS: usize = 1000;

/// Parses a CI file to create a pipeline. This takes milliseconds, but more for a malicious file, so permits limit how
/// many files are parsed at once.
async fn parse_ci_file(app: &App, text: Vec<u8>) -> Result<std::result::Result<CiFile, String>> {
    parse_with_permit(&app.ci_file_permits, text).await
}

/// Parses a CI file on a blocking thread, with one of these permits. The thread holds the permit, because it continues
/// when the request is canceled.
async fn parse_with_permit(permits: &Arc<Semaphore>, text: Vec<u8>) -> Result<std::result::Result<CiFile, String>> {
    let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
    let reading = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        file::read(&text)
    });
    let file = reading.await.map_err(|panicked| Error::Internal(panicked.into()))?;
    Ok(file.map_err(|text| text.chars().take(MAX_ERROR_CHARS).collect()))
}

/// When a throttled client may try again: parsing a file takes about a second at most.
const LINT_RETRY_AFTER: Duration = Duration::from_secs(2);

/// Returns the error in a CI file, or `None` if it is valid. There is no permission check, so this has permits of its
/// own: too many lint requests delay each other, but no pipeline.
#[crate::boxed]
pub async fn lint(app: &App, text: String) -> Result<Option<String>> {
    Ok(parse_for_lint(app, text).await?.err())
}

/// Parses a CI file for a lint request, with the permits of such requests.
pub(super) async fn parse_for_lint(app: &App, text: String) -> Result<std::result::Result<CiFile, String>> {
    if text.len() as u64 > ci_file::MAX_BYTES {
        return Ok(Err(TOO_LARGE.to_owned()));
    }
    let busy = |_| Error::Throttled { retry_after: LINT_RETRY_AFTER };
    let _request = app.lint_request_permits.try_acquire().map_err(busy)?;
    parse_with_permit(&app.lint_permits, text.into_bytes()).await
}
