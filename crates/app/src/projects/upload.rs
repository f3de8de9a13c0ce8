//! Files for use in texts.

use holdfast_domain::policy::ProjectAction;
use holdfast_domain::projects::upload::{file_name, markup};
use holdfast_store::objects::{Bytes, Content};
use holdfast_store::projects::upload::{self, NewUpload};

use super::project::ProjectRef;
use crate::{Actor, App, Error, Result, Thing, access};

/// What a text needs to show the file; the address is relative to the project's.
#[derive(Clone, Debug)]
pub struct Uploaded {
    pub alt: String,
    pub url: String,
    pub markdown: String,
}

/// The row comes first, then the bytes, then the row is marked complete: a crash in between leaves a row that leads to
/// the bytes, and the sweeper takes both. No connection is held while the bytes travel.
pub async fn create(app: &App, actor: &Actor, project: &ProjectRef, sent_name: &str, bytes: Bytes) -> Result<Uploaded> {
    let file_name = file_name(sent_name);
    let (secret, object_key) = (app.entropy.hex::<16>(), format!("uploads/{}", app.entropy.hex::<16>()));
    let id = {
        let mut connection = app.database.connection().await?;
        let project = access::project(app, &mut connection, actor, project, ProjectAction::Upload).await?;
        let new = NewUpload {
            project: project.id,
            creator: actor.caller()?.account.id(),
            secret: &secret,
            file_name: &file_name,
            object_key: &object_key,
            bytes: bytes.len() as i64,
        };
        upload::begin(&mut connection, new, app.clock.now()).await?
    };
    app.objects.put(&object_key, bytes).await?;
    if !upload::finish(&mut *app.database.connection().await?, id, app.clock.now()).await? {
        // The project was deleted meanwhile.
        app.objects.delete(&object_key).await?;
        upload::forget(&mut *app.database.connection().await?, &[id]).await?;
        return Err(Error::NotFound(Thing::Project));
    }
    let url = format!("/uploads/{secret}/{file_name}");
    let (alt, markdown) = markup(&file_name, &url);
    Ok(Uploaded { alt, url, markdown })
}

/// A file that is read.
pub struct Download {
    pub file_name: String,
    pub bytes: i64,
    pub content: Content,
}

pub async fn show(app: &App, actor: &Actor, project: &ProjectRef, secret: &str, file_name: &str) -> Result<Download> {
    let found = {
        let mut connection = app.database.connection().await?;
        let project = access::project(app, &mut connection, actor, project, ProjectAction::Read).await?;
        upload::find(&mut connection, project.id, secret, file_name).await?.ok_or(Error::NotFound(Thing::File))?
    };
    let content = app.objects.get(&found.object_key).await?.ok_or(Error::NotFound(Thing::File))?;
    Ok(Download { file_name: found.file_name, bytes: found.bytes, content })
}
