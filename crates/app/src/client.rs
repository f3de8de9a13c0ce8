//! Limits of connections and permits that are counted separately for each client. Rate limits are in
//! [`crate::throttle`].
//!
//! A node has a fixed number of connections and permits. Each one in use is counted for a [`ClientKey`], and no key
//! gets more than its share, so that one client cannot use up what all of them need. Each node counts for itself.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use holdfast_domain::ids::{SshKeyId, UserId};
use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Error, Result};

/// The client that a connection or a permit is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientKey {
    /// The command line and background jobs.
    Operator,
    User(UserId),
    DeployKey(SshKeyId),
    /// An address as [`client_network`] returns it.
    Address(IpAddr),
}

impl ClientKey {
    pub fn from_address(address: IpAddr) -> Self {
        Self::Address(client_network(address))
    }
}

/// Returns the address for which limits of an anonymous client are counted: an IPv4 address, or the first 64 bits of an
/// IPv6 address. A customer usually has a whole /64 network and can use any address in it.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

/// One semaphore for each key that is in use, each with the same number of permits.
pub struct KeyedSemaphores<K> {
    permits: usize,
    semaphores: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> KeyedSemaphores<K> {
    pub fn new(permits: usize) -> Self {
        Self { permits, semaphores: Mutex::default() }
    }

    /// Waits for a permit of this key. Requests for the same key are served in order.
    pub async fn acquire(&self, key: K) -> OwnedSemaphorePermit {
        self.acquire_many(key, 1).await
    }

    /// Returns `None` if all permits of this key are held, or other requests are waiting for one.
    pub fn try_acquire(&self, key: K) -> Option<OwnedSemaphorePermit> {
        self.try_acquire_many(key, 1)
    }

    async fn acquire_many(&self, key: K, count: u32) -> OwnedSemaphorePermit {
        self.semaphore(key).acquire_many_owned(count).await.expect("the semaphore is never closed")
    }

    fn try_acquire_many(&self, key: K, count: u32) -> Option<OwnedSemaphorePermit> {
        self.semaphore(key).try_acquire_many_owned(count).ok()
    }

    fn semaphore(&self, key: K) -> Arc<Semaphore> {
        let mut semaphores = self.semaphores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = semaphores.get(&key).and_then(Weak::upgrade) {
            return semaphore;
        }
        semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(self.permits));
        semaphores.insert(key, Arc::downgrade(&semaphore));
        semaphore
    }
}

/// Returns how many of a node's permits one client may hold: a quarter, and at least one.
pub const fn client_share(permits: usize) -> usize {
    if permits < 4 { 1 } else { permits / 4 }
}

/// Permits of this node, of which each key gets at most its share.
pub struct KeyedPermits<K> {
    shares: KeyedSemaphores<K>,
    total: Arc<Semaphore>,
    permits: usize,
}

pub type ClientPermits = KeyedPermits<ClientKey>;

/// A guard that returns its permits when it is dropped.
pub struct KeyedPermit {
    _share: OwnedSemaphorePermit,
    _permit: OwnedSemaphorePermit,
}

impl<K: Eq + Hash> KeyedPermits<K> {
    pub fn new(permits: usize, share: usize) -> Self {
        Self { shares: KeyedSemaphores::new(share), total: Arc::new(Semaphore::new(permits)), permits }
    }

    /// Waits for a permit. A key that holds its whole share waits without delaying other keys.
    pub async fn acquire(&self, key: K) -> KeyedPermit {
        self.acquire_many(key, 1).await
    }

    /// Like [`Self::acquire`], but waits for several permits. A request for more than a share gets a whole share.
    pub async fn acquire_many(&self, key: K, count: usize) -> KeyedPermit {
        let count = self.cap_to_share(count);
        let share = self.shares.acquire_many(key, count).await;
        let permit = self.total.clone().acquire_many_owned(count).await.expect("the semaphore is never closed");
        KeyedPermit { _share: share, _permit: permit }
    }

    /// Like [`Self::acquire_many`], but returns `None` where that would wait.
    pub fn try_acquire_many(&self, key: K, count: usize) -> Option<KeyedPermit> {
        let count = self.cap_to_share(count);
        let share = self.shares.try_acquire_many(key, count)?;
        let permit = self.total.clone().try_acquire_many_owned(count).ok()?;
        Some(KeyedPermit { _share: share, _permit: permit })
    }

    fn cap_to_share(&self, count: usize) -> u32 {
        u32::try_from(count.min(self.shares.permits)).unwrap_or(u32::MAX)
    }

    /// Calls `work` on a blocking thread. The thread holds the permit, because it continues when the request is
    /// canceled.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        key: K,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.acquire(key).await;
        let thread = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        thread.await.map_err(|panicked| Error::Internal(panicked.into()))?
    }

    /// Returns how many permits are held.
    pub fn held_count(&self) -> usize {
        self.permits - self.total.available_permits()
    }
}

impl ClientPermits {
    pub fn for_clients(permits: usize) -> Self {
        Self::new(permits, client_share(permits))
    }
}

/// The maximum number of connections of a listener.
#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    pub max: usize,
    pub max_per_address: usize,
    /// Proxies, whose connections carry many clients: `max_per_address` does not apply to them.
    pub trusted_proxies: Vec<IpNet>,
}

/// The open connections of a listener, counted by address.
pub struct ConnectionCounter {
    /// The label in the metrics.
    listener: &'static str,
    limits: ConnectionLimits,
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    total: usize,
    by_address: HashMap<ClientKey, usize>,
}

/// A connection that is counted until this is dropped.
pub struct ConnectionGuard {
    counter: Arc<ConnectionCounter>,
    address: ClientKey,
}

impl ConnectionCounter {
    pub fn new(listener: &'static str, limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { listener, limits, open: Mutex::default() })
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new connection. Returns `None` if there are too many. Refusals are visible in the metrics only: with a
    /// log line for each, any client could fill the log.
    pub fn try_admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionGuard> {
        let peer = peer.to_canonical();
        let address = ClientKey::from_address(peer);
        let is_proxy = self.limits.trusted_proxies.iter().any(|network| network.contains(&peer));
        let reason = {
            let mut open = self.open();
            let address_count = open.by_address.get(&address).copied().unwrap_or_default();
            if open.total >= self.limits.max {
                "all"
            } else if address_count >= self.limits.max_per_address && !is_proxy {
                "address"
            } else {
                open.total += 1;
                open.by_address.insert(address, address_count + 1);
                return Some(ConnectionGuard { counter: self.clone(), address });
            }
        };
        self.count_refusal(reason);
        None
    }

    /// Like [`Self::try_admit`], but refuses connections at random when more than half of the maximum are open, with a
    /// probability that rises to 1, as `MaxStartups` of OpenSSH does. A client that tries to keep all connections open
    /// is then refused as often as others are. `random` is between 0 and 1.
    pub fn try_admit_early_drop(self: &Arc<Self>, peer: IpAddr, random: f64) -> Option<ConnectionGuard> {
        let half = self.limits.max.div_ceil(2);
        let above_half = self.open().total.saturating_sub(half);
        if random < above_half as f64 / (self.limits.max - half).max(1) as f64 {
            self.count_refusal("early_drop");
            return None;
        }
        self.try_admit(peer)
    }

    fn count_refusal(&self, reason: &'static str) {
        let labels = [("listener", self.listener), ("reason", reason)];
        metrics::counter!("holdfast_connections_refused_total", &labels).increment(1);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut open = self.counter.open();
        open.total -= 1;
        if let Some(count) = open.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let key = |text| ClientKey::from_address(address(text));
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
        assert_ne!(key("192.0.2.1"), key("192.0.2.2"));
    }

    #[tokio::test]
    async fn a_canceled_request_keeps_its_permit_until_its_thread_ends() {
        let permits = ClientPermits::for_clients(4);
        let (one, other) = (ClientKey::User(1.into()), ClientKey::User(2.into()));
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let request = permits.run_blocking(one, move || Ok(wait.recv().is_err()));
        assert!(request.now_or_never().is_none());
        assert_eq!(permits.held_count(), 1);
        assert!(permits.run_blocking(one, || Ok(())).now_or_never().is_none());
        permits.run_blocking(other, || Ok(())).await.unwrap();
        drop(end);
        permits.run_blocking(one, || Ok(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_client_holds_at_most_its_share_of_permits() {
        let permits = ClientPermits::for_clients(8);
        let (one, other) = (ClientKey::User(1.into()), ClientKey::User(2.into()));
        let held = [permits.acquire(one).await, permits.acquire(one).await];
        assert!(permits.acquire(one).now_or_never().is_none());
        assert!(permits.acquire(other).now_or_never().is_some());
        assert_eq!(permits.held_count(), 2);
        drop(held);
        assert!(permits.acquire(one).now_or_never().is_some());
        assert_eq!([client_share(1), client_share(3), client_share(16)], [1, 1, 4]);
    }

    #[tokio::test]
    async fn many_permits_are_acquired_together_and_capped_at_the_share() {
        let permits = ClientPermits::new(4, 2);
        let [one, other, third] = [1_i64, 2, 3].map(|id| ClientKey::User(id.into()));
        let held = permits.acquire_many(one, 100).await;
        assert_eq!(permits.held_count(), 2);
        assert!(permits.try_acquire_many(one, 1).is_none());
        let rest = permits.try_acquire_many(other, 1);
        assert!(rest.is_some());
        // The share of this key is free, but the total is not enough. The failed attempt must not keep permits of the
        // share.
        assert!(permits.try_acquire_many(third, 2).is_none());
        assert!(permits.try_acquire_many(third, 1).is_some());
        drop((held, rest));
        assert_eq!(permits.held_count(), 0);
    }

    #[test]
    fn connections_are_limited_per_address_and_in_total() {
        let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
        let counter = ConnectionCounter::new("test", ConnectionLimits { max: 6, max_per_address: 2, trusted_proxies });
        let admit = |text| counter.try_admit(address(text));
        let first = [admit("192.0.2.1"), admit("192.0.2.1")];
        assert!(first.iter().all(Option::is_some));
        assert!(admit("192.0.2.1").is_none() && admit("::ffff:192.0.2.1").is_none());
        let others = [admit("192.0.2.2"), admit("10.0.0.1"), admit("10.0.0.1"), admit("10.0.0.1")];
        assert!(others.iter().all(Option::is_some));
        assert!(admit("192.0.2.3").is_none());
        drop(first);
        assert!(admit("192.0.2.1").is_some());
        drop(others);
        assert!(counter.open().by_address.is_empty());
    }

    #[test]
    fn early_drop_begins_at_half_of_max_connections() {
        let limits = ConnectionLimits { max: 8, max_per_address: 8, trusted_proxies: Vec::new() };
        let counter = ConnectionCounter::new("test", limits);
        let admit = |random| counter.try_admit_early_drop(address("192.0.2.1"), random);
        let mut open: Vec<_> = (0..5).map(|_| admit(0.0)).collect();
        assert!(open.iter().all(Option::is_some));
        // Five of eight connections are open, one above the half: a quarter of the new connections is refused.
        assert!(admit(0.2).is_none());
        open.extend([admit(0.25), admit(0.9), admit(0.9)]);
        assert!(open.iter().all(Option::is_some));
        assert!(admit(0.999).is_none());
    }
}
