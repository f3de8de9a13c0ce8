//! The typed configuration, merged from `default.toml`, the operator's file and environment variables.
//!
//! Every setting has its default in `default.toml` and is checked when it is loaded, so that a mistake is reported at
//! start. Secrets never appear in errors.

mod ci;
mod database;
mod error;
mod fault_injection;
mod hooks;
mod maintenance;
mod repositories;
mod server;
mod sources;
mod storage;
mod web;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdfast_app::Settings;
use holdfast_app::instance::configuration::EffectiveSetting;
use holdfast_app::worker::Concurrency;
use holdfast_http::{InstanceUrls, Limits};
use holdfast_store::Options;
use secrecy::ExposeSecret;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use url::Url;

use ci::{Ci, Encryption};
use database::Database;
pub use error::InvalidSetting;
use fault_injection::FaultInjection;
use hooks::Hooks;
use maintenance::Maintenance;
use repositories::{Git, Imports, Ssh};
use server::Server;
use sources::merge;
pub use sources::show;
use storage::Storage;
use web::Web;

/// The default configuration file. It documents every key, and no default is defined elsewhere.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// How long a client may take to send the head of a request. The number is arbitrary.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The file that the settings were read from, if there is one.
    #[serde(skip)]
    file: Option<PathBuf>,
    pub server: Server,
    pub monitoring: Monitoring,
    pub database: Database,
    pub storage: Storage,
    pub git: Git,
    pub maintenance: Maintenance,
    pub imports: Imports,
    pub hooks: Hooks,
    pub ci: Ci,
    pub encryption: Encryption,
    pub ssh: Ssh,
    pub worker: Worker,
    pub accounts: Accounts,
    pub web: Web,
    pub limits: LimitSettings,
    pub log: Log,
    pub telemetry: Telemetry,
    pub fault_injection: FaultInjection,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monitoring {
    listen: String,
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
    session_lifetime_days: u32,
    confirm_minutes: u32,
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
    pub fn load(file: Option<&Path>) -> Result<Self, InvalidSetting> {
        Self::from_merged(&merge(file, std::env::vars().collect())?, file)
    }

    fn from_merged(merged: &config::Config, file: Option<&Path>) -> Result<Self, InvalidSetting> {
        let loaded = merged.clone().try_deserialize();
        let mut configuration: Self =
            loaded.map_err(|error| InvalidSetting::from_config(&error, Some(merged), file))?;
        configuration.file = file.map(Path::to_owned);
        configuration.check()?;
        Ok(configuration)
    }

    /// Checks the constraints that types do not express, such as ranges.
    fn check(&self) -> Result<(), InvalidSetting> {
        let ranges = [
            ("database.max_connections", self.database.max_connections.into(), 3, 10_000),
            ("database.acquire_timeout_seconds", self.database.acquire_timeout_seconds, 1, 86_400),
            ("database.statement_timeout_seconds", self.database.statement_timeout_seconds, 1, 86_400),
            ("storage.max_upload_bytes", self.storage.max_upload_bytes as u64, 1, 1 << 30),
            ("git.cache_max_bytes", self.git.cache_max_bytes, 1 << 20, 1 << 50),
            ("git.max_pack_bytes", self.git.max_pack_bytes, 1 << 10, 1 << 42),
            ("git.max_object_bytes", self.git.max_object_bytes, 1 << 10, 1 << 42),
            ("git.max_inflated_bytes", self.git.max_inflated_bytes, 1 << 20, 1 << 50),
            ("git.max_refs", self.git.max_refs as u64, 1, 1 << 32),
            ("git.max_process_memory_bytes", self.git.max_process_memory_bytes, 64 << 20, 1 << 42),
            ("git.max_fetches", self.git.max_fetches as u64, 1, 10_000),
            ("git.max_fetches_per_repository", self.git.max_fetches_per_repository as u64, 1, 10_000),
            ("git.max_pushes", self.git.max_pushes as u64, 1, 10_000),
            ("git.inline_pack_bytes", self.git.inline_pack_bytes, 0, 1 << 20),
            ("maintenance.repack_threshold_packs", self.maintenance.repack_threshold_packs.into(), 2, 500),
            ("git.bundle_min_bytes", self.git.bundle_min_bytes, 0, 1 << 50),
            ("imports.concurrency", self.imports.concurrency as u64, 0, 1000),
            ("hooks.concurrency", self.hooks.concurrency as u64, 0, 10_000),
            ("hooks.timeout_seconds", self.hooks.timeout_seconds, 1, 60),
            ("hooks.retention_days", self.hooks.retention_days.into(), 4, 3650),
            ("ci.build_timeout_seconds", self.ci.build_timeout_seconds.into(), 60, 2_592_000),
            ("ci.runner_heartbeat_timeout_seconds", self.ci.runner_heartbeat_timeout_seconds.into(), 60, 2_592_000),
            ("ci.long_poll_timeout_seconds", self.ci.long_poll_timeout_seconds, 0, 60),
            ("ci.max_trace_bytes", self.ci.max_trace_bytes, 1 << 10, 1 << 40),
            ("ci.max_artifact_bytes", self.ci.max_artifact_bytes, 1 << 10, 1 << 42),
            ("git.request_timeout_seconds", self.git.request_timeout_seconds, 1, 3600),
            ("ssh.max_connections", self.ssh.max_connections as u64, 1, 1_000_000),
            ("ssh.max_connections_per_address", self.ssh.max_connections_per_address as u64, 1, 1_000_000),
            ("ssh.max_unauthenticated_connections", self.ssh.max_unauthenticated_connections as u64, 1, 100_000),
            ("ssh.handshake_timeout_seconds", self.ssh.handshake_timeout_seconds, 1, 3600),
            ("ssh.idle_timeout_seconds", self.ssh.idle_timeout_seconds, 1, 86_400),
            ("worker.concurrency", self.worker.concurrency as u64, 0, 1000),
            ("accounts.session_lifetime_days", self.accounts.session_lifetime_days.into(), 1, 36_500),
            ("accounts.confirm_minutes", self.accounts.confirm_minutes.into(), 1, 1440),
        ];
        for (key, value, smallest, largest) in self.server.ranges().into_iter().chain(ranges) {
            if !(smallest..=largest).contains(&value) {
                return Err(InvalidSetting::out_of_range(key, value, smallest, largest));
            }
        }
        if self.accounts.projects_limit < 0 {
            let value = self.accounts.projects_limit;
            return Err(InvalidSetting::new(
                "accounts.projects_limit",
                value,
                "it must not be negative",
                "write 0 to forbid personal projects, or a positive number",
            ));
        }
        let url = &self.server.external_url;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
            let fix = "write it as https://code.example.com";
            return Err(InvalidSetting::new(
                "server.external_url",
                url,
                "it must be an http or https URL without query and fragment",
                fix,
            ));
        }
        for (key, url) in [("database.url", &self.database.url), ("database.direct_url", &self.database.direct_url)] {
            let is_optional = key == "database.direct_url" && url.expose_secret().is_empty();
            if let (false, Err(problem)) = (is_optional, holdfast_store::database::check_url(url.expose_secret())) {
                let fix = "write it as postgres://user:password@host:5432/database, and percent-encode special \
                           characters in the password, such as %2F for /";
                return Err(InvalidSetting::new(key, "(hidden)", &problem, fix));
            }
        }
        self.storage.options()?;
        self.maintenance.check()?;
        self.fault_injection.check()?;
        self.encryption.key()?;
        self.ssh.listen()?;
        if let Some(endpoint) = self.otlp_endpoint()
            && !Url::parse(endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            let fix = "write it as http://127.0.0.1:4318/v1/traces, or leave it empty";
            return Err(InvalidSetting::new(
                "telemetry.otlp_endpoint",
                endpoint,
                "it is not an http or https URL",
                fix,
            ));
        }
        self.log_filter()?;
        self.monitoring_listen()?;
        Ok(())
    }

    pub fn log_filter(&self) -> Result<EnvFilter, InvalidSetting> {
        let filter = &self.log.filter;
        let fix = "write info, or levels per module as in info,sqlx=debug";
        // The first module logs every invalid certificate of a webhook receiver, without naming the receiver. The second
        // one logs every character of the texts that pages show, at the level trace.
        let full_filter = format!("rustls_platform_verifier=off,html5ever=info,{filter}");
        EnvFilter::try_new(full_filter)
            .map_err(|_| InvalidSetting::new("log.filter", filter, "it is not a log filter", fix))
    }

    pub fn monitoring_listen(&self) -> Result<Option<SocketAddr>, InvalidSetting> {
        let listen = &self.monitoring.listen;
        if listen.is_empty() {
            return Ok(None);
        }
        let fix = "write it as 127.0.0.1:8081, or leave it empty";
        let parsed = listen.parse().map_err(|_| {
            InvalidSetting::new("monitoring.listen", listen, "it is not an IP address with a port", fix)
        })?;
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

    /// Returns the URL that reaches PostgreSQL without a connection pooler, where advisory locks and long statements
    /// work.
    pub fn direct_url(&self) -> &str {
        self.database.direct_url()
    }

    pub fn worker_concurrency(&self) -> Concurrency {
        Concurrency { jobs: self.worker.concurrency, imports: self.imports.concurrency }
    }

    pub fn has_pooler(&self) -> bool {
        self.direct_url() != self.database.url.expose_secret()
    }

    /// Returns an error that names the database that a command could not use, and the file that its address comes from.
    pub fn database_error(&self, error: impl Into<anyhow::Error>) -> anyhow::Error {
        let file = self.file.as_ref().map_or("none".into(), |file| file.display().to_string());
        let text = format!("cannot reach the database {} (configuration: {file})", self.database_location());
        error.into().context(text)
    }

    /// Returns the host, port and name of the database, without credentials.
    pub fn database_location(&self) -> String {
        let Ok(url) = Url::parse(self.direct_url()) else { return "(unreadable)".into() };
        format!("{}:{}{}", url.host_str().unwrap_or("localhost"), url.port().unwrap_or(5432), url.path())
    }

    pub fn settings(&self) -> Result<Settings, InvalidSetting> {
        Ok(Settings {
            projects_limit: self.accounts.projects_limit,
            can_create_group: self.accounts.can_create_group,
            session_lifetime_days: self.accounts.session_lifetime_days,
            confirm_minutes: self.accounts.confirm_minutes,
            sign_ins_per_minute: self.limits.sign_ins_per_minute,
            git: self.git.settings(),
            maintenance: self.maintenance.settings(),
            import_networks: self.imports.allowed_networks.clone(),
            hooks: self.hooks.settings(),
            ci: self.ci.settings(),
            encryption_key: self.encryption.key()?,
            site: self.site()?,
            web: self.web.settings(),
        })
    }

    /// Returns the effective settings with their sources, without secrets.
    pub fn effective_settings(&self) -> Result<Vec<EffectiveSetting>, InvalidSetting> {
        sources::effective_settings(self.file.as_deref())
    }

    pub fn site(&self) -> Result<InstanceUrls, InvalidSetting> {
        Ok(InstanceUrls::new(&self.server.external_url, self.ssh.port()?))
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
    use holdfast_app::WebSettings;

    use super::*;

    fn load(variables: &[(&str, &str)]) -> Result<Configuration, InvalidSetting> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Configuration::from_merged(&merge(None, owned.collect())?, None)
    }

    #[test]
    fn the_default_file_is_complete() {
        let configuration = load(&[]).unwrap();
        assert_eq!(configuration.server.listen.port(), 8080);
        assert_eq!(configuration.limits().trusted_proxies, []);
        let settings = configuration.settings().unwrap();
        assert_eq!((settings.confirm_minutes, settings.web), (15, WebSettings { public_projects: true }));
    }

    #[test]
    fn environment_variables_override_the_file() {
        let configuration = load(&[
            ("HOLDFAST__SERVER__LISTEN", "0.0.0.0:9000"),
            ("HOLDFAST__SERVER__TRUSTED_PROXIES", "10.0.0.0/8,::1/128"),
            ("HOLDFAST__ACCOUNTS__CAN_CREATE_GROUP", "false"),
            ("HOLDFAST__MONITORING__LISTEN", ""),
            ("HOLDFAST__WEB__PUBLIC_PROJECTS", "false"),
        ])
        .unwrap();
        assert_eq!(configuration.server.listen.port(), 9000);
        assert_eq!(configuration.limits().trusted_proxies.len(), 2);
        assert!(!configuration.settings().unwrap().can_create_group);
        assert_eq!(configuration.settings().unwrap().web, WebSettings { public_projects: false });
        assert_eq!(configuration.monitoring_listen().unwrap(), None);
    }

    #[test]
    fn invalid_settings_name_the_key_the_value_and_the_fix() {
        let wrong = [
            ("HOLDFAST__SERVER__LISTEN", "everywhere", "server.listen"),
            ("HOLDFAST__SERVER__EXTERNAL_URL", "ftp://example.com", "server.external_url"),
            ("HOLDFAST__DATABASE__MAX_CONNECTIONS", "many", "database.max_connections"),
            ("HOLDFAST__DATABASE__MAX_CONNECTIONS", "2", "database.max_connections"),
            ("HOLDFAST__LOG__FORMAT", "xml", "log.format"),
            ("HOLDFAST__MONITORING__LISTEN", "8081", "monitoring.listen"),
            ("HOLDFAST__ACCOUNTS__PROJECTS_LIMIT", "-1", "accounts.projects_limit"),
            ("HOLDFAST__ACCOUNTS__SESSION_LIFETIME_DAYS", "4000000000", "accounts.session_lifetime_days"),
            ("HOLDFAST__ACCOUNTS__CONFIRM_MINUTES", "0", "accounts.confirm_minutes"),
            ("HOLDFAST__WEB__PUBLIC_PROJECTS", "sometimes", "web.public_projects"),
            ("HOLDFAST__LOG__FILTER", "a=b=c", "log.filter"),
            ("HOLDFAST__STORAGE__URL", "ftp://example.com", "storage.url"),
            ("HOLDFAST__STORAGE__URL", "s3:///prefix", "storage.url"),
            ("HOLDFAST__STORAGE__ENDPOINT", "s3.example.com", "storage.endpoint"),
            ("HOLDFAST__STORAGE__ACCESS_KEY_ID", "id", "storage.access_key_id"),
            ("HOLDFAST__WORKER__CONCURRENCY", "100000", "worker.concurrency"),
            ("HOLDFAST__MAINTENANCE__REF_RESTORE_DAYS", "-1", "maintenance.ref_restore_days"),
            ("HOLDFAST__FAULT_INJECTION__FAIL_PERCENT", "101", "fault_injection.fail_percent"),
            ("HOLDFAST__TELEMETRY__OTLP_ENDPOINT", "somewhere", "telemetry.otlp_endpoint"),
        ];
        for (name, value, key) in wrong {
            let text = load(&[(name, value)]).unwrap_err().to_string();
            assert!(text.contains(key) && text.contains(value) && text.contains("fix: "), "{text}");
        }
    }

    #[test]
    fn misspelled_keys_are_reported() {
        let text = load(&[("HOLDFAST__SERVER__LISTN", "127.0.0.1:1")]).unwrap_err().to_string();
        assert!(text.contains("listn"), "{text}");
        assert!(text.starts_with("unknown setting server.listn in HOLDFAST__SERVER__LISTN\n  fix: "), "{text}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("holdfast.toml");
        for (content, key) in [("[server]\nlistn = \"127.0.0.1:1\"\n", "server.listn"), ("[servr]\na = 1\n", "servr")] {
            std::fs::write(&file, content).unwrap();
            let error = Configuration::load(Some(&file)).unwrap_err();
            let expected = format!("unknown setting {key} in {}\n", file.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    /// Errors about the database URL are logged, so they must not contain its password.
    #[test]
    fn errors_do_not_contain_secrets() {
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
