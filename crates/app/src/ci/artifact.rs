//! Files that a build leaves, as one archive in the object store.

use chrono::TimeDelta;
use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::duration;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::projects::upload::file_name;
use holdfast_store::ci::artifact::{self, Artifact};
use holdfast_store::ci::{build_list, job, object, pipeline};
use holdfast_store::commit;
use holdfast_store::objects::{Content, Sink};

use super::build;
use super::runner_door::{Denied, Key, held};
use crate::accounts::secret::digest;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

pub struct Download {
    pub file_name: String,
    pub bytes: i64,
    pub content: Content,
}

async fn download(app: &App, build: BuildId) -> Result<Download> {
    let found = artifact::find(&mut *app.database.connection().await?, build, app.clock.now()).await?;
    let found = found.ok_or(Error::NotFound(Thing::Record))?;
    let content = app.objects.get(&found.object_key).await?.ok_or(Error::NotFound(Thing::Record))?;
    Ok(Download { file_name: found.file_name, bytes: found.bytes, content })
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<Download> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    build::find(app, &mut connection, &project, id).await?;
    drop(connection);
    download(app, id).await
}

/// What a build of that name left in the newest pipeline of a ref that succeeded.
pub async fn of_ref(app: &App, actor: &Actor, project: &ProjectRef, ref_name: &str, name: &str) -> Result<Download> {
    let mut connection = app.database.connection().await?;
    let project = access::project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let found = build_list::newest_success(&mut connection, project.id, ref_name, name).await?;
    drop(connection);
    download(app, found.ok_or(Error::NotFound(Thing::Record))?).await
}

/// For a build of the same pipeline that runs.
pub async fn for_build(app: &App, id: BuildId, token: &str) -> Result<Download> {
    let beside = job::is_beside(&mut *app.database.connection().await?, id, &digest(token)).await?;
    if !beside {
        return Err(Error::Forbidden(None));
    }
    download(app, id).await
}

/// By the build that left it.
pub async fn take_back(app: &App, id: BuildId, token: &str) -> std::result::Result<(), Denied> {
    let mut transaction = app.database.begin().await?;
    let place = held(&mut transaction, id, Key::Build(token)).await?.pipeline;
    pipeline::hold(&mut transaction, place).await?;
    artifact::delete(&mut transaction, id).await?;
    Ok(commit(transaction).await?)
}

/// An archive on its way into the object store.
pub struct Upload {
    build: BuildId,
    token: String,
    object_key: String,
    sink: Sink,
    bytes: u64,
}

/// The row comes first, then the bytes; until the end nobody finds them.
pub async fn begin(app: &App, build: BuildId, token: &str) -> std::result::Result<Upload, Denied> {
    let mut connection = app.database.connection().await.map_err(Error::from)?;
    held(&mut connection, build, Key::Build(token)).await?;
    let object_key = format!("artifacts/{}", app.entropy.hex::<16>());
    object::begin(&mut connection, build, &object_key, app.clock.now()).await.map_err(Error::from)?;
    let sink = app.objects.sink(&object_key).map_err(Error::from)?;
    Ok(Upload { build, token: token.to_owned(), object_key, sink, bytes: 0 })
}

impl Upload {
    /// False if it is more than may be left.
    pub async fn write(&mut self, app: &App, bytes: bytes::Bytes) -> Result<bool> {
        self.bytes += bytes.len() as u64;
        if self.bytes > app.settings.ci.max_artifact_bytes {
            return Ok(false);
        }
        self.sink.write(bytes).await?;
        Ok(true)
    }

    pub async fn give_up(self, app: &App) {
        self.sink.abort().await;
        let done = async {
            object::abandon(&mut *app.database.connection().await?, &self.object_key).await?;
            Ok::<_, Error>(())
        };
        if let Err(error) = done.await {
            tracing::warn!(%error, "an archive that was given up is left to the sweeper");
        }
    }

    pub async fn finish(self, app: &App, sent_name: &str, expire_in: Option<&str>) -> std::result::Result<(), Denied> {
        let now = app.clock.now();
        let Self { build, token, object_key, sink, bytes } = self;
        sink.finish().await.map_err(Error::from)?;
        let mut transaction = app.database.begin().await.map_err(Error::from)?;
        let place = held(&mut transaction, build, Key::Build(&token)).await?.pipeline;
        pipeline::hold(&mut transaction, place).await.map_err(Error::from)?;
        // It may have ended while it waited for the others of its pipeline.
        let it = held(&mut transaction, build, Key::Build(&token)).await?;
        debug_assert_eq!(it.status, Status::Running);
        let lasts = expire_in.and_then(duration::seconds).and_then(TimeDelta::try_seconds);
        let kept = Artifact {
            file_name: file_name(sent_name),
            object_key: object_key.clone(),
            bytes: bytes as i64,
            expires_at: lasts.and_then(|lasts| now.checked_add_signed(lasts)),
        };
        let kept = async {
            if !object::finish(&mut transaction, &object_key, now).await? {
                return Err(Error::NotFound(Thing::Record));
            }
            artifact::put(&mut transaction, build, &kept).await?;
            Ok(commit(transaction).await?)
        };
        Ok(kept.await?)
    }
}
