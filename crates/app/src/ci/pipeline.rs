use holdfast_domain::ci::{Event, Status};
use holdfast_domain::ids::{BuildId, PipelineId};
use holdfast_domain::page::{Page, PageRequest};
use holdfast_domain::policy::ProjectAction;
use holdfast_store::ci::pipeline;
use holdfast_store::{Connection, Transaction, commit};

pub use holdfast_store::ci::pipeline::{CommitFacts, Pipeline};

use super::course::Course;
use crate::projects::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Result, Thing, access};

/// Newest first.
pub async fn list(app: &App, actor: &Actor, project: &ProjectRef, page: PageRequest) -> Result<Page<Pipeline>> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    drop(connection);
    Ok(pipeline::list(&app.database, project.id, page).await?)
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    find(&mut connection, &project, id).await
}

async fn find(connection: &mut Connection, project: &Project, id: PipelineId) -> Result<Pipeline> {
    pipeline::find(connection, project.id, id).await?.ok_or(Error::NotFound(Thing::Record))
}

/// Held, for a caller who may change it.
async fn open(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<(Transaction, Course)> {
    let mut transaction = app.database.begin().await?;
    let project = access::project(app, &mut transaction, actor, project, ProjectAction::ManageBuilds).await?;
    find(&mut transaction, &project, id).await?;
    let course = Course::open(&mut transaction, id).await?;
    Ok((transaction, course))
}

/// Runs what failed or was canceled again, stage by stage, with the rights of the pipeline's user. As the specification
/// shows it, the response says that the pipeline is pending.
pub async fn retry(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let now = app.clock.now();
    let (mut transaction, mut course) = open(app, actor, project, id).await?;
    let is_retried = |status| matches!(status, Status::Failed | Status::Canceled);
    let again = course.builds().iter().filter(|it| is_retried(it.step.status) && !it.external);
    let again: Vec<BuildId> = again.map(|it| it.id).collect();
    if again.is_empty() {
        return Ok(course.pipeline);
    }
    course.retry(&mut transaction, &again, actor.user_id(), now).await?;
    let pipeline = course.close(app, &mut transaction, now).await?;
    commit(transaction).await?;
    Ok(Pipeline { status: Status::Pending, ..pipeline })
}

pub async fn cancel(app: &App, actor: &Actor, project: &ProjectRef, id: PipelineId) -> Result<Pipeline> {
    let now = app.clock.now();
    let (mut transaction, mut course) = open(app, actor, project, id).await?;
    let ids: Vec<BuildId> = course.builds().iter().map(|it| it.id).collect();
    for id in ids {
        course.happen(id, Event::Cancel, now);
    }
    let pipeline = course.close(app, &mut transaction, now).await?;
    commit(transaction).await?;
    Ok(pipeline)
}
