//! Checks the addresses of outgoing connections to hosts that users name: receivers of hooks and sources of imports.
//! `network.rs` of `domain` has the rules for addresses; networks of forks are in `repository::maintenance::network`.
//!
//! - Public addresses are allowed, and networks that the operator allows.
//! - This machine and the networks of its interfaces are not allowed, even if their addresses are public, unless the
//!   operator allows them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdfast_domain::network::{is_public, to_canonical};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::Host;

/// The error for all addresses that cannot be used. The text is the same for every cause, so that it reveals nothing
/// about the internal network.
pub(crate) const NOT_ALLOWED: &str = "The address cannot be reached or is not allowed";

/// A filter that allows public addresses and the networks that the operator allows.
#[derive(Clone, Debug)]
pub(crate) struct AddressGuard {
    allowed: Arc<[IpNet]>,
    /// Returns the networks that this machine is attached to.
    attached: fn() -> Arc<[IpNet]>,
}

impl AddressGuard {
    pub fn new(allowed: &[IpNet]) -> Self {
        Self { allowed: allowed.into(), attached: attached_networks }
    }

    pub fn allows(&self, address: IpAddr) -> bool {
        let contains = |networks: &[IpNet], address: IpAddr| networks.iter().any(|network| network.contains(&address));
        if contains(&self.allowed, address) {
            return true;
        }
        is_public(address) && !contains(&(self.attached)(), to_canonical(address))
    }

    /// Returns the addresses if there are any and all of them are allowed. A name that resolves to both public and
    /// internal addresses is not trusted at all.
    pub fn require_all_allowed(&self, found: Vec<SocketAddr>) -> Option<Vec<SocketAddr>> {
        let all_allowed = !found.is_empty() && found.iter().all(|address| self.allows(address.ip()));
        all_allowed.then_some(found)
    }

    /// Resolves a host and returns its addresses if all of them are allowed. The caller must connect to one of these
    /// addresses: a second lookup may return others.
    pub async fn resolve(&self, host: Host<&str>, port: u16) -> Option<Vec<SocketAddr>> {
        let found = match host {
            Host::Ipv4(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Ipv6(address) => vec![SocketAddr::new(address.into(), port)],
            Host::Domain(name) => tokio::net::lookup_host((name, port)).await.ok()?.collect(),
        };
        self.require_all_allowed(found)
    }
}

/// How long the list of networks is cached. Reading it takes about ten microseconds, and every attempt of a delivery
/// needs it.
const NETWORKS_TTL: Duration = Duration::from_secs(60);

/// Returns the addresses of this machine and the networks of its interfaces, cached for a minute.
fn attached_networks() -> Arc<[IpNet]> {
    static KNOWN: Mutex<Option<(Instant, Arc<[IpNet]>)>> = Mutex::new(None);
    let mut cache = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((read_at, networks)) = &*cache
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
            tracing::warn!(%error, "listing the networks of this machine failed; hooks and imports can reach neighbors with public addresses");
            cache.as_ref().map(|(_, networks)| networks.clone()).unwrap_or_default()
        }
    };
    *cache = Some((Instant::now(), networks.clone()));
    networks
}

/// Minimum prefix length of an attached IPv4 network. A shorter prefix is a route to everywhere and is ignored.
const MIN_PREFIX_V4: u8 = 8;
/// Minimum prefix length of an attached IPv6 network. With a shorter prefix only the address itself counts.
const MIN_PREFIX_V6: u8 = 16;

/// Parses the kernel's table of IPv4 routes: an address in one line, and below it the prefix lengths, scopes and types
/// of its routes. Addresses of this machine have the scope `host`, directly attached networks the scope `link`.
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

/// Parses the kernel's list of IPv6 addresses: each line has an address, an interface and the prefix length, in
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

    fn guard(allowed: &[&str]) -> AddressGuard {
        let allowed: Vec<IpNet> = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let attached = || networks_v4(ROUTES).chain(networks_v6(ADDRESSES)).collect();
        AddressGuard { attached, ..AddressGuard::new(&allowed) }
    }

    /// Attack: a machine in a data center and its neighbors have public addresses, and a hook calls a port of a
    /// neighbor that is open to this network only.
    #[test]
    fn public_addresses_of_attached_networks_are_rejected() {
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
    fn allowed_networks_override_attached_networks() {
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
            assert!(!AddressGuard::new(&[]).allows(network.addr()), "{network}");
        }
    }
}
