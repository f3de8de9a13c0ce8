//! The file a runner keeps: where the server is and who the runner is.

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
    /// Holds builds and caches; nobody else should use it.
    pub directory: PathBuf,
    #[serde(default = "one")]
    pub concurrency: usize,
    /// Seconds between two questions for a build.
    #[serde(default = "three")]
    pub poll_seconds: u64,
    /// Longer traces are cut.
    #[serde(default = "four_mebibytes")]
    pub trace_bytes: usize,
    #[serde(default)]
    pub sandbox: Sandbox,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// Run nothing where the kernel has no Landlock.
    pub require: bool,
    /// More directories that scripts may read and execute, such as a toolchain.
    pub read: Vec<PathBuf>,
    /// More directories that scripts may change. All builds share them.
    pub write: Vec<PathBuf>,
    /// Where programs are looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How many processes the runner's user may have while a script runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

fn one() -> usize {
    1
}

fn three() -> u64 {
    3
}

fn four_mebibytes() -> usize {
    4 << 20
}

impl Configuration {
    pub fn new(url: Url, token: String, directory: PathBuf, concurrency: usize) -> Configuration {
        Configuration {
            url,
            token,
            directory,
            concurrency,
            poll_seconds: three(),
            trace_bytes: four_mebibytes(),
            sandbox: Sandbox::default(),
        }
    }

    pub fn load(file: &Path) -> anyhow::Result<Configuration> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| {
            format!("{shown} cannot be read; run `holdfast runner register` first, or name the file with --config")
        })?;
        let configuration: Configuration =
            toml::from_str(&text).with_context(|| format!("{shown} is not a runner's configuration"))?;
        if configuration.concurrency == 0 {
            bail!("{shown}: concurrency must be at least 1");
        }
        if !configuration.directory.is_absolute() {
            bail!("{shown}: directory must be an absolute path");
        }
        let mode = std::fs::metadata(file)?.permissions().mode();
        if mode & 0o077 != 0 {
            tracing::warn!(file = %shown, "others can read the runner's token; run `chmod 600` on the file");
        }
        Ok(configuration)
    }

    /// Makes the file, which must not be there yet.
    pub fn save(&self, file: &Path) -> anyhow::Result<()> {
        let text = toml::to_string_pretty(self)?;
        let mut opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
            .with_context(|| format!("{} cannot be made", file.display()))?;
        opened.write_all(text.as_bytes())?;
        Ok(opened.sync_all()?)
    }

    /// The beginning of the token names directories, as with other runners.
    pub fn short_token(&self) -> String {
        let token = self.token.strip_prefix("glrt-").unwrap_or(&self.token);
        token.chars().filter(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_')).take(8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_for_the_owner_alone_and_read_again() {
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
    fn the_settings_of_a_server_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.toml");
        std::fs::write(&file, "[server]\nlisten = \"x\"\n").unwrap();
        let error = Configuration::load(&file).unwrap_err();
        assert!(error.to_string().ends_with("is not a runner's configuration"), "{error}");
    }
}
