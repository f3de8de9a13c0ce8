//! The section `[hooks]`.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_app::hooks::HookSettings;
use ipnet::IpNet;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    allowed_networks: Vec<IpNet>,
    pub concurrency: usize,
    pub(super) timeout_seconds: u64,
    pub(super) retention_days: u32,
}

impl Hooks {
    pub fn settings(&self) -> HookSettings {
        HookSettings {
            allowed_networks: self.allowed_networks.clone(),
            concurrency: self.concurrency,
            timeout: Duration::from_secs(self.timeout_seconds),
            retention: TimeDelta::days(self.retention_days.into()),
        }
    }
}
