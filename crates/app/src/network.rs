//! Which machines the instance calls on somebody's behalf.
//!
//! - Addresses of the internet at large are called, and networks that the operator allows.
//! - This machine and the networks that its interfaces are in are not called, also where their addresses are public,
//!   unless the operator allows them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdfast_domain::network::{effective, is_public};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::Host;

/// The same text whatever is there: who asks learns nothing about our neighbours.
pub(crate) const NOT_ALLOWED: &str = "The address cannot be reached from here";

/// Lets through the internet at large, and what the operator allows beside it.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    allowed: Arc<[IpNet]>,
    /// Returns the networks that this machine is in.
    attached: fn() -> Arc<[IpNet]>,
}

impl Guard {
    pub fn new(allowed: &[IpNet]) -> Self {
        Self { allowed: allowed.into(), attached: attached_networks }
    }

    pub fn allows(&self, address: IpAddr) -> bool {
        let contains = |networks: &[IpNet], address: IpAddr| networks.iter().any(|network| network.contains(&address));
        if contains(&self.allowed, address) {
            return true;
        }
        is_public(address) && !contains(&(self.attached)(), effective(address))
    }

    /// All of them or none: a name that leads both out and in is not to be trusted with either.
    pub fn admit(&self, found: Vec<SocketAddr>) -> Option<Vec<SocketAddr>> {
        let all_allowed = !found.is_empty() && found.iter().all(|address| self.allows(address.ip()));
        all_allowed.then_some(found)
    }

    /// Where a host is. What is called must be one of these: the next answer to the same question may be another.
    pub async fn find(&self, host: Host<&str>, port: u16) -> Option<Vec<SocketAddr>> {
        let found = match host {
            Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Domain(name) => tokio::net::lookup_host((name, port)).await.ok()?.collect(),
        };
        self.admit(found)
    }
}

/// How long the list of networks is trusted. Reading it takes some ten microseconds, and hooks ask for every call.
const NETWORKS_TTL: Duration = Duration::from_secs(60);

/// Returns the addresses of this machine and the networks that its interfaces are in, read anew once a minute.
fn attached_networks() -> Arc<[IpNet]> {
    static KNOWN: Mutex<Option<(Instant, Arc<[IpNet]>)>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((read_at, networks)) = &*known
        && read_at.elapsed() < NETWORKS_TTL
    {
        return networks.clone();
    }
    let networks: Arc<[IpNet]> = match std::fs::read_to_string("/proc/net/fib_trie") {
        Ok(routes) => {
            // A kernel without IPv6 has no such file.
            let addresses = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
            networks_v4(&routes).chain(networks_v6(&addresses)).collect()
        }
        Err(error) => {
            tracing::warn!(%error, "networks of this machine cannot be listed, neighbors with public addresses may be called");
            known.as_ref().map(|(_, networks)| networks.clone()).unwrap_or_default()
        }
    };
    *known = Some((Instant::now(), networks.clone()));
    networks
}

/// Minimum length of the prefix of a network that counts as a neighborhood. A shorter one is a route to everywhere.
const MIN_PREFIX_V4: u8 = 8;
const MIN_PREFIX_V6: u8 = 16;

/// Parses the kernel's table of IPv4 routes: an address in one line, and below it the lengths and kinds of the routes there.
/// Own addresses have the scope `host`, directly attached networks the scope `link`.
fn networks_v4(table: &str) -> impl Iterator<Item = IpNet> {
    let mut address: Option<Ipv4Addr> = None;
    table.lines().filter_map(move |line| {
        let line = line.trim_start();
        if let Some(text) = line.strip_prefix("|-- ") {
            address = text.trim_end().parse().ok();
            return None;
        }
        let mut words = line.strip_prefix('/')?.split_whitespace();
        let (prefix, scope, kind) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
        let is_attached = matches!((scope, kind), ("host", "LOCAL") | ("link", "UNICAST")) && prefix >= MIN_PREFIX_V4;
        is_attached.then_some(Ipv4Net::new(address?, prefix).ok()?.into())
    })
}

/// Parses the kernel's list of IPv6 addresses: in each line an address, an interface and the length of the prefix, in
/// hexadecimal digits.
fn networks_v6(list: &str) -> impl Iterator<Item = IpNet> {
    list.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let address = Ipv6Addr::from(u128::from_str_radix(words.next()?, 16).ok()?);
        let prefix = u8::from_str_radix(words.nth(1)?, 16).ok()?;
        let prefix = if prefix < MIN_PREFIX_V6 { 128 } else { prefix };
        Some(Ipv6Net::new(address, prefix).ok()?.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Main:
  +-- 0.0.0.0/0 3 0 4
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 8.8.4.0/24 2 0 1
        |-- 8.8.4.0
           /24 link UNICAST
        |-- 8.8.4.4
           /32 host LOCAL
        |-- 8.8.4.255
           /32 link BROADCAST
     |-- 9.9.9.9
        /32 host LOCAL
     |-- 128.0.0.0
        /1 link UNICAST
     |-- 11.0.0.0
        /8 universe UNICAST
";
    const ADDRESSES: &str = "2a000001000200030000000000000004 02 40 00 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
";

    fn guard(allowed: &[&str]) -> Guard {
        let allowed: Vec<IpNet> = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let attached = || networks_v4(ROUTES).chain(networks_v6(ADDRESSES)).collect();
        Guard { attached, ..Guard::new(&allowed) }
    }

    /// A machine in a data center has a public address, and so have its neighbors: what listens there on a private port is
    /// reachable for nobody else.
    #[test]
    fn own_addresses_and_neighbors_are_refused_although_they_are_public() {
        let guard = guard(&[]);
        for address in [
            "8.8.4.4",
            "8.8.4.250",
            "::ffff:8.8.4.250",
            "64:ff9b::808:404",
            "2002:808:404::1",
            "2a00:1:2:3::4",
            "2a00:1:2:3:ffff::1",
            "9.9.9.9",
        ] {
            assert!(!guard.allows(address.parse().unwrap()), "{address}");
        }
        for address in ["8.8.5.4", "2a00:1:2:4::4", "9.9.9.10", "11.1.1.1", "129.1.1.1"] {
            assert!(guard.allows(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_allowed_network_may_hold_neighbors() {
        let guard = guard(&["8.8.4.128/25", "127.0.0.0/8"]);
        assert!(guard.allows("8.8.4.129".parse().unwrap()));
        assert!(guard.allows("127.0.0.1".parse().unwrap()));
        assert!(!guard.allows("8.8.4.1".parse().unwrap()));
    }

    #[test]
    fn no_address_of_this_machine_is_allowed() {
        let networks = attached_networks();
        assert!(networks.iter().any(|network| network.addr().is_loopback()), "{networks:?}");
        for network in networks.iter() {
            assert!(!Guard::new(&[]).allows(network.addr()), "{network}");
        }
    }
}
