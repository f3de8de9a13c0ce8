//! Limits on connections and requests, and the counters that enforce those on requests.

use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use holdfast_app::client::{ClientKey, ClientPermits, KeyedPermit, client_network};
use holdfast_app::throttle::Throttle;
use holdfast_app::{Actor, Result};
use ipnet::IpNet;

use crate::{RequestError, body};

/// Limits on connections and requests, converted from the configuration file.
#[derive(Clone, Debug)]
pub struct Limits {
    pub max_body_bytes: usize,
    pub max_upload_bytes: usize,
    pub request_timeout: Duration,
    /// Maximum number of requests of a user in a minute. Zero means that there is no limit.
    pub requests_per_minute: u32,
    /// Maximum number of requests of an address without a user in a minute. Zero means that there is no limit.
    pub anonymous_requests_per_minute: u32,
    pub trusted_proxies: Vec<IpNet>,
    /// Maximum number of concurrent connections in total.
    pub max_connections: usize,
    /// Maximum number of concurrent connections from one address. Does not apply to trusted proxies.
    pub max_connections_per_address: usize,
    /// Time a client has to send the head of a request.
    pub head_timeout: Duration,
    /// Time a client may stall a request body or a response before the connection is closed.
    pub stall_timeout: Duration,
}

/// Maximum number of long request bodies. Each has up to three times [`Limits::max_body_bytes`] in memory.
const MAX_CONCURRENT_BODIES: usize = 64;
/// Bodies up to this size need no permit. Nearly all are shorter.
const MAX_SMALL_BODY_BYTES: usize = 64 << 10;

/// The limits of a node on requests, with their counters. The API and the web interface share one instance, so that a
/// client has one quota for both.
pub struct RequestLimits {
    pub settings: Limits,
    user_throttle: Throttle,
    anonymous_throttle: Throttle,
    /// Limits long request bodies, which are in memory.
    body_permits: ClientPermits,
}

impl RequestLimits {
    pub fn new(settings: Limits) -> Self {
        Self {
            user_throttle: Throttle::per_minute(settings.requests_per_minute),
            anonymous_throttle: Throttle::per_minute(settings.anonymous_requests_per_minute),
            body_permits: ClientPermits::for_clients(MAX_CONCURRENT_BODIES),
            settings,
        }
    }

    /// Counts a request of a user, or of the network of `address` if the actor is no user.
    pub fn count_request(&self, actor: Option<&Actor>, address: IpAddr) -> Result<()> {
        match actor {
            Some(Actor::User(current_user)) => self.user_throttle.check(|| current_user.account.id().to_string()),
            _ => self.count_anonymous(address),
        }
    }

    /// Counts a request without a valid user.
    pub fn count_anonymous(&self, address: IpAddr) -> Result<()> {
        self.anonymous_throttle.check(|| client_network(address).to_string())
    }

    /// Reads a body. A permit is acquired only for the rest of a long body, after its start has arrived, so that
    /// clients that do not send what they announced hold no permits. The caller holds the permit as long as the body is
    /// in memory.
    pub async fn read_body(
        &self,
        client: ClientKey,
        mut body: Body,
    ) -> std::result::Result<(Vec<u8>, Option<KeyedPermit>), RequestError> {
        let limit = self.settings.max_body_bytes;
        let start = body::read_start(&mut body, MAX_SMALL_BODY_BYTES.min(limit)).await;
        let (start, is_whole) = start.filter(|(start, _)| start.len() <= limit).ok_or(RequestError::TooLarge)?;
        if is_whole {
            return Ok((start, None));
        }
        let permit = self.body_permits.acquire(client).await;
        let whole = body::read_rest(start, body, limit).await.ok_or(RequestError::TooLarge)?;
        Ok((whole, Some(permit)))
    }
}
