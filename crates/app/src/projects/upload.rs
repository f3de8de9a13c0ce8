//! Uploaded files that are linked in texts.

use std::path::PathBuf;

use holdfast_domain::ids::UserId;
use holdfast_domain::policy::ProjectAction;
use holdfast_domain::projects::upload::{markup, sanitize_file_name};
use holdfast_store::objects::{ByteStream, Bytes};
use holdfast_store::projects::upload::{self, NewUpload, UploadObject};

use super::project::{Project, ProjectRef};
use crate::{Actor, App, Error, Resource, Result, access};

/// The link to an uploaded file.
#[derive(Clone, Debug)]
pub struct UploadLink {
    pub id: i64,
    pub alt: String,
    /// The path relative to that of the project.
    pub url: String,
    /// The path on this server.
    pub full_path: String,
    pub markdown: String,
}

/// Stores an uploaded file.
#[crate::boxed]
pub async fn create(
    app: &App,
    actor: &Actor,
    project: &ProjectRef,
    sent_name: &str,
    bytes: Bytes,
) -> Result<UploadLink> {
    let project = access::read_project(app, actor, project, ProjectAction::Upload).await?;
    let creator = actor.current_user()?.account.id();
    let StoredUpload { id, secret, file_name } =
        store(app, &project, creator, sent_name, UploadContent::Bytes(bytes)).await?;
    let url = format!("/uploads/{secret}/{file_name}");
    let (alt, markdown) = markup(&file_name, &url);
    Ok(UploadLink { id, alt, full_path: format!("/{}{url}", project.full_path()), url, markdown })
}

/// The bytes of a file.
pub(crate) enum UploadContent {
    Bytes(Bytes),
    /// A file on the disk, which is larger than should be in memory.
    File(PathBuf),
}

/// An upload whose bytes are stored.
pub(crate) struct StoredUpload {
    pub id: i64,
    secret: String,
    file_name: String,
}

/// Stores a file of a project.
///
/// The row is inserted before the bytes are stored, and marked as stored afterwards (ADR 0011). After a crash in
/// between, the sweep finds the row and deletes it with the bytes. No connection is held while the bytes are sent.
pub(crate) async fn store(
    app: &App,
    project: &Project,
    creator: UserId,
    sent_name: &str,
    content: UploadContent,
) -> Result<StoredUpload> {
    let file_name = sanitize_file_name(sent_name);
    let (secret, object_key) = (app.entropy.hex::<16>(), format!("uploads/{}", app.entropy.hex::<16>()));
    let bytes = match &content {
        UploadContent::Bytes(bytes) => bytes.len() as u64,
        UploadContent::File(path) => std::fs::metadata(path)?.len(),
    };
    let new = NewUpload {
        project: project.id,
        creator,
        secret: &secret,
        file_name: &file_name,
        object_key: &object_key,
        bytes: bytes as i64,
    };
    let id = upload::insert_intent(&mut *app.database.connection().await?, new, app.clock.now()).await?;
    match content {
        UploadContent::Bytes(bytes) => app.objects.put(&object_key, bytes).await?,
        UploadContent::File(path) => app.objects.put_files(&object_key, &[path], Vec::new()).await?,
    }
    if !upload::confirm_stored(&mut *app.database.connection().await?, id, app.clock.now()).await? {
        // The project was deleted, or the sweep has deleted the row.
        app.objects.delete(&object_key).await?;
        upload::delete(&mut *app.database.connection().await?, &[id]).await?;
        return Err(Error::NotFound(Resource::Project));
    }
    Ok(StoredUpload { id, secret, file_name })
}

/// Deletes the objects of uploads, and then the rows, so that no object remains without a row.
pub(crate) async fn remove(app: &App, uploads: Vec<UploadObject>) -> Result<()> {
    let mut deleted = Vec::with_capacity(uploads.len());
    for UploadObject { id, object_key } in uploads {
        app.objects.delete(&object_key).await?;
        deleted.push(id);
    }
    upload::delete(&mut *app.database.connection().await?, &deleted).await?;
    Ok(())
}

/// An uploaded file to be sent to the client.
pub struct Download {
    pub file_name: String,
    pub bytes: i64,
    pub content: ByteStream,
}

#[crate::boxed]
pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, secret: &str, file_name: &str) -> Result<Download> {
    let found = {
        let mut connection = app.database.connection().await?;
        let project = access::authorize_project(app, &mut connection, actor, project, ProjectAction::Read).await?;
        upload::find(&mut connection, project.id, secret, file_name).await?.ok_or(Error::NotFound(Resource::File))?
    };
    let content = app.objects.get(&found.object_key).await?.ok_or(Error::NotFound(Resource::File))?;
    Ok(Download { file_name: found.file_name, bytes: found.bytes, content })
}
