//! Reads request bodies with a size limit. The connection discards unread rests, and
//! `connection::request_body` fails if the client stalls.

use axum::body::Body;
use http_body_util::BodyExt;

/// Reads a whole body. Returns `None` if it is longer than `limit` or ends early.
pub async fn read(body: Body, limit: usize) -> Option<Vec<u8>> {
    read_rest(Vec::new(), body, limit).await
}

/// Like [`read`], but continues a body whose `start` has been read already. The limit applies to the whole body.
pub async fn read_rest(start: Vec<u8>, mut body: Body, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = start;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            return None;
        }
        bytes.extend_from_slice(&data);
    }
    Some(bytes)
}

/// Reads until the body ends or more than `limit` bytes have arrived, and returns whether it ended. The bytes exceed
/// `limit` by at most one frame. Returns `None` if the body ends early.
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
