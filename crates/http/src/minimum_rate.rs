//! Ends request bodies that arrive too slowly, where a body holds something that others wait for.

use std::error::Error;
use std::io;
use std::time::Duration;

use axum::body::Body;
use futures_util::{StreamExt, stream};
use tokio::time::Instant;

/// How long a client may be silent, at once and beyond what its bytes allow.
const MAX_SILENCE: Duration = Duration::from_secs(30);
/// How many bytes must come in a second on average; the same as for packs (`index_pack.rs`).
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// Returns a body that fails if the client is silent for too long or too slow on average. Only the time that is spent
/// waiting for the client counts.
pub fn enforce(body: Body) -> Body {
    let begin = (body.into_data_stream(), Duration::ZERO, 0);
    let chunks = stream::try_unfold(begin, |(mut chunks, waited, bytes)| async move {
        let allowed = MAX_SILENCE + Duration::from_secs(bytes / MIN_BYTES_PER_SECOND);
        let begun = Instant::now();
        let next = tokio::time::timeout(allowed.saturating_sub(waited).min(MAX_SILENCE), chunks.next()).await;
        let next = next.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        let Some(chunk) = next.transpose().map_err(io::Error::other)? else { return Ok::<_, io::Error>(None) };
        let bytes = bytes + chunk.len() as u64;
        Ok(Some((chunk, (chunks, waited + begun.elapsed(), bytes))))
    });
    Body::from_stream(chunks)
}

/// Returns whether this is the failure of a body that came too slowly, whatever read it.
pub fn is_too_slow(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::BodyExt;

    use super::*;

    /// A body of so many chunks, each after so long.
    fn slow(chunk: usize, count: usize, pause: Duration) -> Body {
        let chunks = stream::iter(0..count).then(move |_| async move {
            tokio::time::timeout(pause, std::future::pending::<()>()).await.ok();
            Ok::<_, io::Error>(Bytes::from(vec![b'x'; chunk]))
        });
        Body::from_stream(chunks)
    }

    /// How many bytes came, and after how long it failed, if it did.
    async fn read(body: Body) -> (usize, Option<Duration>) {
        let (begun, mut body, mut bytes) = (Instant::now(), enforce(body), 0);
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => bytes += frame.into_data().unwrap().len(),
                Err(error) => {
                    assert!(is_too_slow(&error), "{error}");
                    return (bytes, Some(begun.elapsed()));
                }
            }
        }
        (bytes, None)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_ended_and_a_slow_one_is_not() {
        let (bytes, ended) = read(slow(1, 1000, Duration::from_secs(10))).await;
        assert!(bytes <= 3 && ended.unwrap() <= MAX_SILENCE, "{bytes} {ended:?}");
        let (_, ended) = read(slow(64 << 10, 3, Duration::from_secs(31))).await;
        assert_eq!(ended, Some(MAX_SILENCE), "silence");
        // 20 KiB in a second, for an hour.
        assert_eq!(read(slow(200 << 10, 360, Duration::from_secs(10))).await, (360 * (200 << 10), None));
        // A fast start buys no long silence.
        let fast = stream::iter([Ok::<_, io::Error>(Bytes::from(vec![b'x'; 32 << 20]))]);
        let stalled = fast.chain(stream::once(std::future::pending()));
        assert_eq!(read(Body::from_stream(stalled)).await, (32 << 20, Some(MAX_SILENCE)));
    }
}
