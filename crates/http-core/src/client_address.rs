//! Determines the client address of a request. `X-Forwarded-For` counts only if a trusted proxy sent it.
//! Limits count it by [`client_network`](holdfast_app::client::client_network).

use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use ipnet::IpNet;

/// Returns the client address that [`trace_request`](crate::middleware::trace_request) has determined for this request.
pub fn from_extensions(parts: &Parts) -> IpAddr {
    *parts.extensions.get::<IpAddr>().expect("every request passes `trace_request`, which inserts the client address")
}

/// Determines the client address: the peer, or behind trusted proxies the rightmost untrusted address in
/// `X-Forwarded-For`.
pub fn determine(parts: &Parts, trusted: &[IpNet]) -> IpAddr {
    let ConnectInfo(peer) = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .expect("every listener serves with `Connections`, which inserts the address of the peer");
    let peer = peer.ip().to_canonical();
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    if !is_trusted(&peer) {
        return peer;
    }
    let forwarded = parts.headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let chain: Vec<&str> = forwarded.flat_map(|list| list.split(',')).map(str::trim).collect();
    for entry in chain.into_iter().rev() {
        // Everything to the left of a malformed entry has an unknown author.
        let Ok(address) = entry.parse::<IpAddr>() else { return peer };
        if !is_trusted(&address.to_canonical()) {
            return address.to_canonical();
        }
    }
    peer
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
        determine(&parts, trusted).to_string()
    }

    /// Any client can send the header (Gogs GHSA-w6j9-vw59-27wv), so it is used only if a trusted proxy sent it.
    #[test]
    fn untrusted_forwarded_headers_are_ignored() {
        let proxies = ["10.0.0.0/8".parse().unwrap()];
        assert_eq!(address("192.0.2.1", Some("198.51.100.7"), &proxies), "192.0.2.1");
        assert_eq!(address("10.0.0.1", Some("198.51.100.7"), &proxies), "198.51.100.7");
        assert_eq!(address("10.0.0.1", Some("203.0.113.9, 198.51.100.7, 10.0.0.2"), &proxies), "198.51.100.7");
        assert_eq!(address("10.0.0.1", None, &proxies), "10.0.0.1");
        assert_eq!(address("10.0.0.1", Some("nonsense"), &proxies), "10.0.0.1");
        assert_eq!(address("10.0.0.1", Some("198.51.100.7, 203.0.113.9:5555"), &proxies), "10.0.0.1");
        assert_eq!(address("::ffff:10.0.0.1", Some("::ffff:198.51.100.7"), &proxies), "198.51.100.7");
    }
}
