//! The body of an event's deliveries. It is made when the first of them is about to be sent, stored, and from then on read:
//! every attempt and every replay sends the same bytes, whatever has become of the repository, the settings or the
//! program meanwhile.

use bytes::Bytes;
use holdfast_store::hooks::stored_event::{self, BodyKey, StoredEvent};

use super::payload;
use crate::{App, Result};

/// Returns the stored body of an event. If there is none yet, makes it and stores it first. Nothing may be sent before
/// this has returned.
pub(super) async fn find_or_create(app: &App, key: BodyKey, event: StoredEvent) -> Result<Bytes> {
    if let Some(body) = event.body {
        return Ok(body.into());
    }
    let body = payload::body(app, &event, key.for_project_hook).await?.to_string().into_bytes();
    let mut connection = app.database.connection().await?;
    Ok(stored_event::store_body(&mut connection, key, body).await?.into())
}
