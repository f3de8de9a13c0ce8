//! The sections `[ci]` and `[encryption]`.

use std::time::Duration;

use chrono::TimeDelta;
use holdfast_app::EncryptionKey;
use holdfast_app::ci::CiSettings;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::InvalidSetting;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ci {
    pub(super) build_timeout_seconds: u32,
    pub(super) runner_heartbeat_timeout_seconds: u32,
    pub(super) long_poll_timeout_seconds: u64,
    pub(super) max_trace_bytes: u64,
    pub(super) max_artifact_bytes: u64,
}

impl Ci {
    pub fn settings(&self) -> CiSettings {
        CiSettings {
            build_timeout: TimeDelta::seconds(self.build_timeout_seconds.into()),
            runner_heartbeat_timeout: TimeDelta::seconds(self.runner_heartbeat_timeout_seconds.into()),
            long_poll_timeout: Duration::from_secs(self.long_poll_timeout_seconds),
            max_trace_bytes: self.max_trace_bytes,
            max_artifact_bytes: self.max_artifact_bytes,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encryption {
    key: SecretString,
}

impl Encryption {
    pub fn key(&self) -> Result<Option<EncryptionKey>, InvalidSetting> {
        let text = self.key.expose_secret();
        if text.is_empty() {
            return Ok(None);
        }
        let bytes = hex::decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        let invalid = || {
            InvalidSetting::new(
                "encryption.key",
                "(hidden)",
                "it is not 64 hexadecimal digits",
                "create a key with `openssl rand -hex 32`",
            )
        };
        Ok(Some(EncryptionKey::new(bytes.ok_or_else(invalid)?)))
    }
}
