//! The configuration file of a runner, which also holds its authentication token.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use url::Url;

pub const DEFAULT_FILE: &str = "holdfast-runner.toml";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub url: Url,
    pub token: String,
    /// Directory for builds and caches. It must be absolute, and no other program may use it.
    pub directory: PathBuf,
    #[serde(default = "default_concurrency")]
    pub concurrency: usize,
    /// Seconds between two requests for a build.
    #[serde(default = "default_poll_seconds")]
    pub poll_seconds: u64,
    /// Maximum size of a trace; longer traces are truncated.
    #[serde(default = "default_trace_bytes")]
    pub trace_bytes: usize,
    #[serde(default)]
    pub sandbox: Sandbox,
}

/// The section `[sandbox]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// Whether the runner refuses to run on a kernel without Landlock.
    pub require: bool,
    /// Additional directories that scripts may read and execute from, such as a toolchain.
    pub read: Vec<PathBuf>,
    /// Additional directories that scripts may write to. All builds share them.
    pub write: Vec<PathBuf>,
    /// Value of `PATH` for scripts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Maximum number of processes of the runner's user while a script runs (`RLIMIT_NPROC`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

fn default_concurrency() -> usize {
    1
}

fn default_poll_seconds() -> u64 {
    3
}

fn default_trace_bytes() -> usize {
    4 << 20
}

impl Configuration {
    pub fn new(url: Url, token: String, directory: PathBuf, concurrency: usize) -> Configuration {
        Configuration {
            url,
            token,
            directory,
            concurrency,
            poll_seconds: default_poll_seconds(),
            trace_bytes: default_trace_bytes(),
            sandbox: Sandbox::default(),
        }
    }

    pub fn load(file: &Path) -> anyhow::Result<Configuration> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| {
            format!("{shown} cannot be read; run `holdfast runner register` first, or select the file with --config")
        })?;
        let configuration: Configuration =
            toml::from_str(&text).with_context(|| format!("{shown} is not a valid runner configuration"))?;
        if configuration.concurrency == 0 {
            bail!("{shown}: concurrency must be at least 1");
        }
        if !configuration.directory.is_absolute() {
            bail!("{shown}: directory must be an absolute path");
        }
        let mode = std::fs::metadata(file)?.permissions().mode();
        if mode & 0o077 != 0 {
            tracing::warn!(file = %shown, "configuration file with the runner token is readable by other users; run `chmod 600` on it");
        }
        Ok(configuration)
    }

    /// Writes the configuration to a new file with mode 0600. Fails if the file exists.
    pub fn save(&self, file: &Path) -> anyhow::Result<()> {
        let text = toml::to_string_pretty(self)?;
        let mut output = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
            .with_context(|| format!("{} cannot be created", file.display()))?;
        output.write_all(text.as_bytes())?;
        Ok(output.sync_all()?)
    }

    /// Returns the first eight characters of the token, which name the runner's directories.
    pub fn short_token(&self) -> String {
        let token = self.token.strip_prefix("glrt-").unwrap_or(&self.token);
        token.chars().filter(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_')).take(8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_configuration_is_private_and_round_trips() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(DEFAULT_FILE);
        let written =
            Configuration::new("https://git.example/".parse().unwrap(), "glrt-ab/cd.efghijk".into(), "/r".into(), 2);
        written.save(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Configuration::load(&file).unwrap(), written);
        assert_eq!(written.short_token(), "abcdefgh");
        assert!(written.save(&file).is_err(), "an old registration is not overwritten");
    }

    #[test]
    fn server_configuration_files_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.toml");
        std::fs::write(&file, "[server]\nlisten = \"x\"\n").unwrap();
        let error = Configuration::load(&file).unwrap_err();
        assert!(error.to_string().ends_with("is not a valid runner configuration"), "{error}");
    }
}
