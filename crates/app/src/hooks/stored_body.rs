//! Stores the bodies of deliveries, which [`super::body`] builds.
//!
//! The body of an event is created when its first delivery is about to be sent. Every attempt and every replay
//! sends these bytes, even if the repository, the settings or the program have changed since.

use bytes::Bytes;
use holdfast_store::hooks::stored_event::{self, BodyKey, StoredEvent};

use super::body;
use crate::{App, Result};

/// Returns the stored body of an event, and creates and stores it first if there is none. The caller must not send
/// anything before this has returned.
pub(super) async fn find_or_create(app: &App, key: BodyKey, event: StoredEvent) -> Result<Bytes> {
    if let Some(body) = event.body {
        return Ok(body.into());
    }
    let body = body::build(app, &event, key.for_project_hook).await?.to_string().into_bytes();
    let mut connection = app.database.connection().await?;
    Ok(stored_event::store_body(&mut connection, key, body).await?.into())
}
