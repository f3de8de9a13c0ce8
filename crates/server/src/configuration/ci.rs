use std::time::Duration;

use chrono::TimeDelta;
use holdfast_app::SealingKey;
use holdfast_app::ci::CiSettings;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::Invalid;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ci {
    pub(super) build_timeout_seconds: u32,
    pub(super) silent_after_seconds: u32,
    pub(super) longest_wait_seconds: u64,
    pub(super) max_trace_bytes: u64,
    pub(super) max_artifact_bytes: u64,
}

impl Ci {
    pub fn settings(&self) -> CiSettings {
        CiSettings {
            build_timeout: TimeDelta::seconds(self.build_timeout_seconds.into()),
            silent_after: TimeDelta::seconds(self.silent_after_seconds.into()),
            longest_wait: Duration::from_secs(self.longest_wait_seconds),
            max_trace_bytes: self.max_trace_bytes,
            max_artifact_bytes: self.max_artifact_bytes,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    key: SecretString,
}

impl Secrets {
    pub fn key(&self) -> Result<Option<SealingKey>, Invalid> {
        let text = self.key.expose_secret();
        if text.is_empty() {
            return Ok(None);
        }
        let bytes = hex::decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        let wrong = || {
            Invalid::new("secrets.key", "(hidden)", "it is not 64 hexadecimal digits", "make one: openssl rand -hex 32")
        };
        Ok(Some(SealingKey::new(bytes.ok_or_else(wrong)?)))
    }
}
