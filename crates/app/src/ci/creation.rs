//! How pipelines come to be: by a push, by the interface, by a trigger.

use holdfast_domain::Violations;
use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::{self, CiFile, Job, Target};
use holdfast_domain::ids::{ProjectId, TriggerId, UserId};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::protocol::advertisement::Refs;
use holdfast_git::{ObjectId, SHA1};
use holdfast_store::ci::build::{self, NewBuild, Options};
use holdfast_store::ci::pipeline::{self, CommitFacts, NewPipeline, Pipeline};
use holdfast_store::commit;
use holdfast_store::worker::pipelines::Pushed;

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
        Content::Text(text) => new.plan(&opened.project.full_path(), text).await?,
    };
    let jobs = plan.map_err(|text| refused(&text))?;
    if jobs.is_empty() {
        return Err(refused("No builds for this pipeline."));
    }
    let made = new.insert(app, opened.project.id, Ok(&jobs)).await?;
    made.ok_or_else(|| Error::Conflict("There is such a pipeline already".into()))
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
    for Pushed { ref_name, tag, sha } in pushed {
        // Whatever happened to the repository since: what was pushed is there as long as nothing is cleaned up.
        let opened = fetch::open(app, &Actor::Operator, &ProjectRef::Id(project), ProjectAction::ReadCode).await?;
        if !opened.project.features.builds_enabled {
            return Ok(());
        }
        let Ok(at) = ObjectId::from_hex(sha.as_bytes()) else { continue };
        let Some((facts, content)) = ci_file::load(app, &opened, at).await? else { continue };
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
            Content::Missing => continue,
            Content::TooLarge => Err(TOO_LARGE.to_owned()),
            Content::Text(text) => new.plan(&opened.project.full_path(), text).await?,
        };
        match plan {
            Err(text) => drop(new.insert(app, project, Err((Status::Failed, Some(&text)))).await?),
            Ok(jobs) if jobs.is_empty() => {}
            Ok(_) if is_skipped(&facts.message) => {
                drop(new.insert(app, project, Err((Status::Skipped, None))).await?);
            }
            Ok(jobs) => drop(new.insert(app, project, Ok(&jobs)).await?),
        }
    }
    Ok(())
}

fn is_skipped(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("[ci skip]") || message.contains("[skip ci]")
}

/// Made for what other services say of a commit, which has none yet.
pub(super) async fn for_statuses(
    app: &App,
    project: ProjectId,
    user: Option<UserId>,
    (ref_name, tag): (&str, bool),
    facts: &CommitFacts,
) -> Result<Pipeline> {
    let none = ObjectId::null(SHA1).to_string();
    let new = New { ref_name, tag, before_sha: &none, facts, user, generation: None, given: None };
    let made = new.insert(app, project, Err((Status::Created, None))).await?;
    made.ok_or_else(|| Error::Conflict("There is such a pipeline already".into()))
}

struct New<'a> {
    ref_name: &'a str,
    tag: bool,
    before_sha: &'a str,
    facts: &'a CommitFacts,
    user: Option<UserId>,
    generation: Option<i64>,
    given: Option<Given>,
}

/// What a build keeps of the file.
struct Planned {
    job: Job,
    options: Options,
}

impl New<'_> {
    async fn plan(&self, project_path: &str, text: Vec<u8>) -> Result<std::result::Result<Vec<Planned>, String>> {
        let file = match read(text).await? {
            Ok(file) => file,
            Err(text) => return Ok(Err(text)),
        };
        let triggered = self.given.is_some();
        let target = Target { ref_name: self.ref_name, tag: self.tag, triggered, project_path };
        let planned = |job: &Job| {
            let job = job.clone();
            let options = Options {
                script: job.script.clone(),
                after_script: job.after_script.clone(),
                image: job.image.clone(),
                services: job.services.clone(),
                variables: job.variables.clone(),
                dependencies: job.dependencies.clone(),
                artifacts: job.artifacts.clone(),
                cache: job.cache.clone(),
                environment: job.environment.clone(),
                coverage: job.coverage.clone(),
            };
            Planned { job, options }
        };
        Ok(Ok(file.jobs_for(&target).into_iter().map(planned).collect()))
    }

    /// With its builds, or as what it is without any. None if that move of the ref has one already.
    async fn insert(
        &self,
        app: &App,
        project: ProjectId,
        plan: std::result::Result<&[Planned], (Status, Option<&str>)>,
    ) -> Result<Option<Pipeline>> {
        let now = app.clock.now();
        let mut transaction = app.database.begin().await?;
        let new = NewPipeline {
            project,
            user: self.user,
            ref_name: self.ref_name,
            tag: self.tag,
            sha: &self.facts.id,
            before_sha: self.before_sha,
            commit: self.facts,
            status: plan.map_or_else(|(status, _)| status, |_| Status::Created),
            yaml_errors: plan.err().and_then(|(_, text)| text),
            generation: self.generation,
            variables: self.given.as_ref().and_then(|given| given.variables.as_deref()),
            triggered_by: self.given.as_ref().map(|given| given.trigger.get()),
        };
        let Some(id) = pipeline::insert(&mut transaction, new, now).await? else { return Ok(None) };
        if let Ok(planned) = plan {
            let builds: Vec<NewBuild<'_>> = planned.iter().map(|it| it.new_build()).collect();
            build::insert(&mut transaction, project, id, self.user, &builds, now).await?;
            Course::begin(&mut transaction, id).await?.close(app, &mut transaction, now).await?;
        }
        let made = pipeline::find(&mut transaction, project, id).await?;
        commit(transaction).await?;
        Ok(made)
    }
}

impl Planned {
    fn new_build(&self) -> NewBuild<'_> {
        NewBuild {
            name: &self.job.name,
            stage: &self.job.stage,
            stage_index: i32::try_from(self.job.stage_index).unwrap_or(i32::MAX),
            status: Status::Created.word(),
            run_when: self.job.when.word(),
            allow_failure: self.job.allow_failure,
            tags: &self.job.tags,
            options: &self.options,
        }
    }
}

/// Some milliseconds of work, and more if somebody means harm.
async fn read(text: Vec<u8>) -> Result<std::result::Result<CiFile, String>> {
    let reading = tokio::task::spawn_blocking(move || file::read(&text));
    reading.await.map_err(|panicked| Error::Internal(panicked.into()))
}

/// Whether a file could be used; what is wrong with it if not.
pub async fn lint(text: String) -> Result<Option<String>> {
    Ok(read(text.into_bytes()).await?.err())
}
