//! Statuses of commits, by builds and by external services.

use holdfast_domain::Violations;
use holdfast_domain::ci::Status;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_git::ObjectId;
use holdfast_store::ci::build::{self, ExternalStatus};
use holdfast_store::ci::build_list::{self, Build, BuildFilter};
use holdfast_store::commit;

use super::creation;
use super::pipeline_state::LockedPipeline;
use crate::projects::project::ProjectRef;
use crate::repository::browse::{ci_file, revision};
use crate::repository::open_repository::{OpenRepository, open_repository};
use crate::repository::refs::containing_refs;
use crate::{Actor, App, Error, Resource, Result};

#[derive(Clone, Debug, Default)]
pub struct ListStatuses {
    pub ref_name: Option<String>,
    pub stage: Option<String>,
    pub name: Option<String>,
    /// Includes older statuses of the same name.
    pub all: bool,
}

#[crate::boxed]
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    input: ListStatuses,
    page: PageRequest,
) -> Result<Page<Build>> {
    let repository = open_repository(app, actor, project, ProjectAction::ReadBuilds).await?;
    let sha =
        revision::resolve(app, &repository, revision).await?.ok_or(Error::NotFound(Resource::Commit))?.to_string();
    let ListStatuses { ref_name, stage, name, all } = input;
    let scope = BuildFilter::Statuses { sha, ref_name, stage, name, include_superseded: all };
    Ok(build_list::list(&app.database, repository.project.id, &scope, page, app.clock.now()).await?)
}

#[derive(Clone, Debug)]
pub struct SetStatus {
    pub status: Status,
    pub ref_name: Option<String>,
    pub name: Option<String>,
    pub target_url: Option<String>,
    pub description: Option<String>,
    pub coverage: Option<f64>,
}

/// Maximum number of statuses of one commit and ref, builds included.
const MAX_STATUSES: usize = 1000;

/// Sets an external status of a commit: updates the active status of the same name, or creates a new one.
#[crate::boxed]
pub async fn set(app: &App, actor: &Actor, project: &ProjectRef, sha: &str, input: SetStatus) -> Result<Build> {
    let repository = open_repository(app, actor, project, ProjectAction::ManageBuilds).await?;
    let found = revision::resolve(app, &repository, sha).await?;
    let id = found.ok_or(Error::NotFound(Resource::Commit))?;
    let name = input.name.as_deref().unwrap_or("default");
    let mut violations = Violations::default();
    violations.check_single_line("name", name);
    violations.check_length("description", input.description.as_deref().unwrap_or_default(), 10_000);
    if let Some(url) = &input.target_url {
        let is_url = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_url || url.len() > 2000 {
            violations.add("target_url", "must be a valid URL");
        }
    }
    violations.into_result()?;
    let user = actor.current_user()?.account.id();
    let resolved = resolve_ref(app, &repository, id, input.ref_name.as_deref()).await?;
    let (summary, _) = ci_file::load(app, &repository, id).await?.ok_or(Error::NotFound(Resource::Commit))?;
    let target = (resolved.0.as_str(), resolved.1);
    let pipeline_id =
        creation::find_or_create_for_status(app, repository.project.id, Some(user), target, &summary).await?;
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let locked = LockedPipeline::lock(&mut transaction, pipeline_id).await?;
    let existing = locked.builds().iter().find(|it| it.name == name);
    if existing.is_some_and(|it| !it.is_external) {
        return Err(Violations::single("name", "is the name of a build in this pipeline").into());
    }
    if existing.is_none() && locked.builds().len() >= MAX_STATUSES {
        return Err(Error::Rejected(format!("A commit can have at most {MAX_STATUSES} statuses")));
    }
    let external_status = ExternalStatus {
        name,
        target_url: input.target_url.as_deref(),
        description: input.description.as_deref(),
        coverage: input.coverage,
        user: Some(user),
    };
    let build = match existing.filter(|it| it.step.status.is_active()) {
        Some(active) => {
            build::update_external_status(&mut transaction, active.id, &external_status).await?;
            active.id
        }
        None => {
            build::insert_external_status(&mut transaction, repository.project.id, pipeline_id, &external_status, now)
                .await?
        }
    };
    let mut locked = LockedPipeline::lock(&mut transaction, pipeline_id).await?;
    locked.set_external(build, input.status, now);
    locked.save(app, &mut transaction, now).await?;
    let saved = build_list::find(&mut transaction, repository.project.id, build, now).await?;
    commit(transaction).await?;
    saved.ok_or(Error::NotFound(Resource::Record))
}

/// Returns the short name of the given ref, or of the first branch that contains the commit, and whether it is a tag.
async fn resolve_ref(
    app: &App,
    repository: &OpenRepository,
    id: ObjectId,
    ref_name: Option<&str>,
) -> Result<(String, bool)> {
    let found = match ref_name {
        Some(name) => containing_refs::resolve_short_name(repository, name),
        None => containing_refs::first_branch_containing(app, repository, id).await?.map(|name| (name, false)),
    };
    found.ok_or(Error::NotFound(Resource::References))
}
