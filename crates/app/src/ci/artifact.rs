//! Artifacts of builds, stored as one archive per build in the object store.

use chrono::TimeDelta;
use holdfast_domain::ci::Status;
use holdfast_domain::ci::file::duration;
use holdfast_domain::ids::BuildId;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::projects::upload::sanitize_file_name;
use holdfast_store::ci::artifact::{self, Artifact};
use holdfast_store::ci::{build_list, build_object, job, pipeline};
use holdfast_store::commit;
use holdfast_store::objects::{ByteStream, ObjectWriter};

use super::build;
use super::runner_api::{BuildCredential, RunnerError, authorize_build};
use crate::accounts::secret::digest;
use crate::projects::project::ProjectRef;
use crate::{Actor, App, Error, Resource, Result, access};

pub struct ArtifactDownload {
    pub file_name: String,
    pub bytes: i64,
    pub content: ByteStream,
}

async fn download(app: &App, build: BuildId) -> Result<ArtifactDownload> {
    let found = artifact::find(&mut *app.database.connection().await?, build, app.clock.now()).await?;
    let found = found.ok_or(Error::NotFound(Resource::Record))?;
    let content = app.objects.get(&found.object_key).await?.ok_or(Error::NotFound(Resource::Record))?;
    Ok(ArtifactDownload { file_name: found.file_name, bytes: found.bytes, content })
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, id: BuildId) -> Result<ArtifactDownload> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    build::find(app, &mut connection, &project, id).await?;
    drop(connection);
    download(app, id).await
}

/// Returns the artifacts of the build with this name in the newest successful pipeline of a ref.
#[crate::boxed]
pub async fn show_latest(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    ref_name: &str,
    name: &str,
) -> Result<ArtifactDownload> {
    let mut connection = app.database.connection().await?;
    let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::ReadBuilds).await?;
    let found = build_list::find_newest_success(&mut connection, project.id, ref_name, name).await?;
    drop(connection);
    download(app, found.ok_or(Error::NotFound(Resource::Record))?).await
}

/// Returns the artifacts of a build to a running build of the same pipeline, authorized by the latter's token.
#[crate::boxed]
pub async fn show_for_build(app: &App, id: BuildId, token: &str) -> Result<ArtifactDownload> {
    let shares_pipeline = job::shares_pipeline(&mut *app.database.connection().await?, id, &digest(token)).await?;
    if !shares_pipeline {
        return Err(Error::Forbidden(None));
    }
    download(app, id).await
}

/// Deletes the artifacts of a running build, authorized by that build's own token.
#[crate::boxed]
pub async fn delete_own(app: &App, id: BuildId, token: &str) -> std::result::Result<(), RunnerError> {
    let mut transaction = app.database.begin().await?;
    let pipeline_id = authorize_build(&mut transaction, id, BuildCredential::JobToken(token)).await?.pipeline;
    pipeline::lock_row(&mut transaction, pipeline_id).await?;
    artifact::delete(&mut transaction, id).await?;
    Ok(commit(transaction).await?)
}

/// An upload of artifacts into the object store.
pub struct ArtifactUpload {
    build: BuildId,
    token: String,
    object_key: String,
    writer: ObjectWriter,
    bytes: u64,
}

/// Begins an upload. The intent row is written before the bytes (ADR 0011), and nothing refers to the object until
/// [`ArtifactUpload::finish`].
#[crate::boxed]
pub async fn begin_upload(app: &App, build: BuildId, token: &str) -> std::result::Result<ArtifactUpload, RunnerError> {
    let mut connection = app.database.connection().await.map_err(Error::from)?;
    authorize_build(&mut connection, build, BuildCredential::JobToken(token)).await?;
    let object_key = format!("artifacts/{}", app.entropy.hex::<16>());
    build_object::insert_intent(&mut connection, build, &object_key, app.clock.now()).await.map_err(Error::from)?;
    let writer = app.objects.writer(&object_key).map_err(Error::from)?;
    Ok(ArtifactUpload { build, token: token.to_owned(), object_key, writer, bytes: 0 })
}

impl ArtifactUpload {
    /// Writes a chunk. Returns false if the artifacts exceed the maximum size.
    pub async fn write(&mut self, app: &App, bytes: bytes::Bytes) -> Result<bool> {
        self.bytes += bytes.len() as u64;
        if self.bytes > app.settings.ci.max_artifact_bytes {
            return Ok(false);
        }
        self.writer.write(bytes).await?;
        Ok(true)
    }

    pub async fn abort(self, app: &App) {
        self.writer.abort().await;
        let detach = async {
            build_object::detach_from_build(&mut *app.database.connection().await?, &self.object_key).await?;
            Ok::<_, Error>(())
        };
        if let Err(error) = detach.await {
            tracing::warn!(%error, "deleting aborted artifact upload failed; the daily cleanup removes it");
        }
    }

    pub async fn finish(
        self,
        app: &App,
        sent_name: &str,
        expire_in: Option<&str>,
    ) -> std::result::Result<(), RunnerError> {
        let now = app.clock.now();
        let Self { build, token, object_key, writer, bytes } = self;
        writer.finish().await.map_err(Error::from)?;
        let mut transaction = app.database.begin().await.map_err(Error::from)?;
        let pipeline_id = authorize_build(&mut transaction, build, BuildCredential::JobToken(&token)).await?.pipeline;
        pipeline::lock_row(&mut transaction, pipeline_id).await.map_err(Error::from)?;
        // The build may have ended while this waited for the row lock of its pipeline.
        let claimed = authorize_build(&mut transaction, build, BuildCredential::JobToken(&token)).await?;
        debug_assert_eq!(claimed.status, Status::Running);
        let lifetime = expire_in.and_then(duration::parse_seconds).and_then(TimeDelta::try_seconds);
        let artifact = Artifact {
            file_name: sanitize_file_name(sent_name),
            object_key: object_key.clone(),
            bytes: bytes as i64,
            expires_at: lifetime.and_then(|lifetime| now.checked_add_signed(lifetime)),
        };
        let store = async {
            if !build_object::confirm_stored(&mut transaction, &object_key, now).await? {
                return Err(Error::NotFound(Resource::Record));
            }
            artifact::replace(&mut transaction, build, &artifact).await?;
            Ok(commit(transaction).await?)
        };
        Ok(store.await?)
    }
}
