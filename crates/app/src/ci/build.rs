use holdfast_domain::ci::{Event, Status};
use holdfast_domain::ids::BuildId;
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::build_list::{self, Of};
use holdfast_store::ci::{artifact, build, trace};
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::ci::build_list::Build;

use super::course::Course;
use crate::projects::project::{Project, ProjectRef};
use crate::repository::{fetch, revision};
use crate::{Actor, App, Error, Result, Thing, access};

/// Newest first; of these statuses alone, if there are any.
pub async fn list(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    statuses: Vec<Status>,
    page: PageRequest,
) -> Result<Page<Build>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    drop(connection);
    Ok(build_list::list(&app.database, project.id, &Of::Project(statuses), page, app.clock.now()).await?)
}

/// Those of a commit.
pub async fn of_commit(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    revision: &str,
    statuses: Vec<Status>,
    page: PageRequest,
) -> Result<Page<Build>> {
    let opened = fetch::open(app, actor, project, ProjectAction::ReadBuilds).await?;
    let sha = revision::resolve(app, &opened, revision).await?.ok_or(Error::NotFound(Thing::Commit))?;
    let of = Of::Commit(sha.to_string(), statuses);
    Ok(build_list::list(&app.database, opened.project.id, &of, page, app.clock.now()).await?)
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    find(app, &mut connection, &project, id).await
}

/// What other services say is no build.
pub(super) async fn find(app: &App, connection: &mut Connection, project: &Project, id: BuildId) -> Result<Build> {
    let found = build_list::find(connection, project.id, id, app.clock.now()).await?.filter(|it| !it.external);
    found.ok_or(Error::NotFound(Thing::Record))
}

/// Held with its pipeline, for a caller who may change it.
struct Opened {
    transaction: Transaction,
    project: Project,
    course: Course,
    build: Build,
}

async fn open(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Opened> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageBuilds).await?;
    let place = build::place(&mut transaction, project.id, id).await?;
    let (pipeline, _) = place.ok_or(Error::NotFound(Thing::Record))?;
    let course = Course::open(&mut transaction, pipeline).await?;
    let build = find(app, &mut transaction, &project, id).await?;
    Ok(Opened { transaction, project, course, build })
}

impl Opened {
    /// Commits, and gives the build as it is then.
    async fn finish(self, app: &App, id: BuildId) -> Result<Build> {
        let Self { mut transaction, project, course, .. } = self;
        course.close(app, &mut transaction, app.clock.now()).await?;
        let build = find(app, &mut transaction, &project, id).await?;
        commit(transaction).await?;
        Ok(build)
    }
}

/// One that is over stays as it is.
pub async fn cancel(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut opened = open(app, actor, project, id).await?;
    opened.course.happen(id, Event::Cancel, app.clock.now());
    opened.finish(app, id).await
}

/// Runs a build again and returns the new one. It shows the caller as its user, but keeps the rights of the pipeline's
/// user.
pub async fn retry(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let now = app.clock.now();
    let mut opened = open(app, actor, project, id).await?;
    let is_over = opened.course.find(id).is_some_and(|it| it.step.status.is_complete());
    if !is_over {
        return Err(Error::Forbidden(Some("Build is not retryable")));
    }
    let copy = opened.course.retry(&mut opened.transaction, &[id], actor.user_id(), now).await?;
    opened.finish(app, copy.unwrap_or(id)).await
}

/// Starts a manual build. It shows the caller as its user, but keeps the rights of the pipeline's user.
pub async fn play(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let now = app.clock.now();
    let mut opened = open(app, actor, project, id).await?;
    let is_manual = opened.build.run_when == "manual";
    if !is_manual || !opened.course.happen(id, Event::Enqueue, now) {
        return Err(Error::Refused("400 (Bad request) \"Unplayable Job\" not given".into()));
    }
    opened.course.set_user(id, actor.user_id());
    opened.finish(app, id).await
}

/// What it said and what it left goes.
pub async fn erase(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut opened = open(app, actor, project, id).await?;
    let it = &opened.build;
    let has_something = it.trace_bytes.unwrap_or(0) > 0 || it.artifacts_name.is_some();
    if !it.status.is_complete() || !has_something {
        return Err(Error::Forbidden(Some("Build is not erasable!")));
    }
    let now = app.clock.now();
    trace::lock(&mut opened.transaction, id, now).await?;
    trace::clear(&mut opened.transaction, id).await?;
    artifact::delete(&mut opened.transaction, id).await?;
    build::set_erased(&mut opened.transaction, id, now).await?;
    opened.finish(app, id).await
}

/// What it left is kept for ever.
pub async fn keep_artifacts(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Build> {
    let mut opened = open(app, actor, project, id).await?;
    let found = artifact::find(&mut opened.transaction, id, app.clock.now()).await?;
    found.ok_or(Error::NotFound(Thing::Record))?;
    artifact::keep(&mut opened.transaction, id).await?;
    opened.finish(app, id).await
}
