//! The sections `[git]`, `[imports]` and `[ssh]`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use holdfast_app::repository::git_runtime::{GitSettings, PackLimits};
use ipnet::IpNet;
use serde::Deserialize;

use super::InvalidSetting;

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
    pub(super) max_process_memory_bytes: u64,
    pub(super) max_fetches: usize,
    pub(super) max_fetches_per_repository: usize,
    pub(super) max_pushes: usize,
    pub warm_on_start: bool,
    pub(super) inline_pack_bytes: u64,
    pub(super) bundle_min_bytes: u64,
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
            max_process_memory_bytes: self.max_process_memory_bytes,
            max_fetches: self.max_fetches,
            max_fetches_per_repository: self.max_fetches_per_repository,
            max_pushes: self.max_pushes,
            inline_pack_bytes: self.inline_pack_bytes,
            bundle_min_bytes: self.bundle_min_bytes,
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
    pub max_unauthenticated_connections: usize,
    pub(super) handshake_timeout_seconds: u64,
    pub(super) idle_timeout_seconds: u64,
}

impl Ssh {
    pub fn listen(&self) -> Result<Option<SocketAddr>, InvalidSetting> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        let fix = "write it as 0.0.0.0:2222, or leave it empty";
        let parsed = self.listen.parse();
        Ok(Some(parsed.map_err(|_| {
            InvalidSetting::new("ssh.listen", &self.listen, "it is not an IP address with a port", fix)
        })?))
    }

    /// Returns the port in SSH URLs: `external_port`, or the port of `listen` if that is 0.
    pub fn port(&self) -> Result<u16, InvalidSetting> {
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
