//! Limits the memory of responses that are in memory while they are sent, such as long lists and files of a repository.
//! Downloads that are streamed, such as archives, artifacts and fetches, are not counted here.
//!
//! - A response of more than [`MAX_SMALL_BYTES`] that is in memory needs a [`ResponsePermit`]. Their memory is limited
//!   for each client and in total.
//! - The permit lasts until the last byte has left the process, however slowly the client reads.
//! - A request that waits for a permit keeps nothing of its response in memory.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::client::{ClientKey, ClientPermits, KeyedPermit};
use crate::{Error, Result};

/// Responses up to this size need no permit; nearly all responses are smaller. The 256 connections that one address
/// gets hold at most 64 MiB of them.
pub const MAX_SMALL_BYTES: u64 = 256 << 10;
/// Maximum size of all large responses of this node together. One client gets a quarter, which is five pages of 100
/// issues with the longest descriptions, or eight of the largest files that are read at once.
const MAX_BYTES: u64 = 128 << 20;
/// The memory that one permit of the semaphore represents.
const BYTES_PER_PERMIT: u64 = 64 << 10;
/// How long a request waits for a permit. Arbitrary; well below the time that a request may take.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// The memory of this node for large responses.
pub struct LargeResponses(ClientPermits);

impl Default for LargeResponses {
    fn default() -> Self {
        Self(ClientPermits::for_clients(permits_for(MAX_BYTES)))
    }
}

fn permits_for(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(BYTES_PER_PERMIT)).unwrap_or(usize::MAX)
}

impl LargeResponses {
    /// Waits until the client may have this much in memory. Fails if that takes too long.
    pub async fn acquire(&self, client: ClientKey, bytes: u64) -> Result<ResponsePermit> {
        let permit = tokio::time::timeout(ACQUIRE_TIMEOUT, self.0.acquire_many(client, permits_for(bytes))).await;
        permit.map(ResponsePermit::new).map_err(|_| busy())
    }

    /// Like [`Self::acquire`], but fails at once where that would wait.
    pub fn try_acquire(&self, client: ClientKey, bytes: u64) -> Result<ResponsePermit> {
        self.0.try_acquire_many(client, permits_for(bytes)).map(ResponsePermit::new).ok_or_else(busy)
    }
}

fn busy() -> Error {
    Error::TemporarilyUnavailable("Too many large responses are being sent; try again later")
}

/// A permit to have a large response in memory.
#[derive(Clone)]
pub struct ResponsePermit {
    _permit: Arc<KeyedPermit>,
}

impl ResponsePermit {
    fn new(permit: KeyedPermit) -> Self {
        Self { _permit: Arc::new(permit) }
    }

    /// Returns the same bytes. The permit lasts as long as any part of them.
    pub fn attach_to(&self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(GuardedBytes { bytes, _permit: self.clone() })
    }
}

struct GuardedBytes {
    bytes: Bytes,
    _permit: ResponsePermit,
}

impl AsRef<[u8]> for GuardedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_lasts_as_long_as_any_part_of_the_response() {
        let responses = LargeResponses::default();
        let [one, other] = [1_i64, 2].map(|id| ClientKey::User(id.into()));
        let permit = responses.try_acquire(one, MAX_BYTES / 4).unwrap();
        let body = permit.attach_to(Bytes::from_static(b"0123456789"));
        let end = body.slice(8..);
        drop((permit, body));
        assert_eq!(end, b"89"[..]);
        assert!(responses.try_acquire(one, 1).is_err());
        assert!(responses.try_acquire(other, MAX_BYTES / 4).is_ok());
        drop(end);
        // A response larger than the share of a client takes the whole share.
        let permit = responses.try_acquire(one, 10 * MAX_BYTES).unwrap();
        assert!(responses.try_acquire(one, 1).is_err());
        assert!(responses.try_acquire(other, MAX_BYTES / 4).is_ok());
        drop(permit);
        assert!(responses.try_acquire(one, 1).is_ok());
    }
}
