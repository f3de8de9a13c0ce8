use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_app::repository::engine::{GitSettings, PackLimits};
use ipnet::IpNet;
use serde::Deserialize;

use super::Invalid;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Git {
    program: PathBuf,
    cache_directory: PathBuf,
    pub(super) cache_max_bytes: u64,
    pub(super) max_pack_bytes: u64,
    pub(super) max_object_bytes: u64,
    pub(super) max_inflated_bytes: u64,
    pub(super) max_refs: usize,
    pub(super) max_memory_bytes: u64,
    pub(super) max_fetches: usize,
    pub(super) max_fetches_per_repository: usize,
    pub(super) max_pushes: usize,
    pub warm_on_start: bool,
    pub(super) inline_pack_bytes: u64,
    pub(super) compact_at: i64,
    pub(super) bundle_from_bytes: u64,
    pub(super) request_timeout_seconds: u64,
}

impl Git {
    pub fn settings(&self) -> GitSettings {
        GitSettings {
            program: self.program.clone(),
            cache_directory: self.cache_directory.clone(),
            cache_max_bytes: self.cache_max_bytes,
            pack_limits: PackLimits {
                max_pack_bytes: self.max_pack_bytes,
                max_object_bytes: self.max_object_bytes,
                max_inflated_bytes: self.max_inflated_bytes,
            },
            max_refs: self.max_refs,
            max_memory_bytes: self.max_memory_bytes,
            max_fetches: self.max_fetches,
            max_fetches_per_repository: self.max_fetches_per_repository,
            max_pushes: self.max_pushes,
            inline_pack_bytes: self.inline_pack_bytes,
            compact_at: self.compact_at,
            bundle_from_bytes: self.bundle_from_bytes,
            request_timeout: Duration::from_secs(self.request_timeout_seconds),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imports {
    pub concurrency: usize,
    pub allowed_networks: Vec<IpNet>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    listen: String,
    external_port: u16,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    pub max_unauthenticated: usize,
    pub(super) handshake_timeout_seconds: u64,
    pub(super) idle_timeout_seconds: u64,
}

impl Ssh {
    pub fn listen(&self) -> Result<Option<SocketAddr>, Invalid> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let cure = "write it as 0.0.0.0:2222, or leave it empty";
        let parsed = self.listen.parse();
        Ok(Some(parsed.map_err(|_| Invalid::new("ssh.listen", &self.listen, "it is no host:port", cure))?))
    }

    /// As people see it.
    pub fn port(&self) -> Result<u16, Invalid> {
        Ok(match (self.external_port, self.listen()?) {
            (0, Some(address)) => address.port(),
            (port, _) => port,
        })
    }

    pub fn handshake_timeout(&self) -> Duration {
        Duration::from_secs(self.handshake_timeout_seconds)
    }

    pub fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_timeout_seconds)
    }
}
