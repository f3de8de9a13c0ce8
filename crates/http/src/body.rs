//! Reads the bodies of requests. What is not read is discarded by the connection.

use axum::body::Body;
use http_body_util::BodyExt;

/// Returns `None` if the body is longer than `limit` or breaks off.
pub async fn read(body: Body, limit: usize) -> Option<Vec<u8>> {
    read_on(Vec::new(), body, limit).await
}

/// Like [`read`], but of a body whose `start` has been read already. The limit is that of the whole body.
pub async fn read_on(start: Vec<u8>, mut body: Body, limit: usize) -> Option<Vec<u8>> {
    let mut kept = start;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        if kept.len() + data.len() > limit {
            return None;
        }
        kept.extend_from_slice(&data);
    }
    Some(kept)
}

/// Reads until there are more than `limit` bytes or the body ends; true if it ended. Returns at most one frame more than
/// `limit`, and `None` if the body breaks off.
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
