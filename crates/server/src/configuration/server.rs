//! The section `[server]`.

use std::net::SocketAddr;

use ipnet::IpNet;
use serde::Deserialize;
use url::Url;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    pub listen: SocketAddr,
    pub external_url: Url,
    pub trusted_proxies: Vec<IpNet>,
    pub(super) max_connections: usize,
    pub(super) max_connections_per_address: usize,
    pub(super) stall_timeout_seconds: u64,
    pub(super) max_body_bytes: usize,
    pub(super) request_timeout_seconds: u64,
    pub(super) shutdown_grace_seconds: u64,
}

impl Server {
    /// Returns key, value, minimum and maximum of each numeric setting.
    pub(super) fn ranges(&self) -> [(&'static str, u64, u64, u64); 6] {
        [
            ("server.max_connections", self.max_connections as u64, 1, 1_000_000),
            ("server.max_connections_per_address", self.max_connections_per_address as u64, 1, 1_000_000),
            ("server.stall_timeout_seconds", self.stall_timeout_seconds, 1, 3600),
            ("server.max_body_bytes", self.max_body_bytes as u64, 1, 1 << 30),
            ("server.request_timeout_seconds", self.request_timeout_seconds, 1, 86_400),
            ("server.shutdown_grace_seconds", self.shutdown_grace_seconds, 0, 86_400),
        ]
    }
}
