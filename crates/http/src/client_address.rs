//! Where a request comes from. Only proxies that the operator trusts are believed about it.

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use ipnet::IpNet;

/// The rightmost address in `X-Forwarded-For` that no trusted proxy wrote about another trusted proxy.
pub fn of(parts: &Parts, trusted: &[IpNet]) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map_or(IpAddr::from([0, 0, 0, 0]), |info| info.0.ip().to_canonical());
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if !is_trusted(&peer) {
        return peer;
    }
    let forwarded = parts.headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let chain: Vec<&str> = forwarded.flat_map(|list| list.split(',')).map(str::trim).collect();
    for entry in chain.into_iter().rev() {
        // What stands left of something unreadable was written by nobody we know.
        let Ok(address) = entry.parse::<IpAddr>() else { return peer };
        if !is_trusted(&address.to_canonical()) {
            return address.to_canonical();
        }
    }
    peer
}

/// What counts as one client: an IPv6 address stands for its network, which has more addresses than can be counted.
pub fn key(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => format!("{:x}", address.to_bits() >> 64),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(peer: &str, forwarded: Option<&str>, trusted: &[IpNet]) -> String {
        let mut request = axum::http::Request::builder();
        if let Some(forwarded) = forwarded {
            request = request.header("x-forwarded-for", forwarded);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        parts.extensions.insert(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 1)));
        of(&parts, trusted).to_string()
    }

    /// Anybody can send the header (Gogs GHSA-w6j9-vw59-27wv): it counts only from a trusted proxy.
    #[test]
    fn strangers_are_not_believed() {
        let proxies = ["10.0.0.0/8".parse().unwrap()];
        assert_eq!(address("192.0.2.1", Some("198.51.100.7"), &proxies), "192.0.2.1");
        assert_eq!(address("10.0.0.1", Some("198.51.100.7"), &proxies), "198.51.100.7");
        assert_eq!(address("10.0.0.1", Some("203.0.113.9, 198.51.100.7, 10.0.0.2"), &proxies), "198.51.100.7");
        assert_eq!(address("10.0.0.1", None, &proxies), "10.0.0.1");
        assert_eq!(address("10.0.0.1", Some("nonsense"), &proxies), "10.0.0.1");
        assert_eq!(address("10.0.0.1", Some("198.51.100.7, 203.0.113.9:5555"), &proxies), "10.0.0.1");
        assert_eq!(address("::ffff:10.0.0.1", Some("::ffff:198.51.100.7"), &proxies), "198.51.100.7");
    }

    #[test]
    fn one_network_is_one_client() {
        let key = |text: &str| key(text.parse().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}
