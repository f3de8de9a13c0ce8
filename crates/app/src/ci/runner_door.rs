//! What runners say: that they are there, and how their builds do. A runner is known by its token, a build that it has by
//! the token it was given with it.

use holdfast_domain::Violations;
use holdfast_domain::ci::{Event, Status};
use holdfast_domain::ids::{BuildId, RunnerId, UserId};
use holdfast_domain::violations::INVALID;
use holdfast_store::ci::build::{self, Held};
use holdfast_store::ci::runner::{self as store_runner, Registrar};
use holdfast_store::ci::{pipeline, run};
use holdfast_store::{Connection, commit};

pub use holdfast_store::ci::build::Held as RunningBuild;
pub use holdfast_store::ci::runner::{Attributes, Info, Runner};

use super::course::Course;
use super::runner;
use super::trace::{self, Added};
use crate::accounts::secret::digest;
use crate::accounts::user;
use crate::actor::BuildScope;
use crate::{Actor, App, Error, Result};

/// Why a runner has no say about a build.
pub enum Denied {
    /// It has no such build.
    Unknown,
    /// It had it; this is what came of it.
    Over(Status),
    Failed(Error),
}

impl From<Error> for Denied {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<holdfast_store::Error> for Denied {
    fn from(error: holdfast_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

pub struct Registered {
    pub id: RunnerId,
    pub token: String,
}

fn new_token(app: &App) -> String {
    // The first eight characters are what runners call themselves by.
    app.entropy.hex::<20>()
}

/// Whoever knows the token of the instance, or of a project, may add a runner to it.
pub async fn register(app: &App, secret: &str, attributes: Attributes, info: &Info) -> Result<Registered> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let registrar = store_runner::registrar(&mut transaction, secret).await?.ok_or(Error::Forbidden(None))?;
    runner::check(&attributes)?;
    let mut violations = Violations::default();
    for text in [&info.name, &info.version, &info.revision, &info.platform, &info.architecture].into_iter().flatten() {
        if text.len() > 255 || text.contains('\0') {
            violations.add("info", INVALID);
        }
    }
    violations.into_result()?;
    let token = new_token(app);
    let id = store_runner::insert(&mut transaction, &registrar, &digest(&token), &attributes, info, now).await?;
    commit(transaction).await?;
    let project = match registrar {
        Registrar::Instance => None,
        Registrar::Project(id) => Some(id.get()),
    };
    tracing::info!(runner = %id, project, "a runner was registered");
    Ok(Registered { id, token })
}

pub async fn verify(app: &App, token: &str) -> Result<Runner> {
    let found = store_runner::find_by_token(&mut *app.database.connection().await?, &digest(token)).await?;
    found.ok_or(Error::Forbidden(None))
}

pub async fn unregister(app: &App, token: &str) -> Result<()> {
    let id = verify(app, token).await?.id;
    Ok(store_runner::delete(&mut *app.database.connection().await?, id).await?)
}

/// The old one is worth nothing any more.
pub async fn reset_token(app: &App, token: &str) -> Result<Registered> {
    let id = verify(app, token).await?.id;
    let token = new_token(app);
    store_runner::set_token(&mut *app.database.connection().await?, id, &digest(&token)).await?;
    Ok(Registered { id, token })
}

/// By what a runner shows that it has a build.
#[derive(Clone, Copy)]
pub enum Key<'a> {
    /// The token that it was given with it.
    Build(&'a str),
    /// Its own, as the old protocol has it.
    Runner(&'a str),
}

/// The build, if it runs and the key fits.
pub(super) async fn held(connection: &mut Connection, id: BuildId, key: Key<'_>) -> std::result::Result<Held, Denied> {
    let found = match key {
        Key::Build(token) => build::find_held(connection, id, &digest(token)).await?.ok_or(Denied::Unknown)?,
        Key::Runner(token) => {
            let runner = store_runner::find_by_token(connection, &digest(token)).await?.ok_or(Denied::Unknown)?;
            build::find_of_runner(connection, id, runner.id).await?.ok_or(Denied::Over(Status::Canceled))?
        }
    };
    match found.status {
        Status::Running if !found.erased => Ok(found),
        over => Err(Denied::Over(over)),
    }
}

/// Returns a running build that the key fits. Asked before the body of a request is read.
pub async fn check(app: &App, id: BuildId, key: Key<'_>) -> std::result::Result<RunningBuild, Denied> {
    held(&mut *app.database.connection().await?, id, key).await
}

/// Returns the user of the pipeline of a build, for whom counts what the build sends; `None` if the user is gone.
pub async fn pipeline_user(app: &App, build: &RunningBuild) -> Result<Option<UserId>> {
    let found = pipeline::find(&mut *app.database.connection().await?, build.project, build.pipeline).await?;
    Ok(found.and_then(|pipeline| pipeline.user_id))
}

/// What is to be done with a piece of what a build says.
pub enum Appended {
    /// It is so long now.
    To(i64),
    /// It is so long, and the piece does not fit to it.
    Elsewhere(i64),
}

pub async fn append(
    app: &App,
    id: BuildId,
    token: &str,
    start: i64,
    content: &[u8],
) -> std::result::Result<Appended, Denied> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    held(&mut transaction, id, Key::Build(token)).await?;
    // The trace before the run, as by who ends it.
    let added = trace::append(app, &mut transaction, id, start, content).await?;
    run::touch(&mut transaction, id, now).await?;
    match added {
        Added::To(length) => {
            commit(transaction).await?;
            trace::seal_if_long(app, id, length).await;
            Ok(Appended::To(length.bytes))
        }
        Added::Elsewhere(length) => {
            commit(transaction).await?;
            Ok(Appended::Elsewhere(length))
        }
        Added::TooLong => {
            drop(transaction);
            finish(app, id, Key::Build(token), Outcome::Failed("trace_too_long"), None).await?;
            Err(Denied::Over(Status::Failed))
        }
    }
}

pub enum Outcome<'a> {
    Success,
    Failed(&'a str),
}

/// The runner is still at it. It may give all that the build said so far.
pub async fn touch(app: &App, id: BuildId, key: Key<'_>, said: Option<&[u8]>) -> std::result::Result<(), Denied> {
    let mut transaction = app.database.begin().await?;
    held(&mut transaction, id, key).await?;
    if let Some(said) = said {
        trace::replace(app, &mut transaction, id, said).await?;
    }
    run::touch(&mut transaction, id, app.clock.now()).await?;
    Ok(commit(transaction).await?)
}

pub async fn finish(
    app: &App,
    id: BuildId,
    key: Key<'_>,
    outcome: Outcome<'_>,
    said: Option<&[u8]>,
) -> std::result::Result<(), Denied> {
    let now = app.clock.now();
    let mut transaction = app.database.begin().await?;
    let pipeline = held(&mut transaction, id, key).await?.pipeline;
    let mut course = Course::open(&mut transaction, pipeline).await?;
    // It may have been canceled while this waited for the pipeline.
    held(&mut transaction, id, key).await?;
    match outcome {
        Outcome::Success => course.happen(id, Event::Succeed, now),
        Outcome::Failed(reason) => course.fail(id, reason, now),
    };
    if let Some(said) = said {
        trace::replace(app, &mut transaction, id, said).await?;
    }
    course.close(app, &mut transaction, now).await?;
    commit(transaction).await?;
    // What is missed here is done by the sweeper.
    if let Err(error) = trace::seal(app, id).await {
        tracing::warn!(%error, build = %id, "a trace stays in the database for now");
    }
    if let Err(error) = trace::note_coverage(app, id).await {
        tracing::warn!(%error, build = %id, "how much a build covers is not known");
    }
    Ok(())
}

/// Authenticates a running build by its token.
///
/// - The token is valid while the user who started the build is active: who retried or played it, or else the user of its
///   pipeline.
/// - The build has the rights of its pipeline's user, to read code alone and as far as the project that is read lets it in. It
///   is never an administrator.
/// - If the pipeline's user is blocked or deleted, and somebody else started the build, it reads its own project and public
///   ones.
pub(crate) async fn authenticate(app: &App, token: &str) -> Result<Actor> {
    let run = run::find_by_token(&mut *app.database.connection().await?, &digest(token)).await?;
    let run = run.ok_or(Error::Unauthenticated)?;
    let starter = acting(app, run.started_by).await?.ok_or(Error::Unauthenticated)?;
    let (user, has_users_rights) = if run.pipeline_user == run.started_by {
        (starter, true)
    } else {
        match acting(app, run.pipeline_user).await? {
            Some(user) => (user, true),
            None => (starter, false),
        }
    };
    let Actor::User(mut caller) = user else { return Err(Error::Unauthenticated) };
    caller.account.admin = false;
    caller.build_of = Some(BuildScope { project: run.project, has_users_rights });
    Ok(Actor::User(caller))
}

async fn acting(app: &App, user: Option<UserId>) -> Result<Option<Actor>> {
    match user {
        Some(id) => user::acting(app, id).await,
        None => Ok(None),
    }
}
