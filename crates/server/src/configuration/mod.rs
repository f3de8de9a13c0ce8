//! Typed configuration: the default file, then the operator's file, then the environment.

mod chaos;
mod ci;
mod error;
mod hooks;
mod maintenance;
mod repositories;
mod server;
mod sources;
mod storage;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use holdfast_app::Settings;
use holdfast_app::worker::Concurrency;
use holdfast_http::{Limits, Site};
use holdfast_store::Options;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use url::Url;

use chaos::Chaos;
use ci::{Ci, Secrets};
pub use error::Invalid;
use hooks::Hooks;
use maintenance::Maintenance;
use repositories::{Git, Imports, Ssh};
use server::Server;
use sources::merge;
pub use sources::show;
use storage::Storage;

/// Also the documentation: every key stands here with its meaning, and nothing has a default elsewhere.
pub const DEFAULT: &str = include_str!("default.toml");

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub server: Server,
    pub operations: Operations,
    pub database: Database,
    pub storage: Storage,
    pub git: Git,
    pub maintenance: Maintenance,
    pub imports: Imports,
    pub hooks: Hooks,
    pub ci: Ci,
    pub secrets: Secrets,
    pub ssh: Ssh,
    pub worker: Worker,
    pub accounts: Accounts,
    pub limits: LimitSettings,
    pub log: Log,
    pub telemetry: Telemetry,
    pub chaos: Chaos,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operations {
    listen: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    url: SecretString,
    direct_url: SecretString,
    pub max_connections: u32,
    acquire_timeout_seconds: u64,
    statement_timeout_seconds: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    pub concurrency: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounts {
    projects_limit: i32,
    can_create_group: bool,
    session_days: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    sign_ins_per_minute: u32,
    requests_per_minute: u32,
    anonymous_requests_per_minute: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub format: LogFormat,
    filter: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    otlp_endpoint: String,
}

impl Configuration {
    pub fn load(file: Option<&Path>) -> Result<Self, Invalid> {
        Self::from_merged(&merge(file, std::env::vars().collect())?)
    }

    fn from_merged(merged: &config::Config) -> Result<Self, Invalid> {
        let configuration: Self =
            merged.clone().try_deserialize().map_err(|error| Invalid::from_config(&error, Some(merged)))?;
        configuration.check()?;
        Ok(configuration)
    }

    /// What types alone cannot say.
    fn check(&self) -> Result<(), Invalid> {
        let ranges = [
            ("database.max_connections", self.database.max_connections.into(), 1, 10_000),
            ("database.acquire_timeout_seconds", self.database.acquire_timeout_seconds, 1, 86_400),
            ("database.statement_timeout_seconds", self.database.statement_timeout_seconds, 1, 86_400),
            ("storage.max_upload_bytes", self.storage.max_upload_bytes as u64, 1, 1 << 30),
            ("git.cache_max_bytes", self.git.cache_max_bytes, 1 << 20, 1 << 50),
            ("git.max_pack_bytes", self.git.max_pack_bytes, 1 << 10, 1 << 42),
            ("git.max_object_bytes", self.git.max_object_bytes, 1 << 10, 1 << 42),
            ("git.max_inflated_bytes", self.git.max_inflated_bytes, 1 << 20, 1 << 50),
            ("git.max_refs", self.git.max_refs as u64, 1, 1 << 32),
            ("git.max_memory_bytes", self.git.max_memory_bytes, 64 << 20, 1 << 42),
            ("git.max_fetches", self.git.max_fetches as u64, 1, 10_000),
            ("git.max_fetches_per_repository", self.git.max_fetches_per_repository as u64, 1, 10_000),
            ("git.max_pushes", self.git.max_pushes as u64, 1, 10_000),
            ("git.inline_pack_bytes", self.git.inline_pack_bytes, 0, 1 << 20),
            ("git.compact_at", self.git.compact_at as u64, 2, 1000),
            ("git.bundle_from_bytes", self.git.bundle_from_bytes, 0, 1 << 50),
            ("imports.concurrency", self.imports.concurrency as u64, 0, 1000),
            ("hooks.concurrency", self.hooks.concurrency as u64, 0, 10_000),
            ("hooks.timeout_seconds", self.hooks.timeout_seconds, 1, 60),
            ("hooks.kept_days", self.hooks.kept_days.into(), 4, 3650),
            ("ci.build_timeout_seconds", self.ci.build_timeout_seconds.into(), 60, 2_592_000),
            ("ci.silent_after_seconds", self.ci.silent_after_seconds.into(), 60, 2_592_000),
            ("ci.longest_wait_seconds", self.ci.longest_wait_seconds, 0, 60),
            ("ci.max_trace_bytes", self.ci.max_trace_bytes, 1 << 10, 1 << 40),
            ("ci.max_artifact_bytes", self.ci.max_artifact_bytes, 1 << 10, 1 << 42),
            ("git.request_timeout_seconds", self.git.request_timeout_seconds, 1, 3600),
            ("ssh.max_connections", self.ssh.max_connections as u64, 1, 1_000_000),
            ("ssh.max_connections_per_address", self.ssh.max_connections_per_address as u64, 1, 1_000_000),
            ("ssh.max_unauthenticated", self.ssh.max_unauthenticated as u64, 1, 100_000),
            ("ssh.handshake_timeout_seconds", self.ssh.handshake_timeout_seconds, 1, 3600),
            ("ssh.idle_timeout_seconds", self.ssh.idle_timeout_seconds, 1, 86_400),
            ("worker.concurrency", self.worker.concurrency as u64, 0, 1000),
            ("accounts.session_days", self.accounts.session_days.into(), 1, 36_500),
        ];
        for (key, value, smallest, largest) in self.server.ranges().into_iter().chain(ranges) {
            if !(smallest..=largest).contains(&value) {
                let cure = format!("give a number from {smallest} to {largest}, or leave it out");
                return Err(Invalid::new(key, value, "it is out of range", &cure));
            }
        }
        if self.accounts.projects_limit < 0 {
            let value = self.accounts.projects_limit;
            return Err(Invalid::new(
                "accounts.projects_limit",
                value,
                "it is negative",
                "0 forbids personal projects",
            ));
        }
        let url = &self.server.external_url;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
            let cure = "write it as https://code.example.com";
            return Err(Invalid::new("server.external_url", url, "it is no plain http or https address", cure));
        }
        for (key, url) in [("database.url", &self.database.url), ("database.direct_url", &self.database.direct_url)] {
            let is_optional = key == "database.direct_url" && url.expose_secret().is_empty();
            if let (false, Err(problem)) = (is_optional, holdfast_store::database::check_url(url.expose_secret())) {
                let cure = "write it as postgres://user:password@host:5432/database";
                return Err(Invalid::new(key, "(hidden)", &problem, cure));
            }
        }
        self.storage.options()?;
        self.maintenance.check()?;
        self.chaos.check()?;
        self.secrets.key()?;
        self.ssh.listen()?;
        if let Some(endpoint) = self.otlp_endpoint()
            && !Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            let cure = "write it as http://127.0.0.1:4318/v1/traces, or leave it empty";
            return Err(Invalid::new("telemetry.otlp_endpoint", endpoint, "it is no http or https address", cure));
        }
        self.log_filter()?;
        self.operations_listen()?;
        Ok(())
    }

    pub fn log_filter(&self) -> Result<EnvFilter, Invalid> {
        let filter = &self.log.filter;
        let cure = "write info, or levels per module as in info,sqlx=debug";
        // It complains about every certificate that a hook's receiver gets wrong, without saying whose.
        let filter_of_all = format!("rustls_platform_verifier=off,{filter}");
        EnvFilter::try_new(filter_of_all).map_err(|_| Invalid::new("log.filter", filter, "it is no filter", cure))
    }

    pub fn operations_listen(&self) -> Result<Option<SocketAddr>, Invalid> {
        let listen = &self.operations.listen;
        if listen.is_empty() {
            return Ok(None);
        }
        let cure = "write it as 127.0.0.1:8081, or leave it empty";
        let parsed =
            listen.parse().map_err(|_| Invalid::new("operations.listen", listen, "it is no host:port", cure))?;
        Ok(Some(parsed))
    }

    pub fn otlp_endpoint(&self) -> Option<&str> {
        Some(self.telemetry.otlp_endpoint.as_str()).filter(|endpoint| !endpoint.is_empty())
    }

    pub fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.server.shutdown_grace_seconds)
    }

    pub fn database_options(&self) -> Options {
        Options {
            url: self.database.url.expose_secret().to_owned(),
            max_connections: self.database.max_connections,
            acquire_timeout: Duration::from_secs(self.database.acquire_timeout_seconds),
            statement_timeout: Duration::from_secs(self.database.statement_timeout_seconds),
        }
    }

    /// Reaches the server itself, where advisory locks and long statements work.
    pub fn direct_url(&self) -> &str {
        match self.database.direct_url.expose_secret() {
            "" => self.database.url.expose_secret(),
            direct => direct,
        }
    }

    pub fn worker_concurrency(&self) -> Concurrency {
        Concurrency { jobs: self.worker.concurrency, imports: self.imports.concurrency }
    }

    pub fn has_pooler(&self) -> bool {
        self.direct_url() != self.database.url.expose_secret()
    }

    /// Where the database is, without the secrets of its address.
    pub fn database_place(&self) -> String {
        let Ok(url) = Url::parse(self.direct_url()) else { return "(unreadable)".into() };
        format!("{}:{}{}", url.host_str().unwrap_or("localhost"), url.port().unwrap_or(5432), url.path())
    }

    pub fn settings(&self) -> Result<Settings, Invalid> {
        Ok(Settings {
            projects_limit: self.accounts.projects_limit,
            can_create_group: self.accounts.can_create_group,
            session_days: self.accounts.session_days,
            sign_ins_per_minute: self.limits.sign_ins_per_minute,
            git: self.git.settings(),
            maintenance: self.maintenance.settings(),
            import_networks: self.imports.allowed_networks.clone(),
            hooks: self.hooks.settings(),
            ci: self.ci.settings(),
            sealing_key: self.secrets.key()?,
            site: self.site()?,
        })
    }

    pub fn site(&self) -> Result<Site, Invalid> {
        Ok(Site::new(&self.server.external_url, self.ssh.port()?))
    }

    pub fn limits(&self) -> Limits {
        Limits {
            max_body_bytes: self.server.max_body_bytes,
            max_upload_bytes: self.storage.max_upload_bytes,
            request_timeout: Duration::from_secs(self.server.request_timeout_seconds),
            requests_per_minute: self.limits.requests_per_minute,
            anonymous_requests_per_minute: self.limits.anonymous_requests_per_minute,
            trusted_proxies: self.server.trusted_proxies.clone(),
            max_connections: self.server.max_connections,
            max_connections_per_address: self.server.max_connections_per_address,
            head_timeout: HEAD_TIMEOUT,
            stall_timeout: Duration::from_secs(self.server.stall_timeout_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(variables: &[(&str, &str)]) -> Result<Configuration, Invalid> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Configuration::from_merged(&merge(None, owned.collect())?)
    }

    #[test]
    fn the_default_file_is_complete() {
        let configuration = load(&[]).unwrap();
        assert_eq!(configuration.server.listen.port(), 8080);
        assert_eq!(configuration.limits().trusted_proxies, []);
    }

    #[test]
    fn the_environment_overrides() {
        let configuration = load(&[
            ("HOLDFAST__SERVER__LISTEN", "0.0.0.0:9000"),
            ("HOLDFAST__SERVER__TRUSTED_PROXIES", "10.0.0.0/8,::1/128"),
            ("HOLDFAST__ACCOUNTS__CAN_CREATE_GROUP", "false"),
            ("HOLDFAST__OPERATIONS__LISTEN", ""),
        ])
        .unwrap();
        assert_eq!(configuration.server.listen.port(), 9000);
        assert_eq!(configuration.limits().trusted_proxies.len(), 2);
        assert!(!configuration.settings().unwrap().can_create_group);
        assert_eq!(configuration.operations_listen().unwrap(), None);
    }

    #[test]
    fn a_wrong_setting_names_the_key_the_value_and_the_cure() {
        let wrong = [
            ("HOLDFAST__SERVER__LISTEN", "everywhere", "server.listen"),
            ("HOLDFAST__SERVER__EXTERNAL_URL", "ftp://example.com", "server.external_url"),
            ("HOLDFAST__DATABASE__MAX_CONNECTIONS", "many", "database.max_connections"),
            ("HOLDFAST__DATABASE__MAX_CONNECTIONS", "0", "database.max_connections"),
            ("HOLDFAST__LOG__FORMAT", "xml", "log.format"),
            ("HOLDFAST__OPERATIONS__LISTEN", "8081", "operations.listen"),
            ("HOLDFAST__ACCOUNTS__PROJECTS_LIMIT", "-1", "accounts.projects_limit"),
            ("HOLDFAST__ACCOUNTS__SESSION_DAYS", "4000000000", "accounts.session_days"),
            ("HOLDFAST__LOG__FILTER", "a=b=c", "log.filter"),
            ("HOLDFAST__STORAGE__URL", "ftp://example.com", "storage.url"),
            ("HOLDFAST__STORAGE__URL", "s3:///prefix", "storage.url"),
            ("HOLDFAST__STORAGE__ENDPOINT", "s3.example.com", "storage.endpoint"),
            ("HOLDFAST__STORAGE__ACCESS_KEY_ID", "id", "storage.access_key_id"),
            ("HOLDFAST__WORKER__CONCURRENCY", "100000", "worker.concurrency"),
            ("HOLDFAST__MAINTENANCE__UNDO_DAYS", "-1", "maintenance.undo_days"),
            ("HOLDFAST__CHAOS__FAIL_PERCENT", "101", "chaos.fail_percent"),
            ("HOLDFAST__TELEMETRY__OTLP_ENDPOINT", "somewhere", "telemetry.otlp_endpoint"),
        ];
        for (name, value, key) in wrong {
            let text = load(&[(name, value)]).unwrap_err().to_string();
            assert!(text.contains(key) && text.contains(value) && text.contains("cure: "), "{text}");
        }
    }

    #[test]
    fn a_misspelt_key_is_told() {
        let text = load(&[("HOLDFAST__SERVER__LISTN", "127.0.0.1:1")]).unwrap_err().to_string();
        assert!(text.contains("listn"), "{text}");
    }

    /// A password in the database url must not come out in an error.
    #[test]
    fn secrets_are_not_told() {
        for url in ["mysql://u:hunter42@h/d", "postgres://u:hunter42@h:port/d", "postgres://u:hunter42@h/d?sslmode=x"] {
            let error = load(&[("HOLDFAST__DATABASE__URL", url)]).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains("database.url") && !text.contains("hunter42"), "{text}");
        }
        let file = std::env::temp_dir().join(format!("holdfast-broken-{}.toml", std::process::id()));
        std::fs::write(&file, "[database]\nurl = \"postgres://u:hunter42@h/d\n").unwrap();
        let error = merge(Some(&file), config::Map::new()).unwrap_err();
        std::fs::remove_file(file).unwrap();
        let text = format!("{error} {error:?}");
        assert!(text.contains("line 2") && !text.contains("hunter42"), "{text}");
        let configuration = load(&[("HOLDFAST__DATABASE__URL", "postgres://u:hunter42@h/d")]).unwrap();
        assert!(!format!("{configuration:?}").contains("hunter42"));
    }
}
