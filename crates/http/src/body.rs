//! Reading bodies to their end. A client that is still sending when the answer comes often sees a broken connection
//! instead of the answer.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;

/// So much is read, and thrown away beyond the limit, before a body is given up.
const READ_AT_MOST: usize = 16 << 20;

/// How long the rest of a refused body is read. Long enough for a client on a slow line to see why; arbitrary.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// None if it is longer than `limit` or breaks off.
pub async fn read(body: Body, limit: usize) -> Option<Vec<u8>> {
    read_on(Vec::new(), body, limit).await
}

/// Like [`read`], but of a body whose `start` has been read already. The limit is that of the whole body.
pub async fn read_on(start: Vec<u8>, mut body: Body, limit: usize) -> Option<Vec<u8>> {
    let mut kept = start;
    let mut seen = kept.len();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        seen += data.len();
        if seen > READ_AT_MOST.max(limit) {
            return None;
        }
        if seen <= limit {
            kept.extend_from_slice(&data);
        }
    }
    (seen <= limit).then_some(kept)
}

/// Reads until there are more than `limit` bytes or the body ends; true if it ended. Returns at most one frame more than
/// `limit`, and None if the body breaks off.
pub async fn read_start(body: &mut Body, limit: usize) -> Option<(Vec<u8>, bool)> {
    let mut start = Vec::new();
    while start.len() <= limit {
        let Some(frame) = body.frame().await else { return Some((start, true)) };
        if let Ok(data) = frame.ok()?.into_data() {
            start.extend_from_slice(&data);
        }
    }
    Some((start, false))
}

/// Drops a body without making the response wait for it. For a few seconds the rest is read in the background, so that a
/// client that is still sending sees the response; what comes later finds the connection closed.
pub fn discard(body: Body) {
    tokio::spawn(async { tokio::time::timeout(DISCARD_TIMEOUT, read(body, 0)).await.ok() });
}
