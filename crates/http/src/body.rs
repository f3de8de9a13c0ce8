//! Reading bodies to their end. A client that is still sending when the answer comes often sees a broken connection
//! instead of the answer.

use axum::body::Body;
use http_body_util::BodyExt;

/// So much is read, and thrown away beyond the limit, before a body is given up.
const READ_AT_MOST: usize = 16 << 20;

/// None if it is longer than `limit` or breaks off.
pub async fn read(mut body: Body, limit: usize) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    let mut seen = 0;
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
