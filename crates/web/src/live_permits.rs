//! The number of streams of events that a node serves at the same time.

use holdfast_app::client::{ClientKey, ClientPermits, KeyedPermit};

/// Maximum number of streams of this node.
const MAX_STREAMS: usize = 500;
/// Maximum number of streams of one user, or of one anonymous client.
const MAX_STREAMS_PER_CLIENT: usize = 8;

/// The permits of a node for streams.
pub struct LivePermits(ClientPermits);

impl LivePermits {
    /// Returns a permit for one stream, or `None` if the client or the node has the maximum number of streams.
    pub fn try_acquire(&self, client: ClientKey) -> Option<KeyedPermit> {
        self.0.try_acquire_many(client, 1)
    }
}

impl Default for LivePermits {
    fn default() -> Self {
        Self(ClientPermits::new(MAX_STREAMS, MAX_STREAMS_PER_CLIENT))
    }
}
