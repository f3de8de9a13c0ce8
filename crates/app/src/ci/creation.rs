//! How pipelines come to be: by a push, by the interface, by a trigger.

use std::sync::Arc;
use std::time::Duration;

use holdfast_domain::Violations;
use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::{self, CiFile, Job, Target};
use holdfast_domain::ids::{PipelineId, ProjectId, TriggerId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::text::cut;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::ci::build::{self, NewBuild, Options};
use holdfast_store::ci::pipeline::{self, CommitFacts, NewPipeline, Pipeline};
use holdfast_store::projects::project;
use holdfast_store::worker::pipelines::Pushed;
use holdfast_store::{Connection, commit};
use tokio::sync::Semaphore;

use super::course::Course;
use crate::projects::project::ProjectRef;
use crate::repository::ci_file::{self, Content};
use crate::repository::fetch::{self, Opened};
use crate::{Actor, App, Error, Result};

/// For the tip of a branch or a tag, whatever its message says.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, ref_name: &str) -> Result<Pipeline> {
    let opened = fetch::open(app, actor, project, ProjectAction::ManageBuilds).await?;
    let user = actor.caller()?.account.id();
    by_name(app, &opened, ref_name, user, None).await
}

/// What a trigger gives to its pipeline.
pub(super) struct Given {
    pub trigger: TriggerId,
    /// Sealed.
    pub variables: Option<Vec<u8>>,
}

pub(super) async fn by_name(
    app: &App,
    opened: &Opened,
    ref_name: &str,
    user: UserId,
    given: Option<Given>,
) -> Result<Pipeline> {
    let refused = |text: &str| Error::from(Violations::of("base", text));
    let ref_name = ref_name.strip_prefix("refs/heads/").unwrap_or(ref_name);
    let branch = opened.refs.find(&format!("refs/heads/{ref_name}"));
    let tag = branch.is_none();
    let target = branch.or_else(|| opened.refs.find(&format!("refs/tags/{ref_name}")));
    let target = target.ok_or_else(|| refused("Reference not found"))?;
    let found = ci_file::load(app, opened, target.object()).await?;
    let (facts, content) = found.ok_or_else(|| refused("Commit not found"))?;
    let none = ObjectId::null(SHA1).to_string();
    let new = New { ref_name, tag, before_sha: &none, facts: &facts, user: Some(user), generation: None, given };
    let plan = match content {
        Content::Missing => return Err(refused("Missing .gitlab-ci.yml file")),
        Content::TooLarge => Err(TOO_LARGE.to_owned()),
        Content::Text(text) => new.plan(app, &opened.project.full_path(), text).await?,
    };
    let jobs = plan.map_err(|text| refused(&text))?;
    if jobs.is_empty() {
        return Err(refused("No builds for this pipeline."));
    }
    let made = new.insert(app, opened.project.id, Ok(&jobs)).await?;
    made.ok_or_else(twice)
}

const TOO_LARGE: &str = "The file is larger than 1 MiB";

/// What was pushed, ref by ref. It may be tried again from the start: what was made is not made twice.
pub(crate) async fn of_push(
    app: &App,
    project: ProjectId,
    user: UserId,
    generation: i64,
    pushed: Vec<Pushed>,
) -> Result<()> {
    let mut failed = None;
    for it in pushed {
        match of_ref(app, project, user, generation, it).await {
            Ok(()) => {}
            Err(Error::NotFound(_)) => return Ok(()),
            // The other refs are built all the same.
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(()), Err)
}

async fn of_ref(app: &App, project: ProjectId, user: UserId, generation: i64, pushed: Pushed) -> Result<()> {
    let Pushed { ref_name, tag, sha } = pushed;
    // Whatever happened to the repository since: what was pushed is there as long as nothing is cleaned up.
    let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
    let Ok(at) = ObjectId::from_hex(sha.as_bytes()) else { return Ok(()) };
    if !opened.project.features.builds_enabled {
        return Ok(());
    }
    let Some((facts, content)) = ci_file::load(app, &opened, at).await? else { return Ok(()) };
    let new = New {
        ref_name: &ref_name,
        tag,
        before_sha: &sha,
        facts: &facts,
        user: Some(user),
        generation: Some(generation),
        given: None,
    };
    let plan = match content {
        Content::Missing => return Ok(()),
        Content::TooLarge => Err(TOO_LARGE.to_owned()),
        Content::Text(text) => new.plan(app, &opened.project.full_path(), text).await?,
    };
    let made = match &plan {
        Err(text) => Err((Status::Failed, Some(text.as_str()))),
        Ok(_) if is_skipped(&facts.message) => Err((Status::Skipped, None)),
        Ok(jobs) if jobs.is_empty() => return Ok(()),
        Ok(jobs) => Ok(jobs.as_slice()),
    };
    new.insert(app, project, made).await.map(drop)
}

fn is_skipped(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("[ci skip]") || message.contains("[skip ci]")
}

/// Made for what other services say of a commit, if it has none on that ref yet.
pub(super) async fn for_statuses(
    app: &App,
    project: ProjectId,
    user: Option<UserId>,
    (ref_name, tag): (&str, bool),
    facts: &CommitFacts,
) -> Result<PipelineId> {
    let none = ObjectId::null(SHA1).to_string();
    let new = New { ref_name, tag, before_sha: &none, facts, user, generation: None, given: None };
    let mut transaction = app.database.begin().await?;
    // Of two who are the first to say something, one makes it.
    project::lock(&mut transaction, project).await?;
    let found = pipeline::newest_of_commit(&mut transaction, project, &facts.id, Some(ref_name)).await?;
    let id = match found {
        Some(id) => id,
        None => {
            new.insert_in(app, &mut transaction, project, Err((Status::Created, None))).await?.ok_or_else(twice)?.id
        }
    };
    commit(transaction).await?;
    Ok(id)
}

/// Only what was pushed has a move of its own that can have one already.
fn twice() -> Error {
    Error::Internal("a pipeline was made twice".into())
}

/// Maximum size of a commit's message that is kept with a pipeline: each of its builds, of which there may be 1,000, shows it.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

struct New<'a> {
    ref_name: &'a str,
    tag: bool,
    before_sha: &'a str,
    facts: &'a CommitFacts,
    user: Option<UserId>,
    generation: Option<i64>,
    given: Option<Given>,
}

impl New<'_> {
    async fn plan(
        &self,
        app: &App,
        project_path: &str,
        text: Vec<u8>,
    ) -> Result<std::result::Result<Vec<NewBuild>, String>> {
        let triggered = self.given.is_some();
        let target = Target { ref_name: self.ref_name, tag: self.tag, triggered, project_path };
        let jobs = read(app, text).await?.map(|file| file.into_jobs_for(&target));
        Ok(jobs.map(|jobs| jobs.into_iter().map(new_build).collect()))
    }

    /// With its builds, or as what it is without any. None if that move of the ref has one already.
    async fn insert(
        &self,
        app: &App,
        project: ProjectId,
        plan: std::result::Result<&[NewBuild], (Status, Option<&str>)>,
    ) -> Result<Option<Pipeline>> {
        let mut transaction = app.database.begin().await?;
        let made = self.insert_in(app, &mut transaction, project, plan).await?;
        commit(transaction).await?;
        Ok(made)
    }

    async fn insert_in(
        &self,
        app: &App,
        connection: &mut Connection,
        project: ProjectId,
        plan: std::result::Result<&[NewBuild], (Status, Option<&str>)>,
    ) -> Result<Option<Pipeline>> {
        let now = app.clock.now();
        // The whole message has been searched for marks such as `[ci skip]`; this much of it is kept.
        let message = cut(&self.facts.message, MAX_MESSAGE_BYTES).to_owned();
        let facts = CommitFacts { message, ..self.facts.clone() };
        let new = NewPipeline {
            project,
            user: self.user,
            ref_name: self.ref_name,
            tag: self.tag,
            sha: &self.facts.id,
            before_sha: self.before_sha,
            commit: &facts,
            status: plan.map_or_else(|(status, _)| status, |_| Status::Created),
            yaml_errors: plan.err().and_then(|(_, text)| text),
            generation: self.generation,
            variables: self.given.as_ref().and_then(|given| given.variables.as_deref()),
            triggered_by: self.given.as_ref().map(|given| given.trigger.get()),
        };
        let Some(id) = pipeline::insert(connection, new, now).await? else { return Ok(None) };
        if let Ok(builds) = plan {
            build::insert(connection, project, id, self.user, builds, now).await?;
        }
        Ok(Some(Course::begin(connection, id).await?.close(app, connection, now).await?))
    }
}

fn new_build(job: Job) -> NewBuild {
    NewBuild {
        name: job.name,
        stage: job.stage,
        stage_index: i32::try_from(job.stage_index).unwrap_or(i32::MAX),
        run_when: job.when.word(),
        allow_failure: job.allow_failure,
        tags: job.tags,
        options: Options {
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

/// What is told of an error: a file can be wrong at great length.
const LONGEST_ERROR: usize = 1000;

/// Some milliseconds of work, and more if somebody means harm; so many at once, and no more.
async fn read(app: &App, text: Vec<u8>) -> Result<std::result::Result<CiFile, String>> {
    parse(&app.ci_files, text).await
}

/// Parses a CI file on a blocking thread, with one of these permits. The thread holds the permit: it goes on when the request
/// is given up.
async fn parse(permits: &Arc<Semaphore>, text: Vec<u8>) -> Result<std::result::Result<CiFile, String>> {
    let permit = permits.clone().acquire_owned().await.expect("the semaphore is never closed");
    let reading = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        file::read(&text)
    });
    let file = reading.await.map_err(|panicked| Error::Internal(panicked.into()))?;
    Ok(file.map_err(|text| text.chars().take(LONGEST_ERROR).collect()))
}

/// How soon somebody may try again who was turned away: a file takes about a second at most.
const LINT_RETRY_AFTER: Duration = Duration::from_secs(2);

/// Returns what is wrong with a CI file, or None if it could be used. Anybody may ask, so this has permits of its own: who
/// asks too much keeps others from asking, but no pipeline from being created.
pub async fn lint(app: &App, text: String) -> Result<Option<String>> {
    if text.len() as u64 > ci_file::LARGEST {
        return Ok(Some(TOO_LARGE.to_owned()));
    }
    let busy = |_| Error::Throttled { retry_after: LINT_RETRY_AFTER };
    let _request = app.lint_requests.try_acquire().map_err(busy)?;
    Ok(parse(&app.lints, text.into_bytes()).await?.err())
}
